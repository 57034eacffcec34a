import asyncio
import os
import socket
import subprocess
import sys
import threading
import time
from importlib import metadata
from itertools import islice
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
import uvicorn
from tests.campaign.people import new_desk
from tests.campaign.raw_http import answer
from tests.campaign.waiting import in_time
from tests.nightly import nightly
from uvicorn.server import ServerState

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.results.exports import ReportExport
from quietcrowd.campaign.server.connection_limits import OpenConnections
from quietcrowd.campaign.server.connections import is_whole_post, shedding_protocol
from quietcrowd.campaign.server.door import Door
from quietcrowd.campaign.server.incoming import IncomingBodies
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.sources import Sources
from quietcrowd.campaign.server.turning_away import TurningAway

PATIENCE = 0.5

REQUEST = b"GET /api/v1/healthz HTTP/1.1\r\nHost: here\r\n\r\n"

HEAD = b"POST /api/v1/me/reports HTTP/1.1\r\nHost: here\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"


@pytest.fixture
def connection(start_server):
    """Return a connection to a server that waits briefly for the head of a request."""
    own = start_server()
    own.app.state.door.incoming.patience = PATIENCE
    place = own.url.removeprefix("http://").split(":")
    with socket.create_connection(place, timeout=20) as opened:
        yield opened


@pytest.mark.parametrize(
    "begun", [b"", nightly(REQUEST[:1]), nightly(REQUEST[:-1]), REQUEST[:-2] + b"X: 1\r\n"]
)
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
    for _ in range(2):
        assert answer(connection, REQUEST)[0] == 200
        time.sleep(1.5 * PATIENCE)


def test_an_answer_may_take_its_time(connection, monkeypatch):
    def wait(*_, **__):
        time.sleep(1.5 * PATIENCE)
        raise ProblemError("not-found", "after a while")

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    slow = REQUEST.replace(b"healthz", b"public/campaigns/" + b"0" * 32)
    assert answer(connection, slow)[0] == 404


def endless(_):
    while True:
        yield "x" * 100_000


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
    own = start_server(taking_seconds=PATIENCE)
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
    limits = RateLimits(rate=0, burst=1)
    door = Door(
        at_once=1,
        connections=OpenConnections(most=1, each=1, limits=limits, sources=Sources()),
        incoming=IncomingBodies(),
        turning_away=TurningAway(),
    )
    kind = shedding_protocol(door)
    connection = kind(config=config, server_state=ServerState(), app_state={}, _loop=loop)
    connection.transport = transport
    connection.timeout_keep_alive_handler()
    loop.close()
    transport.abort.assert_called_once_with()


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
        assert gate.wait(30)

    monkeypatch.setattr("quietcrowd.campaign.server.api.participants.public_campaign", wait)
    own = start_server(at_once=1, taking_seconds=PATIENCE)
    desk = new_desk(own)
    held = threading.Thread(target=own.client().get, args=(f"/public/campaigns/{'0' * 32}",))
    held.start()
    assert arrived.wait(30)
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
    connection.settimeout(0.2)
    with pytest.raises(TimeoutError):
        assert connection.recv(1) == b"nothing"


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
    subprocess.run([sys.executable, *words], check=True)
    [version] = [found.version for found in metadata.distributions(path=[newest], name="uvicorn")]
    folder = Path(__file__).parent
    tests = [folder / f"test_{name}.py" for name in ("connections", "gate", "app", "listening")]
    code = (
        "import sys, pytest, uvicorn\n"
        f"assert uvicorn.__version__ == {version!r}, uvicorn.__file__\n"
        "raise SystemExit(pytest.main(sys.argv[1:]))\n"
    )
    paths = os.pathsep.join([str(newest), *filter(None, sys.path)])
    tried = subprocess.run(
        [
            sys.executable,
            "-c",
            code,
            *tests,
            "-p",
            "no:cacheprovider",
            "-q",
            "-k",
            "not postgresql",
        ],
        env={**os.environ, "PYTHONPATH": paths},
        cwd=folder.parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert tried.returncode == 0, f"uvicorn {version}: {tried.stdout[-3_000:]}"
