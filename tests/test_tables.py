import gzip
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from subspaces.app.tables import _h5ad, read_cls, read_table, seem_swapped
from subspaces.datasets import read_expression
from subspaces.messages import DataWarning, ParameterError
from subspaces.named_table import Table, missing_values
from tests.warned import refuses, warns

PLAIN = "sample,TP53,BRCA1,type\nA,1.5,-2,ALL\nB,0,3e2,AML\n"


@pytest.fixture
def file(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.mark.parametrize("separator", [",", "\t", ";"])
def test_a_text_file_keeps_its_names(file, separator):
    table = read_table(file(PLAIN.replace(",", separator)), labels="type")
    np.testing.assert_array_equal(table.data, [[1.5, -2], [0, 300]])
    assert table.sample_names == ("A", "B")
    assert table.variable_names == ("TP53", "BRCA1")
    assert table.classes == ("ALL", "AML")


def test_samples_in_columns_come_out_in_rows(file):
    turned = "gene\tA\tB\ntype\tALL\tAML\nTP53\t1.5\t0\nBRCA1\t-2\t300\n"
    table = read_table(file(turned, "data.tsv"), samples="columns", labels="type")
    upright = read_table(file(PLAIN), labels="type")
    np.testing.assert_array_equal(table.data, upright.data)
    assert table.sample_names == upright.sample_names
    assert table.variable_names == upright.variable_names
    assert table.classes == upright.classes


values = st.floats(allow_nan=False, allow_infinity=False, width=32)


@given(
    st.integers(2, 6).flatmap(
        lambda p: st.lists(st.lists(values, min_size=p, max_size=p), min_size=2, max_size=7)
    ),
    st.sampled_from([",", "\t", ";"]),
    st.booleans(),
    st.booleans(),
)
def test_what_is_written_is_read(tmp_path_factory, rows, separator, header, names):
    lines = [[*([f"s{i}"] if names else []), *map(repr, row)] for i, row in enumerate(rows)]
    top = [*(["id"] if names else []), *(f"g{j}" for j in range(len(rows[0])))]
    text = "\n".join(separator.join(line) for line in ([top] if header else []) + lines)
    path = tmp_path_factory.mktemp("written") / "data.csv"
    path.write_text(text)
    table = read_table(path)
    if header or not _counts(rows[0]):
        np.testing.assert_array_equal(table.data, rows)
        assert table.sample_names[0] == ("s0" if names else "sample1")
        assert table.variable_names[0] == ("g0" if header else "v1")


def _counts(row):
    return all(value == int(value) for value in row)


@pytest.mark.parametrize(
    ("text", "shape", "first"),
    [
        ("1,2,3\n4,5,6\n7,8.5,9\n", (2, 3), "1"),  # whole numbers above fractions: a header
        ("0,1,2\n4,5,6\n", (1, 3), "0"),  # as pandas numbers columns
        ("5,2,5\n4,5,6\n", (2, 3), "v1"),  # numbers, twice the same: data
        ("1.5,2\n4,5\n", (2, 2), "v1"),
        (",0,1\n0,4,5\n1,6,7\n", (2, 2), "0"),  # pandas' index
        ("id,x,y\n101,4,5\n102,6,7\n", (2, 2), "x"),  # numbers that are names
        ("a b\nA 1\n".replace(" ", ",") + "B,2\n", (2, 1), "b"),
        ('"x","y"\n"r1",1,2\n"r2",3,4\n', (2, 2), "x"),  # R's write.table
        ("5.1,3.5,setosa\n4.9,3.0,virginica\n", None, "line 1, column 3 ('v3'): 'setosa'"),
        ("5.1,3.5x,1\n4.9,3.0,2\n4,2,3\n", None, "line 1, column 2 ('v2'): '3.5x'"),
        ("\n\nx,y\n\n1,2\n\n3,4\n", (2, 2), "x"),
        ("\ufeffx,y\r\n1,2\r\n3,4\r\n", (2, 2), "x"),
    ],
)
def test_a_header_is_known_from_data(file, text, shape, first):
    if shape is None:
        with refuses("path") as caught:
            read_table(file(text))
        assert first in str(caught.value)
        return
    table = read_table(file(text))
    assert table.data.shape == shape
    assert table.variable_names[0] == first


TWELVE = [[f"{7 * i % 12 / 4 - 1:.2f}", f"{5 * i % 12}", f"{i % 5}.5"] for i in range(12)]
KINDS = [*"ababbabbabab"]


def lines(top, *columns, separator=","):
    """Return a file: a first line, and twelve lines of three numbers with more columns."""
    rows = [[*row, *more] for row, *more in zip(TWELVE, *columns, strict=True)]
    return "".join(f"{separator.join(row)}\n" for row in [top.split(","), *rows])


@pytest.mark.parametrize(
    ("text", "sure"),
    [
        (lines("0,1,2,what", KINDS), True),  # as pandas numbers columns, and one that was added
        (lines("0,1,2,what", ["7"] * 12), True),
        (lines("0,1,2,what", ["NA", *["7"] * 11]), True),
        (lines("0,1,2,3", KINDS), True),
        (lines('"0","1","2","what"', KINDS), True),
        (lines("0,1,2,what", KINDS, separator=";").replace(".", ","), True),
        (lines("2010,2011,2012,what", KINDS), False),
        (lines("2010,2011,2012,what", ["1.5", "<LOD", *["7"] * 10]), False),
        (lines("850.5,852.5,854.5,fat", ["7"] * 12), False),
        (lines("850.5,852.5,854.5,fat", KINDS), False),
        (lines("fat,852.5,854.5,856.5", ["7"] * 12), False),
        (lines("8.5,8.25,8,7.5,5,4,2,1", *[["7"] * 12] * 5), False),  # in order, unlike the rest
    ],
)
@pytest.mark.parametrize("samples", ["rows", "columns"])
def test_a_header_with_numbers_in_it_is_no_sample(file, text, sure, samples):
    top = text.splitlines()[0].replace('"', "").replace(";", ",").split(",")
    extra = [name for name in ("what", "fat", "3") if name in top]
    table = read_table(file(text), samples=samples, ignore=extra)
    data = table.data if samples == "rows" else table.data.T
    names = table.variable_names if samples == "rows" else table.sample_names
    assert len(data) == 12
    assert set(names) == set(top) - set(extra)
    assert bool(table.notes) != sure
    assert all((each.code, each.parameters["line"]) == ("number_header", 1) for each in table.notes)


@pytest.mark.parametrize("end", ["", ",,\n,,\n", "\n\n"], ids=["none", "cells", "lines"])
def test_empty_cells_between_samples_are_a_sample_without_values(file, end):
    path = file("a,b,c\n1,2,3\n,,\n4,5,6\n7,8,1\n" + end)
    with pytest.raises(ParameterError) as caught:
        read_table(path)
    assert "1 sample has no values ('sample2')" in str(caught.value)
    table = read_table(path, drop_empty=True)
    assert table.sample_names == ("sample1", "sample3", "sample4")


@pytest.mark.parametrize(
    "text",
    [
        "".join(f"s{i},{','.join(row)}\n" for i, row in enumerate(TWELVE)),  # names, no header
        "s1,63,145,23\ns2,41,130,25.4\ns3,50,120,21.9\n",  # whole numbers by chance
        "63,145,23\n41,130,25.4\n50,120,21.9\n",
        "5,3,1\n-4,3,2\n7,8,9\n",
        "5,3,1\n,3,2\n7,8,9\n",
        "5,,1\n4,3,2\n7,8,9\n",
        ",3,1\n4,3,2\n4,8,9\n",
        "NA,3.5,1\n4,3,2\n7,8,9\n",
        "3,5,7,9,11,13,15,17\n1,4,5,6,8,9,12,13\n2,3,6,8,9,12,14,15\n",  # curves: all in order
    ],
)
def test_a_first_line_of_values_is_a_sample(file, text):
    table = read_table(file(text))
    assert len(table.data) == len(text.splitlines())
    assert table.variable_names[0] == "v1"
    assert not table.notes


@pytest.mark.parametrize(
    ("text", "cell"),
    [
        (lines("1.5,2,3.5,a", KINDS), "'a'"),
        (lines("<LOD,2,3.5,4", ["<LOD", *["7"] * 11]).replace("-1.00", "<LOD"), "'<LOD'"),
        (lines("1.5,<0.5,3.5,4", ["7"] * 12), "'<0.5'"),
    ],
)
def test_a_text_that_is_a_value_makes_no_header(file, text, cell):
    with pytest.raises(ValueError, match=rf"line 1, column \d \('v\d'\): {cell} is not a number"):
        read_table(file(text))


LONG = "id,a,b\n" + "".join(f"s{i},{i},{i}.5\n" for i in range(80))


@pytest.mark.parametrize(
    ("content", "options", "message"),
    [
        ("", {}, "data.csv is empty"),
        (" \n\n", {}, "data.csv is empty"),
        ("a,b\n", {}, "has only a header line"),
        ("id\nA\n", {}, "line 2, column 1 ('id'): 'A' is not a number"),
        ("id,type\nA,x\nB,y\n", {"labels": "type"}, "data.csv has no columns of numbers"),
        (LONG.replace("55.5", "low"), {}, "line 57, column 3 ('b'): 'low' is not a number"),
        (LONG.replace("55.5", "1_000"), {}, "line 57, column 3 ('b'): '1_000' is not a number"),
        ("x,y\n1,NA\nNA,.\n3,4\n", {}, "1 sample has no values ('sample2')"),
        (LONG.replace("55.5", "-inf"), {}, "line 57, column 3 ('b'): the value is infinite"),
        (LONG.replace("55.5", "55.5,1"), {}, "line 57 has 4 cells, but line 1 has 3"),
        (LONG.replace("s55", "s7"), {}, "line 57: the sample name 's7' is also at line 9"),
        (LONG.replace("a,b", "a,a"), {}, "column 3: the variable name 'a' is also at"),
        (LONG.replace("a,b", "a,"), {}, "column 3: the variable has no name"),
        (PLAIN + "C,1,2,ALL\nD,3,4,AML\n", {}, "column 4 ('type'): 'ALL' is not a number. Add "
         "ignore=['type'] to leave out this column of text, or labels='type' if it has the "
         "known classes"),
        (PLAIN, {"labels": "typ"}, "has no column 'typ'. Did you mean 'type'"),
        (PLAIN.replace("ALL", "").replace("AML", ""), {"labels": "type"}, "classes is empty"),
        (
            PLAIN + "Mean,1,2,\nSD,3,4,\n",
            {"labels": "type"},
            "line 4: 'Mean' has no class and looks like a row of totals. Add "
            "ignore=['Mean', 'SD']",
        ),
        (b"ab\0cdefgh", {}, "is not a text file"),
        (LONG, {"labels": "s3"}, "so the samples seem to be in the columns"),
        (
            LONG,
            {"labels": "b", "samples": "columns"},
            "so the samples seem to be in the rows. Use samples='rows'",
        ),
        ("g,A,B,C\ntype,x,y,x\nTP53,1,2,3\nKIT,2,3,4\n", {}, "samples='columns' and labels='type'"),
        ('a,b\n"1,2\n3,4\n', {}, "line 3 has 1 cell, but line 1 has 2"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_in_one_line(file, content, options, message):
    path = file(content)
    with pytest.raises(ValueError, match=r"^\S*data\.csv") as caught:
        read_table(path, **options)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_line_is_named_where_samples_are_columns(file):
    path = file("gene,A,B\nTP53,1,2\nKIT,inf,3\n")
    with pytest.raises(ValueError, match=r"line 3, column 2 \('A'\): the value is infinite"):
        read_table(path, samples="columns")


@pytest.mark.parametrize("mark", ["", "NA", "NaN", "nan", ".", "?", "-", "n/a", "#N/A", "null"])
def test_gaps_are_missing_values(file, mark):
    data = read_table(file(f"id,x,y\nA,1,{mark}\nB,2,3\nC,3,4\n")).data
    assert_array_equal(data, [[1.0, np.nan], [2.0, 3.0], [3.0, 4.0]])


def test_marks_of_missing_values_are_named(file):
    text = "id,x,y\nA,1,n.d.\nB,-999,3\nC,3,-999.0\n"
    with refuses("path", naming=["'n.d.'"]):
        read_table(file(text))
    data = read_table(file(text), missing=["N.D.", "-999"]).data
    assert_array_equal(data, [[1.0, np.nan], [np.nan, 3.0], [3.0, np.nan]])
    with refuses("drop_empty", n=2):
        read_table(file(text), missing=["n.d.", "-999", "3"])


def test_marks_reach_every_kind_of_file(tmp_path):
    np.savez(tmp_path / "data.npz", X=np.array([[1.0, -1.0], [2.0, np.nan]]))
    data = read_table(tmp_path / "data.npz", missing="-1").data
    assert_array_equal(data, [[1.0, np.nan], [2.0, np.nan]])
    (tmp_path / "data.gct").write_text("#1.2\n2\t2\nName\tD\ta\tb\ng\tx\t1\t?\nh\tx\tlow\t4\n")
    data = read_table(tmp_path / "data.gct", missing="low").data
    assert_array_equal(data, [[1.0, np.nan], [np.nan, 4.0]])


def test_how_much_is_missing_is_said():
    data = np.array([[1.0, np.nan], [2.0, np.nan], [2.0, 3.0], [2.0, 5.0]])
    found = missing_values(data)
    assert found.share == 0.25
    assert_array_equal(found.of_samples, [0.5, 0.5, 0.0, 0.0])
    assert_array_equal(found.of_variables, [0.0, 0.5])
    assert found.sentence("ABCD", "xy") == (
        "25 % of the values are missing, up to 50 % in a sample (A) and 50 % in a variable (y)"
    )
    assert missing_values(data[2:]) is None


def test_unknown_files_and_sides_are_refused(file):
    with pytest.raises(ValueError, match=r".ods files are not supported. .*.csv"):
        read_table(file("", "data.ods"))
    with refuses("samples", "row"):
        read_table(file(PLAIN), samples="row")
    with pytest.raises(FileNotFoundError):
        read_table("nowhere.csv")


def test_gzip(file):
    packed = gzip.compress(PLAIN.encode())
    assert read_table(file(packed, "d.csv.gz"), labels="type").classes == ("ALL", "AML")
    with pytest.raises(ValueError, match="not a complete gzip file"):
        read_table(file(packed[:20], "d.csv.gz"))


GCT = "#1.2\n2\t3\nName\tDescription\ts1\ts2\ts3\nTP53\ttumour\t1\t2\t3\nKIT\tna\t4\t5\t6\n"
GCT3 = "#1.3\n1\t2\t1\t1\nid\tchip\ts1\ts2\ntype\tna\tALL\tAML\nTP53\tx\t1\t2\n"


def test_gct_and_cls(file):
    cls = file("3 2 1\n# ALL AML\n0 1 0\n", "data.cls")
    read = read_expression(file(GCT, "data.gct"), classes=cls)
    np.testing.assert_array_equal(read.data, [[1, 4], [2, 5], [3, 6]])
    assert read.variable_names.tolist() == ["TP53", "KIT"]
    assert read.target_names[read.target].tolist() == ["ALL", "AML", "ALL"]
    assert read.frame.loc["s2", "KIT"] == 5
    newer = read_table(file(GCT3, "newer.gct"), labels="type")
    np.testing.assert_array_equal(newer.data, [[1], [2]])
    assert newer.classes == ("ALL", "AML")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GCT.replace("#1.2", "#1.1"), "line 1: '#1.1' is not a known version of GCT"),
        (GCT.replace("2\t3\n", "2\n"), "line 2: '2' is not the size of a table"),
        (
            GCT.replace("2\t3\n", "3\t3\n"),
            "line 2 gives 3 as the number of rows of variables",
        ),
        (
            GCT.replace("2\t3\n", "2\t4\n"),
            "line 2 gives 4 as the number of columns of samples",
        ),
        (GCT.replace("5\t6", "five\t6"), "line 5, column 4 ('s2'): 'five' is not a number"),
        (GCT.replace("5\t6", "5"), "line 5 has 4 cells, but line 3 has 5"),
        (GCT.replace("KIT", "TP53"), "line 5: the variable name 'TP53' is also at line 4"),
        ("#1.2\n2\t3\n", "ends before the table"),
    ],
)
def test_a_gct_file_is_checked(file, content, message):
    with pytest.raises(ParameterError) as caught:
        read_table(file(content, "data.gct"))
    assert "data.gct" in str(caught.value)
    assert message in str(caught.value)
    assert caught.value.parameter == "path"


@pytest.mark.parametrize(
    ("content", "classes"),
    [
        ("3 2 1\n# ALL AML\n0 1 0\n", ("ALL", "AML", "ALL")),
        ("3 2 1\n#ALL AML\nAML ALL AML\n", ("AML", "ALL", "AML")),
        ("3 2 1\n# ALL AML\n1 0 1\n", ("ALL", "AML", "ALL")),  # in the order of appearance
        ("3 2 1\n# ALL AML\n0 1\n", "3 samples and 2 classes, but the file has 2 and 2"),
        ("3 2 1\n# ALL\n0 1 0\n", "3 samples and 2 classes, but the file has 3 and 1"),
        ("three 2\n# ALL AML\n0 1 0\n", "line 1: 'three 2' should be the numbers"),
        ("#numeric\n#x\n1 2\n", "line 1"),
        ("0 1 0\n", "is not a CLS file"),
    ],
)
def test_cls(file, content, classes):
    path = file(content, "data.cls")
    if isinstance(classes, tuple):
        assert read_cls(path) == classes
        return
    with pytest.raises(ValueError, match=r"data\.cls") as caught:
        read_cls(path)
    assert classes in str(caught.value)


def test_a_cls_file_of_other_samples_is_refused(file):
    cls = file("2 2 1\n# ALL AML\n0 1\n", "data.cls")
    with pytest.raises(ValueError, match="has 2 samples, but the table has 3"):
        read_expression(file(GCT, "data.gct"), classes=cls)


def test_npz(tmp_path):
    path = tmp_path / "data.npz"
    X = np.arange(6.0).reshape(3, 2)
    np.savez(path, X=X, y=np.array([1, 0, 1]), genes=np.array(["TP53", "KIT"]), batch=list("aba"))
    table = read_table(path)
    np.testing.assert_array_equal(table.data, X)
    assert table.variable_names == ("TP53", "KIT")
    assert table.sample_names == ("sample1", "sample2", "sample3")
    assert table.classes == ("1", "0", "1")
    assert read_table(path, labels="batch").classes == ("a", "b", "a")
    with pytest.raises(ValueError, match=r"no array 'type'\. It has X, y, genes and batch"):
        read_table(path, labels="type")


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": np.eye(2)}, "has no array 'X', only 'A'"),
        ({"X": np.ones(3)}, r"'X' is of type float64 and shape \(3,\)"),
        ({"X": np.array([["a", "b"]])}, "of type <U1"),
        ({"X": np.array([[1, None]], dtype=object)}, "not an NPZ file of plain arrays"),
        ({"X": np.eye(2), "genes": ["a"]}, r"'genes' has shape \(1,\)"),
        (
            {"X": np.eye(2), "genes": ["a", "a"]},
            "column 2: the variable name 'a' is also at column 1",
        ),
        ({"X": np.array([[1, np.inf]])}, r"row 1, column 2 \('v2'\): the value is infinite"),
    ],
)
def test_an_npz_file_is_checked(tmp_path, arrays, message):
    np.savez(tmp_path / "data.npz", **arrays)
    with pytest.raises(ValueError, match=message):
        read_table(tmp_path / "data.npz")


@pytest.mark.parametrize("content", [b"random bytes", b"PK\x03\x04 cut short", b""])
def test_what_is_no_npz_file(file, content):
    with pytest.raises(ValueError, match="is not an NPZ file"):
        read_table(file(content, "data.npz"))


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"name": ["A", "B"], "TP53": [1.5, 0], "type": ["ALL", "AML"]})
    for written in (frame, frame.set_index("name")):
        written.to_parquet(path)
        table = read_table(path, labels="type")
        np.testing.assert_array_equal(table.data, [[1.5], [0]])
        assert table.sample_names == ("A", "B")
        assert table.variable_names == ("TP53",)
        assert table.classes == ("ALL", "AML")
    with refuses("path", naming=["row 1, column 2", "'type'", "'ALL'"]):
        read_table(path)
    path.write_bytes(b"no such thing")
    with pytest.raises(ValueError, match="is not a Parquet file"):
        read_table(path)


def test_parquet_without_names_of_rows(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "data.parquet"
    frame = pd.DataFrame({"a": [1.5, 0, 2], "b": [1, 2, 4], "kind": [7, 8, 7]})
    frame.to_parquet(path)
    table = read_table(path, labels="kind")
    assert table.sample_names == ("sample1", "sample2", "sample3")
    assert table.variable_names == ("a", "b")
    assert table.classes == ("7", "8", "7")
    table = read_table(path, ignore=["sample2", "kind"])
    assert table.sample_names == ("sample1", "sample3")
    assert table.variable_names == ("a", "b")
    table = read_table(path, samples="columns")
    assert table.sample_names == ("a", "b", "kind")
    assert table.variable_names == ("v1", "v2", "v3")
    np.testing.assert_array_equal(table.data[0], [1.5, 0, 2])
    with pytest.raises(ValueError, match="sample9"):
        read_table(path, ignore=["sample9"])


def test_a_parquet_file_of_dates_and_of_numbers_that_are_missing(tmp_path):
    pytest.importorskip("pyarrow")
    import pandas as pd

    path = tmp_path / "data.parquet"
    day = pd.date_range("2024-05-01", periods=3)
    frame = pd.DataFrame({"name": [*"ABC"], "day": day, "x": [1, 2, 4], "y": [True, False, True]})
    frame.to_parquet(path)
    with refuses("path", naming=["column 2", "'day'"]):
        read_table(path)
    assert_array_equal(read_table(path, ignore="day").data, [[1, 1], [2, 0], [4, 1]])
    frame.assign(day=["1.5", "", "n.d."]).to_parquet(path)
    read = read_table(path, missing="n.d.").data
    assert_array_equal(read, [[1.5, 1, 1], [np.nan, 2, 0], [np.nan, 4, 1]])
    frame = pd.DataFrame({"g": ["A", "B"], "x": pd.array([1, None], dtype="Int64"), "y": [2.5, 3]})
    frame.to_parquet(path)
    table = read_table(path, samples="columns")
    assert_array_equal(table.data, [[1, np.nan], [2.5, 3]])
    assert table.sample_names == ("x", "y")


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("import os; os.kill(os.getpid(), 11)", "exit code -11"),
        ("import time; time.sleep(60)", "took longer than 3 seconds"),
    ],
)
def test_a_crash_of_the_library_that_reads_hdf5(tmp_path, monkeypatch, code, said):
    monkeypatch.setattr(_h5ad, "CODE", code)
    monkeypatch.setattr(_h5ad, "PATIENCE", 3.0)
    path = tmp_path / "data.h5ad"
    path.write_bytes(b"x")
    with pytest.raises(ValueError, match=said):
        read_table(path)


def test_h5ad(tmp_path):
    anndata = pytest.importorskip("anndata")
    import pandas as pd
    from scipy import sparse

    path = tmp_path / "data.h5ad"
    obs = pd.DataFrame({"type": ["ALL", "AML"]}, index=["A", "B"])
    var = pd.DataFrame(index=["TP53", "KIT"])
    X = sparse.csr_matrix([[1.0, 0], [0, 2]])
    anndata.AnnData(X, obs=obs, var=var).write_h5ad(path)
    table = read_table(path, labels="type")
    np.testing.assert_array_equal(table.data, [[1, 0], [0, 2]])
    assert table.sample_names == ("A", "B")
    assert table.classes == ("ALL", "AML")
    # Each is read in a process of its own; this is what that one does.
    anndata.AnnData(2 * X.toarray(), obs=obs, var=var).write_h5ad(path)
    target = tmp_path / "read.npz"
    _h5ad.main(str(path), str(target), "type")
    with np.load(target) as read:
        np.testing.assert_array_equal(read["X"], [[2, 0], [0, 4]])
        assert read["type"].tolist() == ["ALL", "AML"]
    with pytest.raises(SystemExit, match=r"no obs column 'x'\. It has type"):
        _h5ad.main(str(path), str(target), "x")
    path.write_bytes(b"no such thing")
    with pytest.raises(ValueError, match="is not an H5AD file, or is damaged"):
        read_table(path)


@pytest.mark.parametrize(
    ("name", "module", "extra"),
    [("d.parquet", "pyarrow", "parquet"), ("d.h5ad", "anndata", "scverse")],
)
def test_a_missing_extra_is_named(file, monkeypatch, name, module, extra):
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ImportError, match=rf"Run: pip install 'subspaces\[{extra}\]'"):
        read_table(file("", name))


GENES = [
    "TP53",
    "KIT",
    "MYC",
    "EGFR",
    "BRCA1",
    "ACTB",
    "GAPDH",
    "CD19",
    "CD3E",
    "PAX5",
    "HLA-A",
    "IL2",
    "FLT3",
    "WT1",
    "JAK2",
    "NPM1",
]


def made(samples, variables):
    return Table(np.zeros((len(samples), len(variables))), tuple(samples), tuple(variables))


def spread(stems, count):
    return [f"{stem}{i}" for i in range(count // len(stems) + 1) for stem in stems][:count]


@pytest.mark.parametrize(
    ("genes", "turned"),
    [
        ([f"{i}_at" for i in range(90)], True),
        ([f"ENSG{i:011d}" for i in range(90)], True),
        ([f"gene {i}" for i in range(90)], True),
        ([f"{a}{b}{c}" for a in "ABCDEFGHI" for b in "KLMNO" for c in "12"], True),
        ([f"GSM{i}" for i in range(90)], False),  # samples of GEO
        ([f"TCGA-02-{i:04d}" for i in range(90)], False),
        ([f"{a}{b}{c}AACCTG-1" for a in "ACG" for b in "ACGTC" for c in "ACGTGT"], False),
        (spread(["AML", "ALL", "MLL"], 90), False),
        ([f"sample{i}" for i in range(90)], False),
    ],
)
def test_genes_where_samples_should_be_are_a_hint(genes, turned):
    others = [f"patient {i}" for i in range(12)]
    assert seem_swapped(made(genes, others)) == turned
    assert not seem_swapped(made(others, genes))


def test_many_samples_of_few_genes_are_no_hint():
    assert not seem_swapped(made([f"{i}_at" for i in range(90)], GENES))


def test_reading_warns_of_a_table_on_its_side(file):
    text = "id,p1,p2\n" + "".join(f"{i}_at,{i}.5,{2 * i}\n" for i in range(90))
    with warns("swapped", kind=DataWarning) as caught:
        read_expression(file(text))
    assert "samples='columns'" in str(caught[0].message)


def test_without_pandas_there_is_no_frame(file, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert read_expression(file(PLAIN), labels="type").frame is None


def test_a_long_file_is_refused_from_its_top(file):
    # the last line is no row of the table, which only reading all of it shows
    lines = [",".join([*(f"v{j}" for j in range(499)), "kind"])]
    lines += [",".join([*("1.5",) * 499, f"a{i}"]) for i in range(2100)]
    path = file("\n".join([*lines, "1.5"]))
    with refuses("path") as raised:
        read_table(path)
    assert "kind" in str(raised.value)
    with pytest.raises(ValueError, match="typed"):
        read_table(path, labels="typed")
    with pytest.raises(ValueError, match="line 2102"):
        read_table(path, labels="kind")
