import errno
import os
from pathlib import Path

import pytest

import quietcrowd as qc
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats.files import (
    check_folder,
    check_new,
    new_folder,
    replacing,
    require_no_overwriting,
)


def test_a_folder_is_there_when_it_is_whole(tmp_path):
    with new_folder(tmp_path / "new") as temporary:
        (temporary / "file").write_text("1")
        assert not (tmp_path / "new").exists()
    assert (tmp_path / "new" / "file").read_text() == "1"
    assert [path.name for path in tmp_path.iterdir()] == ["new"]


def test_nothing_is_there_where_something_goes_wrong(tmp_path):
    def stop():
        with new_folder(tmp_path / "new") as temporary:
            (temporary / "file").write_text("1")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stop()
    assert list(tmp_path.iterdir()) == []


def test_what_is_there_is_kept(tmp_path):
    (tmp_path / "old").write_text("1")
    with (
        pytest.raises(ParameterError, match="old already exists"),
        new_folder(tmp_path / "old"),
    ):
        pass
    assert (tmp_path / "old").read_text() == "1"


@pytest.mark.parametrize("kind", [replacing, new_folder])
def test_a_full_disk_is_told_with_the_name_of_the_target(tmp_path, kind):
    def fill(error):
        with kind(tmp_path / "new") as temporary:
            raise error(temporary)

    full = errno.ENOSPC
    for error in (
        lambda _: OSError(full, "Error writing bytes to file"),
        lambda temporary: OSError(full, "none left", str(temporary / "values.npy")),
    ):
        with pytest.raises(OSError, match="No space left on device") as raised:
            fill(error)
        assert raised.value.filename == str(tmp_path / "new")
    with pytest.raises(OSError, match="new: 800 requested and 0 written"):
        fill(lambda _: OSError("800 requested and 0 written"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "error", [ConnectionError("the cluster was lost"), PermissionError(13, "no", "/elsewhere")]
)
def test_errors_of_something_else_stay(tmp_path, error):
    def stop():
        with replacing(tmp_path / "new"):
            raise error

    with pytest.raises(type(error)) as raised:
        stop()
    assert raised.value is error


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="no folder that refuses every file")
@pytest.mark.parametrize("kind", [replacing, new_folder])
def test_a_folder_that_refuses_files(kind):
    def write():
        with kind(Path("/proc/t.parquet")):
            pass

    with pytest.raises(OSError, match=r"'/proc/t\.parquet'$"):
        write()


@pytest.mark.parametrize("kind", [replacing, new_folder])
def test_a_path_from_here_is_told_as_it_was_given(tmp_path, monkeypatch, kind):
    def fill():
        with kind(Path("new")) as temporary:
            raise OSError(errno.EROFS, "no", str(temporary.absolute()))

    monkeypatch.chdir(tmp_path)
    with pytest.raises(OSError, match="Read-only") as raised:
        fill()
    assert raised.value.filename == "new"


def test_where_no_file_can_be_put_is_told_beforehand(tmp_path, monkeypatch):
    check_folder(tmp_path / "new")
    (tmp_path / "old").write_text("1")
    check_folder(tmp_path / "old")
    (tmp_path / "folder").mkdir()
    with pytest.raises(FileNotFoundError, match="no such directory"):
        check_folder(tmp_path / "nowhere" / "new")
    with pytest.raises(IsADirectoryError, match="name a file") as raised:
        check_folder(tmp_path / "folder")
    assert raised.value.filename == str(tmp_path / "folder")
    monkeypatch.setattr(os, "access", lambda path, _: path != tmp_path)
    with pytest.raises(PermissionError, match="directory of this file is not writable") as raised:
        check_folder(tmp_path / "new")
    assert raised.value.filename == str(tmp_path / "new")


def test_what_lies_in_a_source_is_not_overwritten(tmp_path):
    with pytest.raises(ParameterError, match="two outputs"):
        require_no_overwriting(
            tmp_path / "in", tmp_path / "a", None, tmp_path / "b", tmp_path / "a"
        )
    with pytest.raises(ParameterError, match="is inside the input"):
        require_no_overwriting(tmp_path, tmp_path / "a" / "b")
    with pytest.raises(ParameterError, match="is the input"):
        require_no_overwriting(tmp_path, tmp_path / "a" / "..")
    require_no_overwriting(tmp_path / "in", tmp_path / "a", None, tmp_path / "b")


def test_links_in_a_circle_are_told_of_as_the_system_does(tmp_path):
    circle = tmp_path / "circle"
    circle.symlink_to(circle)
    require_no_overwriting(circle, tmp_path / "a")
    with pytest.raises(qc.exceptions.ParameterError, match="is the input"):
        require_no_overwriting(circle, circle)


def test_what_is_there_is_not_new(tmp_path):
    check_new(tmp_path / "a")
    (tmp_path / "a").touch()
    with pytest.raises(ParameterError, match=r"a already exists; name a new file$"):
        check_new(tmp_path / "a")
