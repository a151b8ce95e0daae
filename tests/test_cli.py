import sys

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from subspaces import __main__, cli
from subspaces.datasets import make_subspaces


def run(*arguments):
    result = CliRunner().invoke(cli.app, [str(a) for a in arguments], env={"COLUMNS": "300"})
    return result.exit_code, " ".join(result.output.split())


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
    for name in ("clusters.png", "digits.png", "report.html"):
        assert (out / name).stat().st_size > 10_000
        assert str(out / name) in result.output


def test_a_file_in_the_way_is_one_clear_error(tmp_path):
    (tmp_path / "file").write_text("in the way")
    code, output = run("demo", "--out", tmp_path / "file")
    assert code == 2
    assert "cannot be made a folder" in output


def test_a_missing_extra_is_named_in_one_line(monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    monkeypatch.delitem(sys.modules, "subspaces.cli", raising=False)
    with pytest.raises(SystemExit, match=r"pip install 'subspaces\[cli\]'"):
        __main__.main()


@pytest.fixture
def union_file(tmp_path):
    union = make_subspaces([20, 20], 5, [1, 1], noise=0.02, random_state=0)
    frame = pd.DataFrame(union.data, columns=[f"gene {j}" for j in range(5)])
    frame.insert(0, "name", [f"sample {i}" for i in range(40)])
    frame["type"] = np.array(["low", "high"])[union.target]
    path = tmp_path / "data.csv"
    frame.to_csv(path, index=False)
    return path


def test_compare_prints_one_row_per_method(union_file):
    code, output = run(
        "compare", union_file, "--clusters", 2, "--labels", "type", "--methods", "kmeans, PSC"
    )
    assert code == 0, output
    assert output.index("PSC") < output.index("KMeans")
    assert "1.000" in output


def test_compare_names_a_method_that_fails(union_file):
    code, output = run(
        "compare", union_file, "--clusters", 2, "--labels", "type", "--methods", "PSC,GPCA",
        "--dims", "5",
    )  # fmt: skip
    assert code == 0
    assert "failed" in output
    assert "GPCA: ValueError" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--clusters", 2, "--labels", "typ"], "has no column 'typ'; it has gene 0"),
        (["--clusters", 2], "line 2, column 'type': 'low' is not a number"),
        (["--clusters", 2, "--labels", "type", "--dims", "two"], "--dims 'two'"),
        (
            ["--clusters", 2, "--labels", "type", "--methods", "psc,PCS"],
            "'PCS' is unknown; some of PSC",
        ),
        (["--clusters", 2, "--labels", "type", "--methods", ","], "it names none; some of PSC"),
        (["--clusters", 2, "--labels", "type", "--dims", "1,2,3"], "3 numbers for --clusters 2"),
        (["--clusters", 2, "--labels", "type", "--seed", "-1"], "--seed"),
        (["--clusters", 99, "--labels", "type"], "n_clusters=99 is out of range for 40 samples"),
    ],
)
def test_compare_says_what_is_wrong(union_file, arguments, message):
    code, output = run("compare", union_file, *arguments)
    assert code == 2
    assert message in output


@pytest.mark.parametrize(("content", "message"), [(None, "No such file"), ("", "cannot be read")])
def test_compare_needs_a_file_that_can_be_read(tmp_path, content, message):
    path = tmp_path / "x.csv"
    if content is not None:
        path.write_text(content)
    code, output = run("compare", path, "--clusters", 2)
    assert code == 2
    assert message in output


def test_compare_takes_what_pandas_writes_and_names_an_empty_cell(union_file):
    frame = pd.read_csv(union_file).drop(columns="name")
    frame.to_csv(union_file)
    code, output = run(
        "compare", union_file, "--clusters", 2, "--labels", "type", "--methods", "PSC", "--dims", 5
    )
    assert code == 0, output
    assert "PSC warns: n_components=5 equals the rank" in output
    frame.loc[3, "gene 2"] = np.nan
    frame.to_csv(union_file)
    code, output = run("compare", union_file, "--clusters", 2, "--labels", "type")
    assert code == 2
    assert "line 5, column 'gene 2': is empty" in output
