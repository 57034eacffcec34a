import os

import pytest

from quietcrowd.campaign.file_lock import file_lock


def test_one_at_a_time(tmp_path):
    lock = tmp_path / "lock"
    with file_lock(lock, wait=False), pytest.raises(BlockingIOError), file_lock(lock, wait=False):
        pass
    with file_lock(lock, wait=False):
        assert lock.exists()


def test_a_lock_ends_though_a_forked_process_has_not_let_go_of_it_yet(tmp_path, monkeypatch):
    held = []
    with monkeypatch.context() as forked:
        forked.setattr(os, "close", held.append)
        with file_lock(tmp_path / "lock", wait=False):
            pass
    with file_lock(tmp_path / "lock", wait=False):
        assert len(held) == 1
    os.close(held[0])
