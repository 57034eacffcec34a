import asyncio
import socket
import time
from itertools import islice
from unittest.mock import Mock

import httpx
import pytest
import uvicorn
from tests.campaign.people import new_desk
from tests.campaign.raw_http import answer
from tests.campaign.waiting import in_time
from uvicorn.server import ServerState

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exporting import ReportExport
from quietcrowd.campaign.server import stalling
from quietcrowd.campaign.server.arrivals import Arrivals
from quietcrowd.campaign.server.shedding import shedding_protocol

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

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    slow = REQUEST.replace(b"healthz", b"public/campaigns/" + b"0" * 32)
    assert answer(connection, slow)[0] == 404


def endless(_):
    while True:
        yield "x" * 100_000


def test_who_takes_nothing_of_an_answer_is_cut_off(start_server, monkeypatch):
    monkeypatch.setattr(stalling, "TAKING_SECONDS", PATIENCE)
    monkeypatch.setattr(ReportExport, "json_lines", endless)
    own = start_server(at_once=1)
    desk = new_desk(own)
    url = f"/campaigns/{desk.campaign()}/reports"
    with own.client(desk.key).stream("GET", url) as answer:
        assert answer.status_code == 200
        with pytest.raises(httpx.HTTPError):
            check_progress(answer, own.client(desk.key))


def check_progress(answer, other):
    """Read a whole answer, once others are served."""
    assert in_time(lambda: other.get("/campaigns").status_code == 200)
    for _ in answer.iter_bytes():
        pass


def test_who_takes_an_answer_slowly_gets_all_of_it(start_server, monkeypatch):
    monkeypatch.setattr(stalling, "TAKING_SECONDS", PATIENCE)
    monkeypatch.setattr(ReportExport, "json_lines", lambda _: islice(endless(_), 300))
    own = start_server()
    desk = new_desk(own)
    url = f"/campaigns/{desk.campaign()}/reports"
    size = 0
    with own.client(desk.key).stream("GET", url) as answer:
        for block in answer.iter_bytes(3_000_000):
            size += len(block)
            time.sleep(PATIENCE / 4)
    assert size == 300 * 100_000


def test_a_connection_that_is_not_used_any_more_ends_with_what_was_not_taken():
    loop, transport = asyncio.new_event_loop(), Mock(is_closing=lambda: False)
    config = uvicorn.Config(lambda: None, log_config=None)
    kind = shedding_protocol(1, Arrivals())
    connection = kind(config=config, server_state=ServerState(), app_state={}, _loop=loop)
    connection.transport = transport
    connection.timeout_keep_alive_handler()
    loop.close()
    transport.abort.assert_called_once_with()
