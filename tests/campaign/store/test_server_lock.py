import pytest

from quietcrowd.campaign.store.server_lock import only_server
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
