import socket
import time

import pytest
from tests.campaign.raw_http import answer

from quietcrowd.campaign.problems import ProblemError

PATIENCE = 0.5

REQUEST = b"GET /api/v1/healthz HTTP/1.1\r\nHost: here\r\n\r\n"


@pytest.fixture
def connection(start_server):
    """Return a connection to a server that waits briefly for the head of a request."""
    own = start_server()
    own.app.state.arrivals.patience = PATIENCE
    place = own.url.removeprefix("http://").split(":")
    with socket.create_connection(place, timeout=20) as opened:
        yield opened


@pytest.mark.parametrize("begun", [b"", REQUEST[:1], REQUEST[:-1], REQUEST[:-2] + b"X: 1\r\n"])
def test_a_head_that_is_never_whole_ends_the_connection(connection, begun):
    connection.sendall(begun)
    assert connection.recv(1) == b""


def test_so_does_that_of_a_later_request(connection):
    assert answer(connection, REQUEST)[0] == 200
    connection.sendall(REQUEST[:5])
    assert connection.recv(1) == b""


def trickle(connection):
    for _ in range(200):
        connection.sendall(REQUEST[:1])
        time.sleep(PATIENCE / 5)


def test_bytes_that_trickle_in_win_no_time(connection):
    with pytest.raises(OSError, match=r"reset|Broken pipe"):
        trickle(connection)


def test_between_two_requests_there_is_time(connection):
    for _ in range(3):
        assert answer(connection, REQUEST)[0] == 200
        time.sleep(2 * PATIENCE)


def test_an_answer_may_take_its_time(connection, monkeypatch):
    def wait(*_, **__):
        time.sleep(3 * PATIENCE)
        raise ProblemError("not-found", "after a while")

    monkeypatch.setattr("quietcrowd.campaign.api.participants.public_campaign", wait)
    slow = REQUEST.replace(b"healthz", b"public/campaigns/" + b"0" * 32)
    assert answer(connection, slow)[0] == 404
