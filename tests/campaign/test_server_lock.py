import pytest

from quietcrowd.campaign.server_lock import only_server
from quietcrowd.exceptions import ParameterError


def test_one_server_at_a_time(tmp_path):
    file = tmp_path / "q.db"
    with (
        only_server(file),
        pytest.raises(ParameterError, match="another process"),
        only_server(file),
    ):
        pass
    with only_server(file):
        pass


def test_a_database_server_needs_no_lock():
    with only_server(None), only_server(None):
        pass


def test_a_system_without_locks_is_told_of(tmp_path, monkeypatch):
    monkeypatch.setattr("quietcrowd.campaign.server_lock.find_spec", lambda _: None)
    with pytest.raises(ParameterError, match="cannot be locked"), only_server(tmp_path / "q.db"):
        pass
    with only_server(None):
        pass
