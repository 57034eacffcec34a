import threading
import time

import pytest

from quietcrowd.campaign.file_lock import file_lock


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
