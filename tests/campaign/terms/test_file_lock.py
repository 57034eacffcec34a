import os
import threading

import pytest
from tests.campaign.waiting import LONG

from quietcrowd.campaign.terms import file_lock as module
from quietcrowd.campaign.terms.file_lock import file_lock


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
