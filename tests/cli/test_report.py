"""The command ``report``: the page of a fit, written again from what the fit left."""

import hashlib
import json
import re

import numpy as np
import pandas as pd
import pytest

from tests.report.outline import figures_of

pytest.importorskip("plotly")


@pytest.fixture
def counts(tmp_path):
    """Counts of 40 samples of two types, with names that spreadsheets would take for formulas."""
    random = np.random.default_rng(0)
    values = random.poisson(random.lognormal(2, 1, 60), (40, 60))
    values[:20, :6] *= 9
    frame = pd.DataFrame(values, columns=[f"-gene{j}" for j in range(60)])
    frame.insert(0, "type", np.repeat(["+", "other"], 20))
    frame.insert(0, "name", [f"s{i}" for i in range(40)])
    path = tmp_path / "counts.csv"
    frame.to_csv(path, index=False)
    return path


def parts(page):
    """The words of a page, without its figures, and the ids of its sections."""
    body = page.read_text().split('<script type="application/json"')[0]
    return re.sub("(<[^>]+>)+", "\n", body), re.findall('<section id="([a-z]+)"', body)


def test_the_page_written_again_is_the_page_of_the_fit(run, counts, tmp_path):
    out = tmp_path / "types"
    arguments = ["fit", counts, "--labels", "type", "--clusters", 2, "--preset", "expression"]
    assert run(*arguments, "--out", out).code == 0
    words, sections = parts(out / "report.html")
    assert {"agreement", "markers"} <= set(sections)
    ended = run("report", out, "--force")
    assert (ended.code, ended.err) == (0, "")
    again, same = parts(out / "report.html")
    # The heat map is made of the table, which is not read again.
    assert same == [name for name in sections if name != "heat"]
    for shown in ("counts.csv", "adjusted Rand index", "\n-gene3\n", "\n+\n"):
        assert shown in words
        assert shown in again
    # Six digits are in the files, three on the page: one of them may be rounded another way.
    known = set(words.split())
    assert np.mean([one in known for one in again.split()]) > 0.98


def test_the_page_has_names_of_clusters_metadata_and_the_command(run, fails, counts, tmp_path):
    out, more = tmp_path / "r", tmp_path / "more.tsv"
    names = [f"s{i}" for i in range(40)]
    known = pd.DataFrame({"age": np.linspace(20, 80, 40), "batch": ["a", "b"] * 20}, index=names)
    known[::-1].to_csv(more, sep="\t")
    fit = ["fit", counts, "--labels", "type", "--clusters", 2, "--no-stability", "--out", out]
    assert run(*fit, "--metadata", more).code == 0
    summary = json.loads((out / "summary.json").read_text())
    assert summary["sha256"] == hashlib.sha256(counts.read_bytes()).hexdigest()
    again = ["report", out, "--force", "--metadata", more, "--cluster-names"]
    assert "for 2 clusters" in fails(*again, "one")
    for _ in range(2):
        assert run(*again, "ill <b>,well").code == 0
        meta = figures_of((out / "report.html").read_text())["overview"]["layout"]["meta"]
        held = {each["name"]: each for each in meta["columns"]}
        assert [each["name"] for each in held["Cluster"]["levels"]] == ["ill <b>", "well"]
        assert held["age"]["values"] == pytest.approx(known["age"], rel=1e-3)
        words = parts(out / "report.html")[0]
        assert summary["sha256"] in words
        assert "ill &lt;b&gt;" in words
    known[1:].to_csv(more)
    assert "there is no row for the sample 's0'" in fails(*fit, "--force", "--metadata", more)


def test_the_page_written_again_tells_what_is_missing(run, union_file, tmp_path):
    frame = pd.read_csv(union_file, index_col=0)
    frame.iloc[3, 2] = frame.iloc[7, 1] = np.nan
    frame.to_csv(tmp_path / "gaps.csv")
    out = tmp_path / "r"
    arguments = ["fit", tmp_path / "gaps.csv", "--labels", "type", "--clusters", 2, "--out", out]
    assert run(*arguments).code == 0
    sections = parts(out / "report.html")[1]
    assert "missing" in sections
    ended = run("report", out, "--force")
    assert parts(out / "report.html")[1] == [name for name in sections if name != "heat"]
    assert ended.err == ""
    assert "20 % in a sample (sample 3)" in parts(out / "report.html")[0]


def test_what_the_page_lacks_is_said(run, counts, tmp_path):
    out = tmp_path / "r"
    arguments = ["fit", counts, "--labels", "type", "--clusters", 2, "--no-stability", "--out", out]
    assert run(*arguments, "--dims", 0, "--affine", "--markers").code == 0
    assert "Stable (" not in parts(out / "report.html")[0]
    (out / "markers.csv").rename(out / "elsewhere.csv")
    ended = run("report", out, "--force", "--title", "Mine")
    assert f"Note: The other files of this fit are not next to {out}" in ended.err
    words, sections = parts(out / "report.html")
    assert not {"agreement", "markers"} & set(sections)
    assert "Mine" in words
    (out / "elsewhere.csv").rename(out / "markers.csv")
    assert run("report", out, "--force").err == ""
    (out / "labels.csv").write_text("sample,cluster,class\ns0,1,other\n")
    ended = run("report", out, "--force", "--json")
    assert "The other files of this fit are not next to" in ended.err
    assert ended.document["out"] == str(out / "report.html")
    assert "PSC: 2 clusters" in parts(out / "report.html")[0]


def test_a_table_of_any_columns_has_a_page(run, tmp_path):
    path, out = tmp_path / "people.csv", tmp_path / "people.html"
    heights = np.random.default_rng(0).normal(size=(30, 3)).round(3).tolist()
    lines = [f"{'abc'[i % 3]},{','.join(map(str, row))}" for i, row in enumerate(heights)]
    path.write_text("\n".join(["kind,height,weight,age", *lines]))
    ended = run("report", path, "--out", out)
    assert (ended.code, ended.err) == (0, "")
    words, sections = parts(out)
    assert {"columns", "outliers"} <= set(sections)
    assert "people.csv" in words
    path.write_text(path.read_text() + "\na,-999,1,1\nb,-999,1,1")
    assert "Add --missing -999" in run("report", path, "--out", out, "--force").err
    assert run("report", path, "--out", out, "--force", "--missing=-999").err == ""
    before = out.read_text()
    assert run("report", path, "--out", out).code == 2
    assert out.read_text() == before
    assert run("report", path, "--out", path, "--force").code == 2
    assert run("report", tmp_path / "peple.csv").code == 2
