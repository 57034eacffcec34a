import socket
import threading

import pytest
from tests.campaign.people import new_desk
from tests.campaign.raw_http import answer

from quietcrowd.campaign.server.shedding import is_whole_post
from quietcrowd.campaign.terms.tokens import new_token

HEAD = b"POST /api/v1/me/reports HTTP/1.1\r\nHost: here\r\n"
WHOLE = HEAD + b"Content-Length: 2\r\n\r\n{}"


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
    own = start_server(at_once=1)
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
    assert answer(connection, WHOLE)[0] == 503
    gate.set()
    while (status := answer(connection, WHOLE)[0]) == 503:
        pass
    assert status == 401
    credential = f"Authorization: Bearer {new_token('qcw_')}\r\n".encode()
    assert answer(connection, HEAD, credential + b"Content-Length: 2\r\n\r\n", b"{}")[0] == 422
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
