"""Files of one's own: what is one, and what is left of it after an interruption."""

import os
import socket
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest
from tests.campaign.waiting import LONG

from quietcrowd import private_files
from quietcrowd import private_files as module
from quietcrowd.exceptions import FormatError
from quietcrowd.private_files import (
    create_private,
    file_lock,
    read_private,
    replace_private,
    wipe_private,
)

posix = pytest.mark.skipif(os.name != "posix", reason="rights are those of the folder")
CONTENT = b'{"key": "' + b"0123456789abcdef" * 4 + b'"}\n'


@pytest.fixture
def path(tmp_path):
    place = tmp_path / "private"
    assert create_private(place, CONTENT)
    return place


def interrupt(*_, **__):
    raise KeyboardInterrupt


def test_a_file_is_made_once(path):
    assert not create_private(path, b"another")
    assert read_private(path) == CONTENT
    wipe_private(path, CONTENT)
    assert not path.exists()
    wipe_private(path, CONTENT)
    with pytest.raises(FileNotFoundError):
        read_private(path)


def make_folder(path):
    path.mkdir()


def make_pipe(path):
    os.mkfifo(path)


def make_link(path):
    target = path.with_name("target")
    assert create_private(target, CONTENT)
    path.symlink_to(target)


def make_socket(path):
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(path))


@posix
@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (make_folder, "a folder"),
        (make_pipe, "a pipe"),
        (make_link, "a symbolic link"),
        (lambda path: path.symlink_to("nowhere"), "a symbolic link"),
        (make_socket, "a device or a socket"),
    ],
)
def test_what_is_no_plain_file_is_refused_and_left_alone(tmp_path, monkeypatch, make, kind):
    monkeypatch.chdir(tmp_path)  # the name of a socket must be short
    path = Path("private")
    make(path)
    before = path.lstat()
    for use in (read_private, lambda path: wipe_private(path, CONTENT)):
        with pytest.raises(FormatError, match=rf"^private is {kind}, not a file\. .* another path"):
            use(path)
    assert os.path.samestat(path.lstat(), before)
    assert [file.read_bytes() for file in tmp_path.glob("target")] in ([], [CONTENT])


@posix
def test_nothing_stays_open(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    before = len(os.listdir("/dev/fd"))
    for _ in range(3):
        with pytest.raises(FormatError):
            read_private(tmp_path / "pipe")
    assert len(os.listdir("/dev/fd")) == before


@posix
def test_the_file_of_another_user_is_refused(path, monkeypatch):
    owner = path.stat().st_uid
    monkeypatch.setattr(os, "geteuid", lambda: owner + 1)
    with pytest.raises(
        FormatError, match=rf"belongs to user {owner}, but this is user {owner + 1}"
    ):
        read_private(path)


@pytest.mark.parametrize("step", ["unlink", "samestat"])
def test_an_interrupted_removal_is_brought_to_its_end(path, monkeypatch, step):
    with monkeypatch.context() as patched:
        patched.setattr(*((os.path, step) if step == "samestat" else (Path, step)), interrupt)
        with pytest.raises(KeyboardInterrupt):
            wipe_private(path, CONTENT)
    assert read_private(path) == bytes(len(CONTENT))
    wipe_private(path, CONTENT)
    assert not path.exists()


@pytest.mark.parametrize("zeros", [slice(0, 20), slice(20, None), slice(10, 30)])
def test_half_an_overwriting_is_brought_to_its_end(path, zeros):
    left = bytearray(CONTENT)
    left[zeros] = bytes(len(left[zeros]))
    path.write_bytes(left)
    wipe_private(path, CONTENT)
    assert not path.exists()


@pytest.mark.parametrize(
    "other", [b"", b"another", bytes(len(CONTENT) + 1), CONTENT + b"more", CONTENT[::-1]]
)
def test_another_file_is_not_touched(path, other):
    path.write_bytes(other)
    with pytest.raises(FormatError, match="It was not changed"):
        wipe_private(path, CONTENT)
    assert path.read_bytes() == other


def test_a_file_that_comes_while_one_is_wiped_is_not_removed(path, monkeypatch):
    fsync = os.fsync

    def replaced(number):
        monkeypatch.setattr(os, "fsync", fsync)
        fsync(number)
        path.unlink()
        create_private(path, b"another")

    monkeypatch.setattr(os, "fsync", replaced)
    wipe_private(path, CONTENT)
    assert read_private(path) == b"another"


@posix
def test_all_names_of_a_file_lose_the_content(path):
    """As after an interruption of making it, which may leave the temporary name."""
    other = path.with_name("other")
    os.link(path, other)
    wipe_private(path, CONTENT)
    assert other.read_bytes() == bytes(len(CONTENT))


def no_links(*_, **__):
    raise OSError("no links here")


def test_without_links_who_comes_second_replaces_nothing(tmp_path, monkeypatch):
    """The second comes at the worst moment: just before the first gives its file a name."""
    path = tmp_path / "private"
    monkeypatch.setattr(os, "link", no_links)
    made = []

    def late(name):
        move = getattr(os, name)

        def moved(*places):
            monkeypatch.setattr(os, name, move)
            made.append(create_private(path, b"the second"))
            move(*places)

        return moved

    for name in ("replace", "rename"):
        monkeypatch.setattr(os, name, late(name))
    made.append(create_private(path, b"the first"))
    assert made == [False, True]
    assert read_private(path) == b"the first"
    assert [file.name for file in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("step", ["replace", "close"])
def test_without_links_an_interruption_leaves_no_content(tmp_path, monkeypatch, step):
    monkeypatch.setattr(os, "link", no_links)
    monkeypatch.setattr(os, step, interrupt)
    with pytest.raises(KeyboardInterrupt):
        create_private(tmp_path / "private", CONTENT)
    assert not any(file.read_bytes() for file in tmp_path.iterdir())


def test_where_rights_are_not_posix_owners_are_not_asked_for(path, monkeypatch):
    monkeypatch.setattr(private_files, "sys", SimpleNamespace(platform="win32"))
    monkeypatch.delattr(os, "geteuid", raising=False)
    assert read_private(path) == CONTENT


def test_a_file_is_replaced_whole(path, monkeypatch):
    replace_private(path, b"one")
    replace_private(path, b"another")
    assert read_private(path) == b"another"
    assert path.stat().st_mode & 0o777 == 0o600

    def fail(*_):
        raise OSError("no space")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(OSError, match="no space"):
        replace_private(path, b"a third")
    assert read_private(path) == b"another"
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_who_does_not_wait_is_turned_away(tmp_path):
    path = tmp_path / "lock"
    with file_lock(path, wait=False), pytest.raises(BlockingIOError), file_lock(path, wait=False):
        pass
    with file_lock(path, wait=False):
        pass
    assert path.stat().st_mode & 0o777 == 0o600


def test_who_waits_comes_next(tmp_path, monkeypatch):
    path, order, waits, lock = tmp_path / "lock", [], threading.Event(), module._lock

    def note(*given):
        if threading.current_thread() is not threading.main_thread():
            waits.set()
        lock(*given)

    def second():
        with file_lock(path, wait=True):
            order.append("second")

    monkeypatch.setattr(module, "_lock", note)
    with file_lock(path, wait=True):
        thread = threading.Thread(target=second)
        thread.start()
        assert waits.wait(LONG)
        order.append("first")
    thread.join()
    assert order == ["first", "second"]


def test_a_lock_ends_though_a_forked_process_has_not_let_go_of_it_yet(tmp_path, monkeypatch):
    held = []
    with monkeypatch.context() as forked:
        forked.setattr(os, "close", held.append)
        with file_lock(tmp_path / "lock", wait=False):
            pass
    with file_lock(tmp_path / "lock", wait=False):
        assert len(held) == 1
    os.close(held[0])
