"""A bounded share of what ``python -m tests.fuzz`` does by hand; and the worst files one by one."""

import gzip
import io
import zipfile

import numpy as np
import pytest

from subspaces import load
from subspaces.app import cli
from subspaces.app.tables import read_table
from tests.cli.conftest import write_union
from tests.fuzz.commands import words
from tests.fuzz.mutations import mutate
from tests.fuzz.seeds import H5AD, MODEL, seeds
from tests.fuzz.targets import violation

FILES, H5AD_FILES, LINES = 1500, 15, 60
TEXTS = ("csv", "tsv", "txt")


@pytest.fixture(scope="module")
def whole_files(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("seeds"))


def test_whole_files_are_read(whole_files, tmp_path):
    for i, (ending, content) in enumerate(whole_files):
        path = tmp_path / f"f{i}{ending}"
        path.write_bytes(content)
        if path.suffix == ".cls":
            assert violation(path) is None
        elif ending == MODEL:
            load(path)
        else:
            assert read_table(path, labels=_labels(ending, content)).data.size


def _labels(ending, content):
    classes = ending in (".csv.gz", ".parquet") or (
        ending[1:4] in TEXTS and b"type" in content.replace(b"\0", b"")
    )
    return "type" if classes else None


def test_damaged_files_are_refused_in_one_line(whole_files, tmp_path):
    for i in range(FILES):
        random = np.random.default_rng(10**6 + i)
        ending, content = whole_files[random.integers(len(whole_files))]
        path = tmp_path / f"f{ending}"
        path.write_bytes(mutate(content, random))
        assert violation(path) is None, i


def test_damaged_h5ad_files_are_refused_in_one_line(tmp_path):
    pytest.importorskip("anndata")
    files = seeds(tmp_path, H5AD)
    path = tmp_path / f"f{H5AD}"
    for i in range(H5AD_FILES):
        random = np.random.default_rng(10**6 + i)
        _, content = files[random.integers(len(files))]
        path.write_bytes(mutate(content, random))
        assert violation(path) is None, i


def test_command_lines_that_nobody_should_type(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    write_union(tmp_path / "data.csv")
    write_union(tmp_path / "a b.csv")
    (tmp_path / "cut.csv").write_bytes(b'a,b\n1,"x\n')
    (tmp_path / "dir.csv").mkdir()
    inside = f"../{tmp_path.name}/data.csv"
    paths = ["data.csv", "a b.csv", inside, "cut.csv", "dir.csv", "missing.csv", "data.csv/x"]
    paths += ["/dev/null", "a\nb.csv", "x" * 300 + ".csv", "-"]
    for i in range(LINES):
        line = words(np.random.default_rng(i), paths)
        code = cli.main(line)
        said = capsys.readouterr().err
        assert code in (0, 2), line
        assert code == 0 or said.splitlines()[-1].startswith("Error: "), line
        assert "should not happen" not in said, line
        assert said.replace("\n", "").isprintable(), line


@pytest.fixture
def little_memory(container):
    container(50_000_000)


@pytest.mark.usefixtures("little_memory")
def test_a_small_gzip_file_that_unpacks_to_a_large_one(tmp_path):
    path = tmp_path / "bomb.csv.gz"
    path.write_bytes(gzip.compress(b"1,2\n" * 2_000_000))
    with pytest.raises(ValueError, match=r"bomb.csv.gz needs more than the"):
        read_table(path)


@pytest.mark.usefixtures("little_memory")
def test_a_small_npz_file_that_unpacks_to_a_large_one(tmp_path):
    path = tmp_path / "bomb.npz"
    np.savez_compressed(path, X=np.zeros((10_000, 1000)))
    assert path.stat().st_size < 100_000
    with pytest.raises(
        ValueError, match=r"bomb.npz needs about 160 MB of memory, but only 50 MB is"
    ):
        read_table(path)


@pytest.mark.usefixtures("little_memory")
def test_a_member_that_says_it_has_100_gb(tmp_path):
    content = io.BytesIO()
    np.savez(content, X=np.eye(3))
    said = bytearray(content.getvalue())
    entry = said.rindex(b"PK\x01\x02")
    said[entry + 24 : entry + 28] = b"\xf0\xff\xff\xff"
    path = tmp_path / "claims.npz"
    path.write_bytes(bytes(said))
    with pytest.raises(ValueError, match=r"claims.npz needs about 8.59 GB"):
        read_table(path)
    header = io.BytesIO()
    declared = {"descr": "<f8", "fortran_order": False, "shape": (10**5, 10**5)}
    np.lib.format.write_array_header_1_0(header, declared)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("X.npy", header.getvalue())
    with pytest.raises(ValueError, match=r"claims.npz is not an NPZ"):
        read_table(path)


@pytest.mark.usefixtures("little_memory")
def test_a_text_file_too_large_for_memory(tmp_path):
    path = tmp_path / "long.csv"
    path.write_bytes(b"1,2\n" * 1_000_000)
    with pytest.raises(
        ValueError, match=r"long.csv needs about 64 MB of memory, but only 50 MB is"
    ):
        read_table(path)


def test_a_hundred_thousand_columns(tmp_path):
    path = tmp_path / "wide.csv"
    line = b",".join([b"1.5"] * 10**5)
    path.write_bytes(line + b"\n" + line + b"\n")
    assert read_table(path).data.shape == (2, 10**5)


def test_a_pipe_is_not_read_as_a_file(tmp_path):
    (tmp_path / "endless.csv").symlink_to("/dev/zero")
    with pytest.raises(ValueError, match=r"endless.csv is not a file"):
        read_table(tmp_path / "endless.csv")


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_line_ends_and_line_breaks_within_quotes(tmp_path, end):
    path = tmp_path / "t.csv"
    path.write_bytes(f'id,"a{end}b","c\x85d"{end}x,1,2{end}y,3,4{end}'.encode())
    table = read_table(path)
    assert table.variable_names == (f"a{end}b", "c\x85d")
    assert table.data.tolist() == [[1, 2], [3, 4]]


@pytest.mark.parametrize("name", ["²", "9" * 5000])
def test_digits_that_int_does_not_take(tmp_path, name):
    path = tmp_path / "t.csv"
    path.write_text(f"{name},2,3\n1.5,2.5,3.5\n2.5,1.5,0.5\n")
    violation(path)
    path = tmp_path / "t.gct"
    path.write_text(f"#1.2\n{name} 2\n")
    with pytest.raises(ValueError, match=r"t.gct, line 2"):
        read_table(path)
