"""What the readers make of columns that hold no plain numbers, and of numbers that hold no values.

Yes and no, units and money become numbers. Text, empty samples, identifiers and marks of missing
values are named with the option that helps.
"""

import numpy as np
import pandas as pd
import pytest

from subspaces.app.tables import doubts, hold_counts, read_table
from subspaces.datasets import read_expression
from tests.warned import refuses, warns

MIXED = (
    "name,smoker,alive,share,price,cost,weight,x\n"
    "A,yes,TRUE,12.5 %,$326,1.200 EUR,3750.0 g,1\n"
    "B,no,False,0%,-$40,15.350 EUR,3800 g,2\n"
    "C,,NA,7 %,$22.50,1.200.000 EUR,4100.5 g,4\n"
)


@pytest.fixture
def file(tmp_path):
    def write(text, name="data.csv"):
        path = tmp_path / name
        path.write_text(text)
        return path

    return write


def test_a_few_whole_numbers_are_not_counts_of_genes(file):
    few, genes = ["ttme", "invc", "invt", "gc"], [f"{chr(65 + i)}TP{i}" for i in range(25)]
    random = np.random.default_rng(0)
    for names, are_counts in ((few, False), (genes, True)):
        counts = pd.DataFrame(random.poisson(1.0, (30, len(names))), columns=names)
        assert hold_counts(read_table(file(counts.to_csv(index=False)))) == are_counts


def test_the_second_of_two_header_lines_is_offered(file):
    path = file(",birth,,month 6\nchild,weight,sex,weight\nA,3,b,7\nB,4,g,8\nC,5,g,9\n")
    with pytest.raises(ValueError, match="'birth sex'"):
        read_table(path, labels="sex")


def test_yes_and_no_percentages_money_and_units_are_numbers(file):
    table = read_table(file(MIXED))
    assert table.sample_names == ("A", "B", "C")
    np.testing.assert_array_equal(
        table.data,
        [
            [1, 1, 12.5, 326, 1200, 3750, 1],
            [0, 0, 0, -40, 15350, 3800, 2],
            [np.nan, np.nan, 7, 22.5, 1200000, 4100.5, 4],
        ],
    )
    (note,) = table.notes
    for column in ("smoker (yes/no)", "share (%)", "price ($)", "cost (EUR)", "weight (g)"):
        assert column in note.parameters["columns"]
    assert len(note.parameters["columns"]) == 6


def test_units_are_read_where_samples_are_columns(file):
    text = "gene,A,B\nsmoker,yes,no\nweight,3 kg,4 kg\nx,1,2\n"
    table = read_table(file(text), samples="columns")
    np.testing.assert_array_equal(table.data, [[1, 3, 1], [0, 4, 2]])


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["$1,200", "$15,000"], [1200, 15000]),
        (["$1,200.50", "$15"], [1200.5, 15]),
        (["12,5 %", "3 %"], [12.5, 3]),
        (["1 200 €", "300 €"], [1200, 300]),
        (["USD 5", "USD -6"], [5, -6]),
        (["80 mg/dL", "1e2 mg/dL"], [80, 100]),
        (["21.5°C", "-3 °C"], [21.5, -3]),
        (["Y", "n"], [1, 0]),
        (["no", "no"], [0, 0]),
    ],
)
def test_how_numbers_with_marks_are_written(file, cells, numbers):
    rows = "".join(f"s{i};{cell};{i}\n" for i, cell in enumerate(cells))
    table = read_table(file("id;a;b\n" + rows))
    assert table.data[:, 0].tolist() == numbers
    assert len(table.notes) == 1


@pytest.mark.parametrize(
    "cells",
    [
        ["3 g", "4 kg"],
        ["3 g", "4"],
        ["yes", "no", "maybe"],
        ["yes", "1"],
        ["B-12", "B-13"],
        ["v1", "v2"],
        ["2024-05-01", "2024-06-01"],
        ["10:30", "11:45"],
        ["1/2", "3/4"],
        ["<5 g", "6 g"],
    ],
)
def test_columns_that_may_mean_more_than_one_thing_are_not_guessed(file, cells):
    rows = "".join(f"s{i},{cell},{i}\n" for i, cell in enumerate(cells))
    with refuses("path", naming=["'a'"]):
        read_table(file("id,a,b\n" + rows))


def test_a_first_column_names_the_samples_only_if_each_entry_is_there_once(file):
    assert read_table(file("kind,a\nx1,1\nx2,2\n")).sample_names == ("x1", "x2")
    weights = read_table(file("weight,a\n3 g,1\n4 g,2\n"))
    assert weights.variable_names == ("weight", "a")
    smokers = read_table(file("smoker,a,b\nyes,1,5\nno,2,3\nyes,3,3\n"))
    assert smokers.variable_names == ("smoker", "a", "b")
    sites = file("site,a,b\nBonn,1,5\nUlm,2,3\nBonn,3,3\nUlm,3,3\n")
    with refuses("path", naming=["labels='site'"]):
        read_table(sites)
    assert read_table(sites, labels="site").sample_names[0] == "sample1"
    pd.read_csv(sites).to_parquet(sites.with_suffix(".parquet"))
    with refuses("path", naming=["labels='site'"]):
        read_table(sites.with_suffix(".parquet"))


YEARS = "country,YEAR,kind,x,y\nA,1998,u,1,5\nA,1999,v,2,3\nB,2000,v,3,3\n"


@pytest.mark.parametrize("kind", ["csv", "xlsx", "parquet"])
def test_the_column_of_sample_names_is_chosen(file, tmp_path, kind):
    path = file(YEARS)
    if kind != "csv":
        frame, path = pd.read_csv(path), tmp_path / f"data.{kind}"
        frame.to_excel(path, index=False) if kind == "xlsx" else frame.to_parquet(path)
    table = read_table(path, sample_names="YEAR", labels="kind", ignore=["country"])
    assert table.sample_names == ("1998", "1999", "2000")
    assert table.variable_names == ("x", "y")
    assert table.classes == ("u", "v", "v")
    with pytest.raises(ValueError, match="no column 'years'"):
        read_table(path, sample_names="years")
    with pytest.raises(ValueError, match="'A'"):
        read_table(path, sample_names="country", ignore=["kind"])
    with warns("left_out_text"):
        read = read_expression(path, sample_names="YEAR", ignore_text=True)
    assert read.sample_names.tolist() == ["1998", "1999", "2000"]


def test_the_sample_names_of_a_table_on_its_side_are_a_row(file):
    text = "gene,A,B\npatient,p7,p9\nx,1,2\n"
    table = read_table(file(text), samples="columns", sample_names="patient")
    assert table.sample_names == ("p7", "p9")
    assert table.variable_names == ("x",)


def test_the_sample_names_of_arrays_and_of_cells_are_chosen(tmp_path):
    anndata = pytest.importorskip("anndata")
    X, names = np.array([[1.0, 5], [2, 3]]), ["p7", "p9"]
    np.savez(tmp_path / "a.npz", X=X, patient=names, samples=["a", "b"])
    assert read_table(tmp_path / "a.npz", sample_names="patient").sample_names == ("p7", "p9")
    obs = pd.DataFrame({"patient": names, "kind": ["u", "v"]}, index=["a", "b"])
    anndata.AnnData(X, obs=obs).write_h5ad(tmp_path / "a.h5ad")
    for labels in (None, "kind"):
        table = read_table(tmp_path / "a.h5ad", sample_names="patient", labels=labels)
        assert table.sample_names == ("p7", "p9")
        assert table.classes == (None if labels is None else ("u", "v"))
    for ending in ("npz", "h5ad"):
        with pytest.raises(ValueError, match="'patients'"):
            read_table(tmp_path / f"a.{ending}", sample_names="patients")


def test_a_column_of_numbers_without_a_heading_gives_way_to_the_names_chosen(file):
    table = read_table(file(",who,x,y\n0,A,1,2\n1,B,3,5\n"), sample_names="who")
    assert table.sample_names == ("A", "B")
    assert table.variable_names == ("x", "y")


def test_all_columns_of_text_are_left_out_at_once(file):
    text = "id,site,date,x,code,y\nA,Bonn,2024-05-01,1,u7,yes\nB,Ulm,2024-05-02,2,8,no\n"
    text += "C,Ulm,2024-05-03,3,u9,no\n"
    with refuses("path") as caught:
        read_table(file(text))
    assert "date (dates)" in str(caught.value)
    table = read_table(file(text), ignore_text=True)
    assert table.variable_names == ("x", "y")  # two of three codes are text
    assert table.notes[0].parameters["names"] == ["site", "date", "code"]
    assert table.left_out == ()
    genes = "gene,biotype,A,B\nTP53,coding,1,2\nkind,word,u,v\nKIT,coding,3,4\n"
    turned = read_table(file(genes), samples="columns", ignore_text=True)
    assert turned.sample_names == ("A", "B")
    assert turned.variable_names == ("TP53", "KIT")


def test_a_cell_of_text_among_numbers_is_not_left_out(file):
    with refuses("path", naming=["'<LOD'"]):
        read_table(file("id,a,b\nA,1,2\nB,<LOD,3\nC,2,2\n"), ignore_text=True)
    with refuses("path", naming=["'1,5'"]):
        read_table(file("id;a;b\nA;1,5;2.5\nB;2,5;3.5\n"), ignore_text=True)


def test_text_that_is_there_once_may_name_the_samples(file):
    path = file("x,car,y\n1,Fiat,4\n2,Lotus,3\n3,Porsche,3\n")
    with refuses("path", naming=["sample_names='car'"]):
        read_table(path)
    assert read_table(path, sample_names="car").sample_names == ("Fiat", "Lotus", "Porsche")


def test_samples_without_values_are_named_and_dropped_together(file):
    path = file("id,a,b\nA,,\nB,1,2\nC,NA,\nD,2,4\n")
    with refuses("drop_empty", naming=["'A'", "'C'"]):
        read_table(path)
    table = read_table(path, drop_empty=True)
    assert table.sample_names == ("B", "D")
    assert table.data.tolist() == [[1, 2], [2, 4]]
    assert table.notes[-1].parameters["names"] == ["A", "C"]
    with refuses("X"):
        read_table(file("id,a,b\nA,,\nC,NA,\n"), drop_empty=True)


def _doubts(file, columns):
    path = file(pd.DataFrame(columns).to_csv(index=False))
    return " ".join(map(str, doubts(read_table(path), "rows")))


def test_numbers_that_identify_samples_are_asked_about(file):
    random = np.random.default_rng(0)
    x = random.normal(size=30).round(3)
    identifiers = random.permutation(10_000)[:30]
    said = _doubts(file, {"x": x, "patient_id": identifiers, "row": random.permutation(30) + 1})
    assert "patient_id" in said
    assert "row" in said
    assert "ignore=['patient_id', 'row']" in said
    assert "patient_id" in _doubts(file, {"x": x, "patient_id": identifiers + 0.0})
    for name, values in (
        ("grid", x),
        ("paid", identifiers),
        ("patient_id", identifiers // 1000),
        ("patient_id", np.where(identifiers > 9000, 1.5, identifiers)),
    ):
        assert not _doubts(file, {"x": x, name: values})


def test_marks_of_missing_values_that_pass_as_numbers_are_asked_about(file):
    x = np.random.default_rng(0).normal(50, 10, (30, 3)).round(1)
    x[[3, 5], 0] = -999
    x[[4, 8, 9], 2] = 9999
    said = _doubts(file, dict(zip("abc", x.T, strict=True)))
    assert "-999 and 9999 are far from all other values" in said
    assert "in 2 variables (a and c)" in said
    table = read_table(file(pd.DataFrame(x).to_csv()), missing=["-999", "9999"])
    assert np.isnan(table.data).sum() == 5
    assert not doubts(table, "rows")
    x[[3, 5], 0], x[[4, 8], 2] = 50, 50
    assert not _doubts(file, dict(zip("abc", x.T, strict=True)))  # 9999 is there once
    x = np.random.default_rng(0).integers(900, 1000, (400, 2))
    assert not _doubts(file, {"a": x[:, 0], "b": x[:, 1]})  # 999 is among the others


def test_two_lines_of_headers_are_one_name(file, tmp_path):
    rows = [["", "A", "", "B", ""], ["id", "x", "y", "x", "y"], ["s1", 1, 2, 3, 4]]
    rows += [["s2", 5, 1, 2, 7], ["s3", 1, 1, 3, 7]]
    pd.DataFrame(rows).to_excel(tmp_path / "two.xlsx", index=False, header=False)
    for path in (tmp_path / "two.xlsx", file("\n".join(",".join(map(str, row)) for row in rows))):
        table = read_table(path)
        assert table.variable_names == ("A x", "A y", "B x", "B y")
        assert table.sample_names == ("s1", "s2", "s3")
        assert len(table.notes) == 1


def test_two_lines_of_headers_as_pandas_writes_them(tmp_path):
    columns = pd.MultiIndex.from_product([["before", "after"], ["x", "y"]])
    frame = pd.DataFrame(np.arange(12).reshape(3, 4) % 7 / 2, columns=columns)
    frame.to_excel(tmp_path / "two.xlsx")
    table = read_table(tmp_path / "two.xlsx")
    assert table.variable_names == ("before x", "before y", "after x", "after y")
    assert table.sample_names == ("0", "1", "2")
    np.testing.assert_array_equal(table.data, frame)


def test_a_line_of_units_below_the_header_is_refused_with_what_leaves_it_out(file):
    path = file("id,x,y\nunit,kg,m\ns1,1,2\ns2,5,1\ns3,4,4\n")
    with refuses("path", naming=["line 2", "'unit'"]):
        read_table(path)
    assert read_table(path, ignore=["unit"]).data.shape == (3, 2)
    bare = file("x,y\nkg,m\n1,2\n5,1\n4,4\n")
    with refuses("path", naming=["line 2", "'sample1'"]):
        read_table(bare)


def test_a_year_among_measurements_is_asked_about(file):
    x = np.random.default_rng(0).normal(size=30).round(3)
    table = pd.DataFrame({"Year": np.repeat([2007, 2008, 2009], 10), "x": x, "y": x**2})
    (doubt,) = doubts(read_table(file(table.to_csv(index=False))), "rows")
    assert (doubt.code, doubt.parameters["names"]) == ("times", ["Year"])
    table["Year"] += 0.25
    assert not doubts(read_table(file(table.to_csv(index=False))), "rows")
