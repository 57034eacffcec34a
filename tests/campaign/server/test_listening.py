import socket
from contextlib import ExitStack
from unittest.mock import Mock

import pytest

from quietcrowd.campaign.server import listening
from quietcrowd.campaign.server.listening import AT_A_TIME, connections_within, listener
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.exceptions import ParameterError


def test_an_answer_does_not_wait_for_its_first_packet_to_be_confirmed():
    with listener(Settings(port=0)) as found, socket.create_connection(found.getsockname()):
        accepted, _ = found.accept()
        with accepted:
            assert accepted.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)


@pytest.mark.parametrize(
    ("limit", "wanted", "given"),
    [
        (None, None, 2_048),
        (None, 10, 10),
        (10**6, None, 2_048),
        (10**6, 5_000, 5_000),
        (256, None, 60),
        (256, 50, 50),
        (256, 60, 60),
        (256, 61, None),
        (204, None, 8),
        (203, None, None),
    ],
)
def test_connections_are_as_many_as_files_allow(monkeypatch, limit, wanted, given):
    monkeypatch.setattr(listening, "file_limit", lambda: limit)
    if given is None:
        needed = r"raise the limit, as with ulimit -n \d+"
        with pytest.raises(ParameterError, match=needed):
            connections_within(wanted, 100)
    else:
        assert connections_within(wanted, 100) == given


def test_there_is_a_limit_of_files():
    found = listening.file_limit()
    assert found is None or found > 0


@pytest.fixture
def ways_in():
    """Return what listens, and a way to connect to it."""
    with ExitStack() as opened:
        found = opened.enter_context(listener(Settings(port=0)))
        found.setblocking(False)

        def connect():
            opened.enter_context(socket.create_connection(found.getsockname()))

        yield found, connect


def test_who_asks_too_often_is_not_let_in(ways_in):
    found, connect = ways_in
    found.door = Mock(most=10, may_come=Mock(side_effect=[False, True]))
    connect()
    connect()
    taken, _ = found.accept()
    with taken:
        found.door.may_come.assert_called_with("127.0.0.1")
        with pytest.raises(BlockingIOError):
            found.accept()


def test_there_are_never_more_than_there_may_be_but_for_a_few(ways_in):
    found, connect = ways_in
    found.door = Mock(most=1, may_come=Mock(return_value=True))
    for _ in range(AT_A_TIME + 2):
        connect()
    taken = [found.accept()[0] for _ in range(AT_A_TIME + 1)]
    with pytest.raises(BlockingIOError):
        found.accept()
    taken.pop().close()
    taken.append(found.accept()[0])  # one more has waited
    for one in taken:
        one.close()
    assert not found._taken
