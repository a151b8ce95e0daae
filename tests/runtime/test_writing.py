"""A file takes the place of another as a whole, and as if that had been written to."""

import os
import stat

import pytest

from subspaces.app.cli._outputs import staged
from subspaces.runtime.writing import written_whole

POSIX = pytest.mark.skipif(os.name != "posix", reason="links, permissions and pipes as of POSIX")


def write(path, text):
    with written_whole(path) as part:
        part.write_text(text)


@pytest.fixture
def course(monkeypatch):
    """What is forced to the disk and what is moved, in order, by name."""
    happened = []
    fsync, replace, rename = os.fsync, os.replace, os.rename

    def forced(handle):
        happened.append(("forced", os.path.basename(os.readlink(f"/proc/self/fd/{handle}"))))
        fsync(handle)

    def moved(how):
        def move(old, new):
            happened.append(("moved", os.path.basename(new)))
            how(old, new)

        return move

    monkeypatch.setattr(os, "fsync", forced)
    monkeypatch.setattr(os, "replace", moved(replace))
    monkeypatch.setattr(os, "rename", moved(rename))
    return happened


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux what a handle is of")
def test_a_file_is_on_the_disk_before_it_counts_and_its_name_after(tmp_path, course):
    write(tmp_path / "a.txt", "new")
    (first, part), *rest = course
    assert first == "forced"
    assert part.endswith(".part")
    assert rest == [("moved", "a.txt"), ("forced", tmp_path.name)]


@pytest.mark.skipif(not os.path.isdir("/proc/self/fd"), reason="asks Linux what a handle is of")
def test_the_files_of_a_fit_are_on_the_disk_before_any_counts(tmp_path, course):
    with staged(tmp_path, ["a.csv", "b.csv"], force=False) as stage:
        (stage / "a.csv").write_text("new")
        (stage / "b.csv").write_text("new")
    names = [name for _, name in course]
    counts = next(i for i, name in enumerate(names) if name.startswith(".finished"))
    assert {"a.csv", "b.csv"} < set(names[:counts])
    assert course[counts - 1] == ("forced", stage.name)
    assert course[counts + 1] == ("forced", tmp_path.name)
    assert course[counts + 2 :] == [("moved", "a.csv"), ("moved", "b.csv")]


@POSIX
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "far").mkdir()
    link, target = tmp_path / "link", tmp_path / "far" / "file"
    link.symlink_to(target)
    for text in ("first", "second"):
        write(link, text)
        assert link.is_symlink()
        assert target.read_text() == text
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["far", "file", "link"]


@POSIX
def test_what_others_may_not_read_stays_so(tmp_path):
    alone, among = tmp_path / "alone", tmp_path / "labels.csv"
    for path in (alone, among):
        path.write_text("old")
        path.chmod(0o600)
    write(alone, "new")
    with staged(tmp_path, ["labels.csv"], force=True) as stage:
        (stage / "labels.csv").write_text("new")
    for path in (alone, among):
        assert path.read_text() == "new"
        assert stat.S_IMODE(path.stat().st_mode) == 0o600


@POSIX
def test_a_pipe_is_not_replaced(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(ValueError, match=r"pipe is a device or a pipe"):
        write(pipe, "new")
    assert pipe.is_fifo()
    assert [path.name for path in tmp_path.iterdir()] == ["pipe"]


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"The folder does not exist: '.*none'$"):
        write(tmp_path / "none" / "file", "new")
