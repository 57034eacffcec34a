import os
import threading
import time

import pytest

from quietcrowd.campaign.terms.file_lock import file_lock


def test_who_does_not_wait_is_turned_away(tmp_path):
    path = tmp_path / "lock"
    with file_lock(path, wait=False), pytest.raises(BlockingIOError), file_lock(path, wait=False):
        pass
    with file_lock(path, wait=False):
        pass
    assert path.stat().st_mode & 0o777 == 0o600


def test_who_waits_comes_next(tmp_path):
    path, order = tmp_path / "lock", []

    def second():
        with file_lock(path, wait=True):
            order.append("second")

    with file_lock(path, wait=True):
        thread = threading.Thread(target=second)
        thread.start()
        time.sleep(0.05)
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
