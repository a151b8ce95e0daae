"""The page for R users runs where R and its package reticulate are installed."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import subspaces

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "r.md"
RSCRIPT = shutil.which("Rscript")


def lines_of_the_page():
    """Return what the page shows, but for the installation."""
    blocks = re.findall(r"```r\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert "install.packages" in blocks[0]
    return "\n".join(blocks[1:])


def test_the_page_is_not_empty():
    assert "subspaces$PSC" in lines_of_the_page()


needs_r = pytest.mark.skipif(
    RSCRIPT is None, reason="R is not installed: docs/guide/r.md is not run"
)


def run(script, **environment):
    """Run a script of R; return what came of it."""
    return subprocess.run(
        [RSCRIPT, "--vanilla", str(script)],
        env=os.environ | environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )


@needs_r
def test_the_page_is_written_in_r(tmp_path):
    (tmp_path / "page.R").write_text(lines_of_the_page(), encoding="utf-8")
    script = tmp_path / "parse.R"
    script.write_text(f'invisible(parse("{tmp_path}/page.R"))', encoding="utf-8")
    done = run(script)
    assert done.returncode == 0, done.stderr


@needs_r
def test_the_page_runs(tmp_path):
    script = tmp_path / "page.R"
    script.write_text('cat(as.character(packageVersion("reticulate")))', encoding="utf-8")
    version = tuple(map(int, re.findall(r"\d+", run(script).stdout)[:2]))
    if version < (1, 39):
        pytest.skip(f"docs/guide/r.md needs reticulate 1.39, and R has {version or 'none'}")
    script.write_text(lines_of_the_page(), encoding="utf-8")
    source = Path(subspaces.__file__).parents[1]
    path = os.pathsep.join([str(source), os.environ.get("PYTHONPATH", "")])
    done = run(script, RETICULATE_PYTHON=sys.executable, PYTHONPATH=path)
    assert done.returncode == 0, done.stderr
