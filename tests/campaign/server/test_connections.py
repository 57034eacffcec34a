import asyncio
import os
import socket
import sys
import threading
from importlib import metadata
from itertools import islice
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
import uvicorn
from tests.campaign.people import new_desk
from tests.campaign.raw_http import answer
from tests.campaign.waiting import LONG, in_time
from tests.nightly import nightly
from tests.programs import finished
from uvicorn.server import ServerState

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.server import start
from quietcrowd.campaign.server.connections import (
    SharedState,
    is_whole_post,
    make_shared_state,
    shedding_protocol,
)
from quietcrowd.campaign.server.incoming import IncomingBodies, TurningAway
from quietcrowd.campaign.server.limits import OpenConnections, RateLimits, Sources
from quietcrowd.campaign.server.metrics.counters import Tally
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.terms.settings import TAKING_SECONDS
from quietcrowd.exceptions import ParameterError

PATIENCE = 0.5

REQUEST = b"GET /api/v1/healthz HTTP/1.1\r\nHost: here\r\n\r\n"

HEAD = b"POST /api/v1/me/reports HTTP/1.1\r\nHost: here\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture
def connection(start_server):
    """Return a connection to a server that waits briefly for the head of a request."""
    own = start_server()
    own.app.state.shared.incoming.patience = PATIENCE
    with connected(own) as opened:
        yield opened


def connected(own):
    place = own.url.removeprefix("http://").split(":")
    return socket.create_connection(place, timeout=LONG)


@pytest.fixture
def known(start_server):
    """Return a connection that has served, to a server that waits for no later head at all."""
    own = start_server()
    with connected(own) as opened:
        assert answer(opened, REQUEST)[0] == 200
        own.app.state.shared.incoming.patience = 0.0
        yield opened, own.app.state.shared


@pytest.mark.grid
@pytest.mark.parametrize(
    "begun", [b"", nightly(REQUEST[:1]), nightly(REQUEST[:-1]), REQUEST[:-2] + b"X: 1\r\n"]
)
def test_a_head_that_is_never_whole_ends_the_connection(connection, begun):
    connection.sendall(begun)
    assert connection.recv(1) == b""


def test_so_does_that_of_a_later_request(known):
    opened, _ = known
    opened.sendall(REQUEST[:5])
    assert opened.recv(1) == b""


def test_bytes_that_trickle_in_win_no_time(connection):
    def is_cut():
        try:
            connection.sendall(REQUEST[:1])
        except ConnectionError:
            return True
        return False

    assert in_time(is_cut)


def test_between_two_requests_there_is_time(known):
    for _ in range(3):  # the loop of the server turns, and ends what is due by now
        assert answer(known[0], REQUEST)[0] == 200


def test_an_answer_may_take_its_time(known, monkeypatch):
    opened, shared = known

    def ask_meanwhile(*_, **__):
        shared.incoming.patience = LONG  # for others
        with socket.create_connection(opened.getpeername(), timeout=LONG) as other:
            assert answer(other, REQUEST)[0] == 200
        raise ProblemError("not-found", "after a while")

    path = "quietcrowd.campaign.server.api.participants.public_campaign"
    monkeypatch.setattr(path, ask_meanwhile)
    slow = REQUEST.replace(b"healthz", b"public/campaigns/" + b"0" * 32)
    assert answer(opened, slow)[0] == 404


def endless(_):
    while True:
        yield "x" * 100_000


@pytest.mark.nightly
def test_who_takes_nothing_of_an_answer_is_cut_off(start_server, monkeypatch):
    monkeypatch.setattr(ReportExport, "json_lines", endless)
    own = start_server(at_once=1, taking_seconds=PATIENCE)
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
    monkeypatch.setattr(ReportExport, "json_lines", lambda _: islice(endless(_), 300))
    own = start_server()
    desk = new_desk(own)
    with own.client(desk.key).stream("GET", f"/campaigns/{desk.campaign()}/reports") as answer:
        assert sum(map(len, answer.iter_bytes())) == 300 * 100_000


def connection_of(loop, transport):
    """Return a connection of an event loop."""
    config = uvicorn.Config(lambda: None, log_config=None)
    limits = RateLimits(rate=0, burst=1)
    shared = SharedState(
        at_once=1,
        connections=OpenConnections(most=1, each=1, limits=limits, sources=Sources()),
        incoming=IncomingBodies(),
        turning_away=TurningAway(),
    )
    kind = shedding_protocol(shared)
    connection = kind(config=config, server_state=ServerState(), app_state={}, _loop=loop)
    connection.transport = transport
    return connection


def test_a_connection_that_is_not_used_any_more_ends_with_what_was_not_taken():
    loop, transport = asyncio.new_event_loop(), Mock(is_closing=lambda: False)
    connection_of(loop, transport).timeout_keep_alive_handler()
    loop.close()
    transport.abort.assert_called_once_with()


def test_each_piece_of_an_answer_may_be_taken_in_a_time_of_its_own():
    loop = Mock()
    connection = connection_of(loop, Mock())
    connection.flow = Mock()
    for pieces in (1, 2):
        connection.pause_writing()
        connection.pause_writing()  # it waits already
        assert loop.call_later.call_count == pieces
        loop.call_later.assert_called_with(TAKING_SECONDS, connection.transport.abort)
        assert loop.call_later.return_value.cancel.call_count == pieces - 1
        connection.resume_writing()
        assert loop.call_later.return_value.cancel.call_count == pieces


@pytest.mark.parametrize(
    ("data", "whole"),
    [
        (WHOLE, True),
        (HEAD + b"content-length:0\r\n\r\n", True),
        (HEAD + b"Connection: keep-alive\r\nContent-Length: 2\r\n\r\n{}", True),
        (WHOLE[:-1], False),
        (WHOLE + b"P", False),
        (WHOLE + WHOLE, False),
        (WHOLE.replace(b"POST", b"GET"), False),
        (WHOLE.replace(b"1.1", b"1.0"), False),
        (HEAD + b"\r\n", False),
        (HEAD[:-2], False),
        (HEAD + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}", False),
        (HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}", False),
        (HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", False),
        (HEAD + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n{}", False),
    ],
)
def test_only_what_is_surely_one_request_is_refused_unread(data, whole):
    assert is_whole_post(data) is whole


@pytest.fixture
def busy(start_server, monkeypatch):
    """Give a connection to a server that works on all that it may, and a way to end that."""
    arrived, gate = threading.Event(), threading.Event()

    def wait(*_, **__):
        arrived.set()
        assert gate.wait(LONG)

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    own = start_server(at_once=1, taking_seconds=PATIENCE)
    desk = new_desk(own)
    held = threading.Thread(target=own.client().get, args=(f"/public/campaigns/{'0' * 32}",))
    held.start()
    assert arrived.wait(LONG)
    with socket.create_connection(own.url.removeprefix("http://").split(":")) as connection:
        yield desk, connection, gate
    gate.set()
    held.join()


def test_a_refusal_at_the_door_is_the_one_that_the_application_gives(busy):
    _, connection, gate = busy
    refused = [answer(connection, WHOLE) for _ in range(3)]
    status, headers, body = answer(
        connection, WHOLE.replace(b"HTTP/1.1\r\n", b"HTTP/1.1\r\nExpect: \r\n")
    )
    assert status == 503
    headers.pop(b"date", None)
    assert refused == [(status, headers, body)] * 3
    assert headers[b"retry-after"] == b"1"
    gate.set()


def test_a_connection_on_which_was_refused_serves_again(busy):
    desk, connection, gate = busy
    key = f"POST /api/v1/campaigns HTTP/1.1\r\nHost: here\r\nAuthorization: Bearer {desk.key}\r\n"
    request = key.encode() + b"Content-Length: 2\r\n\r\n{}"
    assert answer(connection, request)[0] == 503
    gate.set()
    while (status := answer(connection, request)[0]) == 503:
        pass
    assert status == 422
    assert desk.client.get("/campaigns").status_code == 200


def test_what_comes_in_pieces_is_never_taken_for_what_it_is_not(busy):
    _, connection, gate = busy
    head = HEAD + b"Content-Length: %d\r\n\r\n" % len(WHOLE)
    assert answer(connection, head)[0] == 503  # refused before the body has come
    connection.sendall(WHOLE)  # the body: it looks like a request, and is none
    gate.set()
    while (status := answer(connection, REQUEST)[0]) == 503:
        pass
    assert status == 200


CHUNKED = HEAD + b"Transfer-Encoding: chunked\r\n\r\n"


@pytest.mark.parametrize(
    "data", [b"secret\r\n\r\n", HEAD + b"secret\r\n\r\n", CHUNKED + b"secret\r\n"]
)
def test_what_is_no_http_is_a_problem(server, data):
    with socket.create_connection(server.url.removeprefix("http://").split(":")) as connection:
        status, headers, body = answer(connection, data)
        assert connection.recv(1) == b""
    assert status == 400
    assert headers[b"content-type"] == b"application/problem+json"
    assert headers[b"connection"] == b"close"
    assert headers[b"cache-control"] == b"no-store"
    assert b"urn:quietcrowd:problem:malformed" in body
    assert b"secret" not in body


@pytest.mark.nightly
def test_all_of_this_holds_with_the_newest_uvicorn(tmp_path):
    """What is built on here uvicorn does not promise: another one is tried before it is used."""
    newest = tmp_path / "newest"
    words = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", newest, "uvicorn", "h11"]
    finished(sys.executable, *words, check=True)
    [version] = [found.version for found in metadata.distributions(path=[newest], name="uvicorn")]
    folder = Path(__file__).parent
    tests = [folder / f"test_{name}.py" for name in ("connections", "admission", "app", "start")]
    code = (
        "import sys, pytest, uvicorn\n"
        f"assert uvicorn.__version__ == {version!r}, uvicorn.__file__\n"
        "raise SystemExit(pytest.main(sys.argv[1:]))\n"
    )
    paths = os.pathsep.join([str(newest), *filter(None, sys.path)])
    words = ("-p", "no:cacheprovider", "-q", "-k", "not postgresql")
    environment = {**os.environ, "PYTHONPATH": paths}
    place = folder.parents[2]
    status, output, _ = finished(
        sys.executable, "-c", code, *tests, *words, env=environment, cwd=place
    )
    assert status == 0, f"uvicorn {version}: {output[-3_000:]}"


@pytest.fixture
def opened(tmp_path, monkeypatch):
    """Return a way to make the shared state of a server that may have 1,024 files open."""
    monkeypatch.setattr(start, "file_limit", lambda: 1_024)
    database = Database.open(f"sqlite:///{tmp_path}/q.db")
    yield lambda **changed: make_shared_state(Settings(**changed), database, Tally())
    database.close()


def test_a_source_has_a_quarter_of_what_files_allow(opened):
    usual = opened().connections
    assert 700 < usual.most < 1_000
    assert usual.each == usual.most // 4


def test_settings_say_how_many_there_are(opened):
    own = opened(connections=50, connections_each=7).connections
    assert (own.most, own.each) == (50, 7)
    assert opened(connections=1).connections.each == 1
    all_of_one = opened(connections_each=100_000).connections
    assert all_of_one.each == all_of_one.most
    with pytest.raises(ParameterError, match="Increase the limit"):
        opened(connections=1_000)


def test_sources_are_those_of_the_proxy(opened):
    connections = opened(trusted_proxy="192.0.2.1").connections
    assert connections.sources.of_connection("192.0.2.1") is None


def test_what_is_coming_in_or_turned_away_is_not_worked_on(opened):
    shared = opened(at_once=2)
    assert [shared.is_full(requests) for requests in (1, 2)] == [False, True]
    shared.incoming.waiting += 1
    shared.turning_away.held += 1
    assert [shared.is_full(requests) for requests in (3, 4)] == [False, True]
