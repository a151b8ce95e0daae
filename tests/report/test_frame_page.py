"""The page on any data frame: what its columns are taken for, and tables at the edge."""

import numpy as np
import pandas as pd
import pytest

import subspaces
from subspaces.app.report._frame import describe
from subspaces.app.tables import Kind, columns_of, read_frame, read_table
from subspaces.messages import Grade
from subspaces.pages import report
from tests.report.browser import chromium, complaints_of
from tests.report.hostile import SCRIPT, TITLE, hostile_frame
from tests.report.outline import Outline, figures_of, section, sections_of
from tests.warned import refuses

RANDOM = np.random.default_rng(0)


def mixed(n=60):
    """Two clusters of a plane's samples, with categories, names, a date, gaps and more."""
    random, kinds = np.random.default_rng(0), np.repeat(["a", "b"], n // 2)
    scores = random.normal(size=(n, 2)) @ random.normal(size=(2, 4))
    values = scores + 0.1 * random.normal(size=(n, 4)) + 6.0 * (kinds == "b")[:, None]
    frame = pd.DataFrame(values, columns=["w", "x", "y", "z"])
    frame.insert(0, "patient", [f"P{i:03d}" for i in range(n)])
    frame["kind"] = kinds
    frame["colour"] = random.choice(["red", "green", "blue"], n)
    frame["share"] = [f"{i % 17} %" for i in range(n)]
    frame["when"] = [f"2024-01-{1 + i % 28:02d}" for i in range(n)]
    frame["remark"] = [f"see page {i // 2} of the notes" for i in range(n)]
    frame["site"] = "Leeds"
    frame["nothing"] = np.nan
    frame.loc[3:5, "x"] = np.nan
    frame.loc[8, "colour"] = None
    return frame


def kinds_of(frame):
    return {column.name: column.kind for column in columns_of(frame)[0]}


def test_columns_are_taken_for_what_they_are():
    assert kinds_of(mixed()) == {
        "patient": Kind.IDENTIFIER, "w": Kind.NUMBER, "x": Kind.NUMBER, "y": Kind.NUMBER,
        "z": Kind.NUMBER, "kind": Kind.CATEGORY, "colour": Kind.CATEGORY, "share": Kind.NUMBER,
        "when": Kind.DATE, "remark": Kind.TEXT, "site": Kind.CONSTANT, "nothing": Kind.EMPTY,
    }  # fmt: skip


def test_columns_of_pandas_types_are_taken_for_what_they_are():
    n = 12
    frame = pd.DataFrame({
        "flag": pd.array([True, False, None] * 4, dtype="boolean"),
        "day": pd.date_range("2024-01-01", periods=n),
        "level": pd.Categorical([1, 2, 3] * 4),
        "id": np.arange(100, 100 + n),
        "far": [np.inf, *RANDOM.normal(size=n - 1)],
        "german": [f"{i},5" for i in range(n)],
    })  # fmt: skip
    found = {column.name: column for column in columns_of(frame)[0]}
    assert {name: column.kind for name, column in found.items()} == {
        "flag": Kind.CATEGORY, "day": Kind.DATE, "level": Kind.CATEGORY, "id": Kind.IDENTIFIER,
        "far": Kind.NUMBER, "german": Kind.NUMBER,
    }  # fmt: skip
    assert found["far"].missing.tolist() == [True] + [False] * (n - 1)
    assert found["german"].numbers[3] == 3.5


@pytest.mark.parametrize(
    ("values", "levels"),
    [([0.0, 1.0, np.nan], ("0.0", "1.0")), (["yes", "no", None], ("yes", "no"))],
    ids=["numbers", "texts"],
)
def test_two_values_are_a_category_so_that_clusters_do_not_follow_them(values, levels):
    frame = mixed()[["w", "x", "y", "z"]].assign(two=values * 20)
    two = columns_of(frame)[0][-1]
    assert (two.kind, set(two.levels)) == (Kind.CATEGORY, set(levels))
    assert two.missing.sum() == 20
    without = describe(frame.drop(columns="two")).clusters
    assert np.array_equal(describe(frame).clusters.labels, without.labels)


def test_clusters_say_whether_halves_agree(tmp_path):
    stable = describe(mixed()[["w", "x", "y", "z"]]).clusters
    assert stable.halves.grade is Grade.SURE
    one = describe(pd.DataFrame(RANDOM.normal(size=(60, 4)))).clusters
    assert one.names is None
    assert one.halves is None
    page = report(mixed(), tmp_path / "page.html").read_text(encoding="utf-8")
    assert str(describe(mixed()).clusters.halves) in section(page, "summary")


def test_mixed_columns_are_weighted_as_in_factor_analysis_of_mixed_data():
    """Distances of a category are chi-square distances; its variance is its levels less one."""
    texts = np.array(["a"] * 30 + ["b"] * 20 + ["c"] * 10, dtype=object)
    frame = pd.DataFrame({"x": RANDOM.normal(7, 3, 60), "kind": texts, "two": texts != "a"})
    frame["two"] = frame["two"].map({True: "yes, it is", False: "not"})
    x, kind, two = (np.column_stack(list(c.encoded.values())) for c in columns_of(frame)[0])
    assert (x.shape[1], kind.shape[1], two.shape[1]) == (1, 3, 1)
    assert np.isclose(x.var(ddof=1), 1.0)
    assert np.isclose(two.var(), 1.0)
    assert np.isclose(kind.var(axis=0).sum(), 2.0)
    assert np.isclose(np.sum((kind[0] - kind[-1]) ** 2), 1 / (30 / 60) + 1 / (10 / 60))


def test_a_mixed_frame_has_every_section(tmp_path):
    path = subspaces.report(mixed(), tmp_path / "page.html")
    page = path.read_text(encoding="utf-8")
    assert sections_of(page) == [
        "summary", "columns", "missing", "clusters", "components", "variables", "outliers",
    ]  # fmt: skip
    assert {"pair-1-2", "limits"} <= set(figures_of(page))
    # The columns of a category give each other away.
    assert "cells" not in figures_of(page)
    words = " ".join(Outline(section(page, "clusters")).words)
    assert "a 100 %" in words
    assert "b 100 %" in words
    assert "P003" in page


def test_an_outlier_is_named_with_its_reason():
    frame = mixed()[["patient", "w", "x", "y", "z", "colour"]]
    frame.loc[40, "y"] += 30.0
    found = describe(frame)
    outliers = found.pca.outliers
    assert found.names[int(outliers.outliers[0])] == "P040"
    assert outliers.reasons(40)[0] == "y"


@pytest.mark.parametrize(
    ("frame", "sections"),
    [
        (pd.DataFrame({"note": [f"see page {i // 2}" for i in range(60)]}), ["summary", "columns"]),
        (pd.DataFrame({"a": [1.0] * 20, "b": ["x"] * 20}), ["summary", "columns"]),
        (pd.DataFrame({"a": [1.0, 2.0], "b": ["x", "y"]}), ["summary", "columns"]),
        (pd.DataFrame(), ["summary"]),
        (pd.DataFrame({"a": []}), ["summary", "columns"]),
        (pd.DataFrame({"a": [np.nan] * 9}), ["summary", "columns"]),
    ],
    ids=["text only", "constant", "two rows", "empty", "no rows", "no values"],
)
def test_a_table_without_a_pca_has_a_page_all_the_same(frame, sections, tmp_path):
    page = report(frame, tmp_path / "page.html").read_text(encoding="utf-8")
    Outline(page)
    assert sections_of(page) == sections


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": RANDOM.normal(size=9)}),
        pd.DataFrame({"a": ["x", "y", "z"] * 4, "b": ["u", "v"] * 6}),
        pd.DataFrame({"a": [1e200, -1e200] * 6, "b": RANDOM.normal(size=12)}),
        pd.DataFrame(RANDOM.normal(size=(5, 40))),
        pd.DataFrame(RANDOM.normal(size=(20, 2)), columns=["a", "a"]),
    ],
    ids=["one number", "categories only", "huge", "five rows", "a name twice"],
)
def test_odd_tables_have_a_pca(frame, tmp_path):
    page = report(frame, tmp_path / "page.html").read_text(encoding="utf-8")
    assert {"components", "outliers"} <= set(sections_of(page))


def test_hostile_names_are_only_text(tmp_path):
    frame, classes = hostile_frame()
    frame[SCRIPT + "kind"] = classes
    page = report(frame, tmp_path / "page.html", title=TITLE).read_text(encoding="utf-8")
    Outline(page)
    assert "<script>alert" not in page
    assert "<img src=x" not in page


def test_a_file_is_replaced_only_if_asked(tmp_path):
    path = tmp_path / "page.html"
    path.write_text("mine")
    with pytest.raises(FileExistsError):
        report(mixed(), path)
    assert path.read_text() == "mine"
    report(mixed(), path, overwrite=True)
    assert path.read_text(encoding="utf-8").startswith("<!doctype html>")


@pytest.mark.parametrize("suffix", ["csv", "tsv", "xlsx", "parquet"])
def test_a_file_reads_as_the_frame_in_it(suffix, tmp_path):
    frame, path = mixed(), tmp_path / f"table.{suffix}"
    if suffix == "xlsx":
        pytest.importorskip("openpyxl")
        frame.to_excel(path, index=False)
    elif suffix == "parquet":
        pytest.importorskip("pyarrow")
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, sep="," if suffix == "csv" else "\t")
    expected, read = columns_of(frame)[0], columns_of(read_frame(path))[0]
    assert [(c.name, c.kind) for c in read] == [(c.name, c.kind) for c in expected]
    for own, other in zip(expected, read, strict=True):
        assert own.missing.tolist() == other.missing.tolist()
        if own.kind is Kind.NUMBER:
            np.testing.assert_allclose(own.numbers, other.numbers, rtol=1e-12)


def test_money_is_read_as_in_a_fit_and_marks_are_missing(tmp_path):
    path = tmp_path / "costs.csv"
    rows = [f'p{i},"$1,{i}96.44",{-999 if i == 3 else i}' for i in range(9)]
    path.write_text("\n".join(["name,cost,age", *rows]))
    frame = read_frame(path, missing=["-999"], sample_names="name")
    cost, age = columns_of(frame)[0]
    table = read_table(path, missing="-999")
    assert (cost.unit, dict(table.units)) == ("$", {"cost": "$"})
    np.testing.assert_array_equal(np.column_stack([cost.numbers, age.numbers]), table.data)
    assert columns_of(read_frame(path, ignore=["cost", "name"]))[0][0].name == "age"
    with refuses("path", naming=["cots", "cost"]):
        read_frame(path, ignore=["cots"])


@pytest.mark.parametrize("width", [390, 1280])
def test_a_browser_shows_the_page_without_complaint(width, tmp_path):
    frame, classes = hostile_frame()
    frame[SCRIPT + "kind"] = classes
    frame.iloc[2, 3] = np.nan
    path = report(frame, tmp_path / "page.html", title=TITLE)
    with chromium() as browser:
        page = browser.new_page(viewport={"width": width, "height": 900})
        complaints = complaints_of(page)
        page.goto(path.as_uri())
        page.locator("#pair-1-2").scroll_into_view_if_needed()
        page.locator("#pair-1-2 .main-svg").first.wait_for()
        assert page.locator("h1").inner_text() == TITLE
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        assert page.locator("#columns tbody tr").count() == 31
        assert complaints == []
