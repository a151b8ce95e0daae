import sys

import pytest
from typer.testing import CliRunner

from subspaces import __main__, cli


def test_demo_prints_a_summary_and_says_where_the_figure_is(tmp_path):
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "new")])
    assert result.exit_code == 0, result.output
    figure = tmp_path / "new" / "influence.png"
    assert figure.stat().st_size > 10_000
    assert "influence.png" in result.output.replace("\n", "")
    for row in cli.PLANTED:
        assert f"│ {row} " in result.output


def test_a_missing_extra_is_named_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "subspaces.cli", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'subspaces\[cli\]'"):
        __main__.main()
