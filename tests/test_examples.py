import runpy
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted([*(ROOT / "examples").rglob("*.py"), *(ROOT / "tutorials").glob("*.py")])


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_run(path, tmp_path, monkeypatch, capsys):
    if "scanpy" in path.read_text(encoding="utf-8"):
        pytest.importorskip("scanpy")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [path.name])
    runpy.run_path(str(path), run_name="__main__")
    assert capsys.readouterr().out
