"""The command ``report``: the page of a fit, written again from what the fit left."""

import re

import numpy as np
import pandas as pd
import pytest

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
    assert same == sections
    for shown in ("counts.csv", "Stability", "Agreement (ARI)", "Solid", "\n-gene3\n", "\n+\n"):
        assert shown in words
        assert shown in again
    # Six digits are in the files, three on the page: one of them may be rounded another way.
    differ = [one for one, other in zip(words.split(), again.split(), strict=True) if one != other]
    assert len(differ) < 0.01 * len(words.split())


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
    assert parts(out / "report.html")[1] == sections
    assert ended.err == ""
    assert "most of them in sample sample 3 (20 %)" in parts(out / "report.html")[0]


def test_what_the_page_lacks_is_said(run, counts, tmp_path):
    out = tmp_path / "r"
    arguments = ["fit", counts, "--labels", "type", "--clusters", 2, "--no-stability", "--out", out]
    assert run(*arguments, "--dims", 0, "--affine", "--markers").code == 0
    assert "Stability" not in parts(out / "report.html")[0].split("How far to trust")[0]
    (out / "markers.csv").unlink()
    (out / "labels.csv").write_text("sample,cluster,class\ns0,1,other\n")
    ended = run("report", out, "--force", "--title", "Mine")
    assert f"Note: {out} has no markers.csv, so" in ended.err
    assert f"Note: {out} has no labels.csv for this model, so" in ended.err
    words, sections = parts(out / "report.html")
    assert not {"agreement", "markers"} & set(sections)
    assert "Mine" in words
    (out / "summary.json").write_text("{}")
    ended = run("report", out, "--force", "--json")
    assert "has no summary.json for this model" in ended.err
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
    assert {"columns", "scores", "outliers"} <= set(sections)
    assert "people.csv" in words
    before = out.read_text()
    assert run("report", path, "--out", out).code == 2
    assert out.read_text() == before
    assert run("report", path, "--out", path, "--force").code == 2
    assert run("report", tmp_path / "peple.csv").code == 2
