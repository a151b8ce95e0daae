import sys

import pytest
from typer.testing import CliRunner

from subspaces import __main__, cli


@pytest.fixture
def quick(monkeypatch):
    """One start is enough to see the command work."""
    original = cli.PSC

    def one_start(*arguments, **options):
        return original(*arguments, n_init=1, **options)

    monkeypatch.setattr(cli, "PSC", one_start)


@pytest.mark.usefixtures("quick")
def test_demo_prints_a_summary_and_says_where_the_figures_are(tmp_path):
    out = tmp_path / "a new" / "folder"
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert result.output.count("K-means") == 2
    for name in ("clusters.png", "digits.png"):
        assert (out / name).stat().st_size > 10_000
        assert str(out / name) in result.output


def test_a_file_in_the_way_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    result = CliRunner().invoke(cli.app, ["demo", "--out", str(tmp_path / "file")])
    assert result.exit_code == 2
    assert "cannot be made a folder" in result.output.replace("\n", " ")


def test_a_missing_extra_is_named_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "subspaces.cli", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'subspaces\[cli\]'"):
        __main__.main()
