"""Tables as people have them: annotation, commas in numbers, other encodings, workbooks, titles."""

import gzip
import io
import sys

import numpy as np
import pytest

from subspaces.app.tables import doubts, read_table
from subspaces.datasets import read_expression
from subspaces.messages import DataWarning
from tests.warned import codes_of, refuses, warns

GENES = (
    "gene_id\tgene_name\tbiotype\ts1\ts2\ts3\n"
    "ENSG1\tTP53\tcoding\t1.5\t2\t0\n"
    "ENSG2\tKIT\tcoding\t-2\t3e2\t1\n"
)
PATIENTS = "patient,TP53,date,KIT,site\nA,1,2024-05-01,2,Bonn\nB,3,2024-05-02,4,Köln\n"
SEMICOLONS = "id;a;b\ns1;1,5;2\ns2;0,25;1.065,5\n"


@pytest.fixture
def file(tmp_path):
    def write(content, name="data.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


@pytest.fixture
def refused(file):
    def refused(content, **options):
        with pytest.raises(ValueError, match=r"^\S*data\.csv") as caught:
            read_table(file(content), **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    return refused


def test_annotation_of_genes_is_left_out_where_it_is_named(file):
    table = read_table(file(GENES), samples="columns", ignore=["gene_name", "biotype"])
    np.testing.assert_array_equal(table.data, [[1.5, -2], [2, 300], [0, 1]])
    assert table.sample_names == ("s1", "s2", "s3")
    assert table.variable_names == ("ENSG1", "ENSG2")


def test_the_names_are_the_first_column_that_is_left(file):
    table = read_table(file(GENES), samples="columns", ignore=["gene_id", "biotype"])
    assert table.variable_names == ("TP53", "KIT")
    assert table.data.shape == (3, 2)


def test_annotation_of_samples_is_left_out_where_it_is_named(file):
    table = read_table(file(PATIENTS), ignore=["date"], labels="site")
    np.testing.assert_array_equal(table.data, [[1, 2], [3, 4]])
    assert table.variable_names == ("TP53", "KIT")
    assert table.classes == ("Bonn", "Köln")
    one = read_table(file(PATIENTS), ignore="date", labels="site")
    np.testing.assert_array_equal(one.data, table.data)


def test_a_row_is_left_out_by_its_name(file):
    text = "id,a,b\ns1,1,2\ns2,3,4\nTotal,4,6\n"
    assert read_table(file(text), ignore=["Total"]).sample_names == ("s1", "s2")
    turned = "gene,A,B\nbatch,x,y\ntype,ALL,AML\nTP53,1,2\n"
    table = read_table(file(turned), samples="columns", labels="type", ignore=["batch"])
    assert table.variable_names == ("TP53",)
    assert table.classes == ("ALL", "AML")


def test_columns_of_text_are_refused_with_what_leaves_them_out(refused):
    said = refused(GENES, samples="columns")
    assert "line 2, column 2 ('gene_name'): 'TP53' is not a number. " in said
    assert "Add ignore_text=True to leave out the 2 columns of text (gene_name and biotype)" in said
    assert "labels" not in said  # classes are a row where samples are columns
    assert refused(PATIENTS).endswith("columns of text (date (dates) and site).")
    more = PATIENTS + "C,1,2024-05-03,2,Bonn\nD,3,2024-05-04,4,Köln\n"
    assert "and labels='site' if that column has the known" in refused(more)
    said = refused(more, ignore=["date"])
    assert said.endswith(
        "column 5 ('site'): 'Bonn' is not a number. Add ignore=['site'] to leave "
        "out this column of text, or labels='site' if it has the known classes."
    )


def test_many_columns_of_text_are_counted(refused):
    top = ",".join(["id", *(f"t{j}" for j in range(30)), "x"])
    rows = "".join(f"\ns{i}," + "word," * 30 + str(i) for i in range(3))
    said = refused(top + rows)
    assert "Add ignore_text=True to leave out the 30 columns of text (t0, t1, t2, t3, t4" in said


def test_a_table_without_numbers_is_no_table_of_numbers(refused):
    assert "no column has numbers" in refused("id,a,b\ns1,x,y\ns2,z,w\n")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"ignore": ["dat"]}, "has no column or row 'dat'. Did you mean 'date'"),
        ({"ignore": ["site"], "labels": "site"}, "you gave 'site' to both labels and ignore"),
        ({"ignore": ["TP53", "KIT", "date", "site"]}, "has no columns of numbers"),
    ],
)
def test_what_cannot_be_left_out(refused, options, message):
    assert message in refused(PATIENTS, **options)


def test_names_with_line_breaks_are_offered_in_one_line(refused):
    assert r"It has 'a\nb', c, r1 and r2" in refused('id,"a\nb",c\nr1,1,2\nr2,3,4\n', ignore="type")


def test_only_the_variables_asked_for_are_read(file):
    path = file(PATIENTS)
    table = read_table(path, variables=["KIT", "TP53"])
    assert table.variable_names == ("TP53", "KIT")
    assert table.left_out == ("date", "site")
    turned = read_table(file(GENES), samples="columns", variables=["ENSG2"])
    np.testing.assert_array_equal(turned.data, [[-2], [300], [1]])
    assert turned.left_out == ("ENSG1", "gene_name", "biotype")


def test_a_table_with_none_of_the_variables_asked_for(refused):
    said = refused(PATIENTS, variables=["x", "y"])
    assert "none of the variables of the model (x and y)" in said
    assert "Use samples='columns'" in refused(PATIENTS, variables=["A", "B"])
    assert refused(GENES, samples="columns", variables=["s1"]).endswith("Use samples='rows'.")


@pytest.mark.parametrize("kind", ["npz", "parquet", "h5ad", "gct"])
def test_every_kind_of_file_leaves_out_what_is_named(tmp_path, kind):
    pd = pytest.importorskip("pandas")
    path = tmp_path / f"data.{kind}"
    X = np.arange(6.0).reshape(3, 2)
    frame = pd.DataFrame(X, index=["A", "B", "C"], columns=["TP53", "KIT"])
    if kind == "npz":
        np.savez(path, X=X, genes=["TP53", "KIT"], samples=["A", "B", "C"])
    elif kind == "parquet":
        pytest.importorskip("pyarrow")
        frame.assign(note=["x", "y", "z"]).to_parquet(path)
    elif kind == "h5ad":
        pytest.importorskip("anndata").AnnData(frame).write_h5ad(path)
    else:
        path.write_text(
            "#1.2\n2\t3\nName\tDescription\tA\tB\tC\nTP53\tx\t0\t2\t4\nKIT\ty\t1\t3\t5\n"
        )
    note = ["note"] if kind == "parquet" else []
    table = read_table(path, ignore=["TP53", "B", *note])
    np.testing.assert_array_equal(table.data, [[1], [5]])
    assert table.sample_names == ("A", "C")
    if kind == "h5ad":  # each is read in a process of its own
        return
    with pytest.raises(ValueError, match=r"has no column or row 'tp53'\. Did you mean 'TP53'"):
        read_table(path, ignore=["tp53", *note])
    assert read_table(path, variables=["TP53"]).variable_names == ("TP53",)


@pytest.mark.parametrize(
    ("text", "data"),
    [
        (SEMICOLONS, [[1.5, 2], [0.25, 1065.5]]),
        (SEMICOLONS.replace(";", "\t"), [[1.5, 2], [0.25, 1065.5]]),
        ('x,y\n"1,5",2\n"0,25",3\n', [[1.5, 2], [0.25, 3]]),
        ('x,y\n"12,065.5",1\n2,3\n', [[12065.5, 1], [2, 3]]),
        ('x,y\n"1,065,234",1\n2,3\n', [[1065234, 1], [2, 3]]),
        ("x;y\n1.234.567;1\n2;3\n", [[1234567, 1], [2, 3]]),
        ("x;y\n1 065;-12 000,5\n2;3\n", [[1065, -12000.5], [2, 3]]),
        ("x;y\n1\u00a0065;1'000'000\n2;3\n", [[1065, 1e6], [2, 3]]),
        ("1,5;2,5\n3,5;4\n", [[1.5, 2.5], [3.5, 4]]),  # neither a header nor names
        ("x;y\n1,5e-3;2\n-,5;3\n", [[0.0015, 2], [-0.5, 3]]),
    ],
)
def test_commas_that_say_what_they_are(file, text, data):
    table = read_table(file(text))
    np.testing.assert_allclose(table.data, data, rtol=1e-15)
    assert tuple(table.notes) == ()


@pytest.mark.parametrize(
    ("text", "data", "cell", "value", "shown"),
    [
        ('x,y\n1,"1,065"\n2,"2,100,000"\n', [[1, 1065], [2, 2100000]],
         "1,065", "1065", "2,100,000"),
        ('x,y\n1,"1,065"\n2,12.5\n', [[1, 1065], [2, 12.5]],
         "1,065", "1065", "12.5"),
        ('x,y\n1,"1,065"\n2,"0,25"\n', [[1, 1.065], [2, 0.25]],
         "1,065", "1.065", "0,25"),
        ("x;y\n1.065;2\n2;0,25\n", [[1065, 2], [2, 0.25]],
         "1.065", "1065", "0,25"),
    ],
)  # fmt: skip
def test_commas_that_other_cells_explain_are_read_with_a_word(file, text, data, cell, value, shown):
    table = read_table(file(text))
    np.testing.assert_allclose(table.data, data, rtol=1e-15)
    (note,) = table.notes
    assert note.code == "read_as"
    assert note.parameters == {"cell": cell, "value": value, "shown": shown}
    with warns("read_as"):
        read_expression(file(text))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('x,y\n1,"1,065"\n2,3\n', "line 2, column 2 ('y'): '1,065' may mean 1065 or "
         "1.065. Remove"),
        ('x,y\n1,"0,25"\n2,12.5\n', "line 2, column 2 ('y'): '0,25' has a decimal comma, and "
         "'12.5' in the same table has a decimal point. Write all"),
        ('x,y\n1,"0,25"\n3,"1,065,234"\n', "'0,25' has a decimal comma, and '1,065,234' in the "
         "same table has commas between thousands. Write all"),
        ('x,y\n1,"1,06,5"\n2,3\n', "'1,06,5' is not a number"),
        ("x,y\n1,n.d.\n2,n.d.\n3,4\n", "'n.d.' is not a number, and 1 more cell has the same text"),
        ("x,y\n1,12%\n2,3\n", "'12%' is not a number. Correct the cell, add missing=['12%'] if"),
    ],
)  # fmt: skip
def test_commas_that_may_be_either_are_refused(refused, text, message):
    assert message in refused(text)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_a_file_that_names_its_encoding(file, encoding):
    table = read_table(file(PATIENTS.encode(encoding)), labels="site", ignore=["date"])
    assert table.classes == ("Bonn", "Köln")
    assert tuple(table.notes) == ()
    packed = file(gzip.compress(PATIENTS.encode(encoding)), "data.csv.gz")
    assert read_table(packed, labels="site", ignore="date").classes == ("Bonn", "Köln")


def test_latin_1_is_read_with_a_word(file):
    path = file(PATIENTS.replace("Köln", "Köln €").encode("cp1252"))
    table = read_table(path, labels="site", ignore=["date"])
    assert table.classes == ("Bonn", "Köln €")
    assert [(note.code, note.parameters["name"]) for note in table.notes] == [("latin1", "Köln")]
    with warns("latin1"):
        read_expression(path, labels="site", ignore=["date"])


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (PATIENTS.encode("utf-16-le"), "is UTF-16 without a byte order mark. Save it as CSV UTF"),
        (b"a,b\n\x81,2\n", "line 2: the text has an unknown encoding (byte 0x81). Save the file"),
        (b"a,b\n\xe9\x02,2\n", "is not a text file. Save it as CSV UTF-8"),
        (b"\xff\xfea", "looks like UTF-16, but is damaged or incomplete. Save it as CSV UTF-8"),
    ],
)
def test_bytes_that_are_no_text(refused, content, message):
    assert message in refused(content)


def workbook(rows, more=()):
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    for name in more:
        book.create_sheet(name).append(["other"])
    content = io.BytesIO()
    book.save(content)
    return content.getvalue()


def test_a_workbook(file):
    from datetime import date

    rows = [
        ["Results of May"], [],
        ["patient", "TP53", "taken", "KIT", "site"],
        ["A", 1.5, date(2024, 5, 1), -2, "Bonn"],
        ["B", 0, date(2024, 5, 2), 0.1 + 0.2, "Köln"],
    ]  # fmt: skip
    path = file(workbook(rows), "data.xlsx")
    table = read_table(path, labels="site", ignore=["taken"])
    np.testing.assert_allclose(table.data, [[1.5, -2], [0, 0.1 + 0.2]], rtol=1e-15)
    assert table.sample_names == ("A", "B")
    assert table.classes == ("Bonn", "Köln")
    assert [(note.code, note.parameters["first"]) for note in table.notes] == [("skipped_lines", 1)]
    with refuses("path", naming=["line 4, column 3", "'taken'", "'2024-05-01'"]):
        read_table(path)


def test_a_workbook_of_several_sheets(file):
    rows = [["id", "x", "y"], ["s1", 1, 2], ["s2", 3, 4]]
    table = read_table(file(workbook(rows, ["Notes"]), "data.xlsx"))
    (note,) = table.notes
    assert (note.code, note.parameters) == ("first_sheet", {"sheet": "Sheet", "n": 2})


def test_what_is_no_workbook(file, monkeypatch):
    pytest.importorskip("openpyxl")
    for content in (b"id,x\n", b"PK\x03\x04 cut short", workbook([])):
        with pytest.raises(ValueError, match=r"data\.xlsx (is not an Excel workbook|is empty)"):
            read_table(file(content, "data.xlsx"))
    with pytest.raises(ValueError, match=r"\.xls files are not supported\. .*\.csv.*\.xlsx"):
        read_table(file("", "data.xls"))
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(
        ImportError, match=r"needs openpyxl\. Run: pip install 'subspaces\[excel\]'"
    ):
        read_table(file("", "data.xlsx"))


@pytest.mark.parametrize(
    ("text", "names", "notes"),
    [
        ("Results\n\nid,a,b\ns1,1,2\ns2,3,4\n", ("a", "b"), 1),
        ("Results,,\n,,\nid,a,b\ns1,1,2\ns2,3,4\n", ("a", "b"), 1),
        ("sep=;\nid;a;b\ns1;1;2\ns2;3;4\n", ("a", "b"), 1),
        ("# made by x\n# y\nid\ta\tb\ns1\t1\t2\ns2\t3\t4\n", ("a", "b"), 1),
        ("id,a,b,,\ns1,1,2,,\ns2,3,4,,\n", ("a", "b"), 0),
        ("id,a,b\ns1,1,2,\ns2,3,4,\n", ("a", "b"), 0),
        (",id,a,b\n,s1,1,2\n,s2,3,4\n", ("a", "b"), 0),
        ("x\nr1,1\nr2,2\n", ("x",), 0),  # R writes no heading above names
    ],
)
def test_what_stands_around_a_table(file, text, names, notes):
    table = read_table(file(text))
    assert table.variable_names == names
    np.testing.assert_array_equal(table.data[:, 0], [1, 3] if len(names) == 2 else [1, 2])
    assert len(table.notes) == notes


@pytest.mark.parametrize(
    ("text", "samples", "code", "name"),
    [
        ("id,a,b\ns1,1,2\ns2,3,4\ns3,0,1\nTotal,4,7\n", "rows", "totals", "Total"),
        ("id,a,b\ns1,1,2\ns2,3,4\nØ,2,3\n", "rows", "totals", "Ø"),
        ("Nr.;Name;a\n1;x;5\n2;y;7\n3;z;1\n4;u;3\n5;v;1\n", "rows", "identifiers", "Nr."),
        ("Geneid,Length,a,b\ng1,700,1,2\ng2,900,2,1\n", "columns", "annotation", "Length"),
    ],
)
def test_what_may_be_neither_sample_nor_variable_is_a_hint(file, text, samples, code, name):
    more = {"ignore": ["Name"]} if "Name" in text else {}
    path = file(text)
    found = doubts(read_table(path, samples=samples, **more), samples)
    assert [(doubt.code, doubt.parameters["names"]) for doubt in found] == [(code, [name])]
    with warns(code, kind=DataWarning) as caught:
        read_expression(path, samples=samples, **more)
    said = str(caught[0].message)
    assert said.startswith(f"{path}: ")
    assert f"Add ignore=['{name}']" in said


def test_classes_that_are_not_named_are_told(file, tmp_path):
    """Text is refused with the option, whole numbers and what lies beside X are told."""
    rows = [(k % 2, k, k * k % 7) for k in range(12)]
    text = "\n".join(["Group,a,b", *(f"{'uv'[g]},{x}.5,{y}" for g, x, y in rows)])
    with refuses("path", naming=["column 1", "'u'", "labels='Group'"]):
        read_table(file(text))
    assert read_table(file(text), labels="Group").classes[:3] == ("u", "v", "u")
    once = text.replace("Group", "type").replace("u,", "u{},").replace("v,", "v{},")
    named = read_table(file(once.format(*range(12))))  # each text once: names, as ever
    assert named.sample_names[:2] == ("u0", "v1")
    numbers = read_table(file("\n".join(["class,a", *(f"{g},{x}.5" for g, x, _ in rows)])))
    (doubt,) = doubts(numbers, "rows")
    assert doubt.code == "classes_as_variable"
    assert "Set labels='class'" in str(doubt)
    measured = read_table(file("\n".join(["class,a", *(f"{x},{g}.5" for g, x, _ in rows)])))
    assert "classes_as_variable" not in codes_of(doubts(measured, "rows"))
    last = read_table(file("\n".join(["a,b,kind", *(f"{x}.5,{y}.5,{g}" for g, x, y in rows)])))
    assert codes_of(doubts(last, "rows")) == ["classes_as_variable"]
    between = read_table(file("\n".join(["a,kind,b", *(f"{x}.5,{g},{y}.5" for g, x, y in rows)])))
    assert not doubts(between, "rows")


def test_spaces_separate_where_nothing_else_does(file):
    """As R's write.table writes, or in columns one below the other."""
    for text in ('"x" "y"\n"r 1" 1 2\n"r 2" 3 4.5\n', "id   x   y\nr1   1   2\nr2  3 4.5\n",
                 "id x y\nr1 1,0 2\nr2 3 4,5\n"):  # fmt: skip
        table = read_table(file(text, "data.txt"))
        np.testing.assert_array_equal(table.data, [[1, 2], [3, 4.5]])
        assert table.variable_names == ("x", "y")


def test_points_that_may_separate_thousands_are_doubted(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("name;a;b\nx;7.840;-290\ny;-14.450;560\nz;1.065;12\n")
    table = read_table(path)
    assert table.data[0, 0] == 7.84
    (note,) = table.notes
    assert note.code == "read_as"
    assert note.parameters == {"cell": "7.840", "value": 7.84}
    path.write_text("name;a;b\nx;7.840;-2.290\ny;-14.450;5.560\nz;1.065;1.312\n")
    assert not read_table(path).notes


def test_a_constant_column_of_text_is_no_class(tmp_path):
    path = tmp_path / "t.csv"
    rows = [f"s{i},monday,{'ab'[i % 2]},{i},{i * i}" for i in range(8)]
    path.write_text("\n".join(["name,day,type,x,y", *rows]))
    with refuses("path", naming=["labels='type'"]):
        read_table(path)


MESSY = (
    "id,sex,TP53,KIT,MYC,AKT,ABL,diagnosis\nA,m,1.5,2,3,1,1,case\nB,f,21.3o,<LOD,4,1,2,control\n"
    'C,m,2.5,3,"0,5",1,3,case\nD,f,3.5,<LOD,6,1,4,control\n'
)


def test_all_cells_that_are_no_numbers_are_told_at_once(refused):
    said = refused(MESSY)
    assert (
        "line 2, column 2 ('sex'): 'm' is not a number. Add ignore_text=True to leave out" in said
    )
    assert (
        "and labels='diagnosis' if that column has the known classes. Also line 3, column 3" in said
    )
    assert (
        "Also line 3, column 3 ('TP53'): '21.3o' (did you mean 21.30?), '<LOD' at line 3, "
        "column 4 ('KIT') and 1 more cell are not numbers. Correct the cells, "
        "add missing=['<LOD'] if it marks a missing value, or add ignore=['TP53', 'KIT'] to "
        "leave the columns out. Also line 4, column 5 ('MYC'): '0,5' has a decimal comma"
    ) in said


def test_a_typing_error_is_asked_about(refused):
    assert refused("x,y\n1,21.3o\n2,3\n").endswith(
        "line 2, column 2 ('y'): '21.3o' is not a number (did you mean 21.30?). Correct the cell, "
        "add missing=['21.3o'] to treat it as missing, or add ignore=['y'] to leave the column out."
    )
    for typed, meant in (("2l.5", "21.5"), ("O.5", "0.5"), ("1..5", "1.5"), ("1 .5", "1.5")):
        assert f"{typed!r} is not a number (did you mean {meant}?)" in refused(
            f"x,y\n1,{typed}\n2,3\n"
        )
    for text in ("oil", "<0.5", "1a", "lo"):
        assert "mean" not in refused(f"x,y\n1,{text}\n2,3\n")


def test_many_bad_cells_are_counted(refused):
    rows = "".join(f"{i},bad{i},{i}\n" for i in range(12))
    said = refused("x,y,z\n" + rows + "12,1,2\n")
    assert said.count("'bad") == 5
    assert "missing" not in said  # so many texts are no marks
    assert (
        "'bad4' at line 6, column 2 ('y') and 7 more cells are not numbers. Correct the cells"
        in said
    )
    assert said.endswith("or add ignore=['y'] to leave the column out.")


def test_rows_of_text_are_told_together(refused):
    said = refused(
        "g,A,B,C\ntype,x,y,x\nbatch,p,q,p\nTP53,1,2,3\nKIT,2,n.d.,4\n", samples="columns"
    )
    assert "labels='type' if that row has the known classes, or ignore=['type', 'batch']" in said
    assert "Also line 5, column 3 ('B'): 'n.d.' is not a number" in said


def test_samples_without_a_class_are_told_and_kept(file):
    text = "id,a,b,type\n" + "".join(f"s{i},{i * i},{i}.5,{'xy'[i % 2]}\n" for i in range(8))
    path = file(text.replace("s3,9,3.5,y", "s3,9,3.5,"))
    table = read_table(path, labels="type")
    assert table.classes[3] == ""
    assert codes_of(doubts(table, "rows")) == ["no_class"]
    with warns("no_class", kind=DataWarning):
        read = read_expression(path, labels="type")
    assert read.target.tolist() == [0, 1, 0, -1, 0, 1, 0, 1]
    assert read.target_names.tolist() == ["x", "y"]
    two = read_table(file(text.replace(",y\n", ",\n")), labels="type")
    assert doubts(two, "rows")[0].parameters["names"] == ["s1", "s3", "s5", "s7"]


def test_text_that_is_called_a_workbook(file):
    with pytest.raises(
        ValueError, match=r"\(File is not a zip file\)\. Save it as .xlsx, or"
    ) as caught:
        read_table(file("a,b\n1,2\n", "data.xlsx"))
    assert str(caught.value).endswith("or rename it to .csv if it is a text file.")
