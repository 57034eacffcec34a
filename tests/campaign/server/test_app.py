import asyncio
import socket
import threading

import httpx
import pytest
from starlette.requests import Request
from tests.campaign.people import PLAIN
from tests.campaign.ports import has_ipv6
from tests.campaign.waiting import LONG

from quietcrowd.campaign.server.app import ApiDocument, serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import listener
from quietcrowd.exceptions import ParameterError


def settings(tmp_path, port=0):
    return Settings(database=f"sqlite:///{tmp_path}/q.db", port=port, infer=False)


@pytest.fixture(autouse=True)
def no_thread_is_left():
    before = set(threading.enumerate())
    yield
    left = set(threading.enumerate()) - before
    assert [thread.name for thread in left if "AnyIO" not in thread.name] == []


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("error", [None, KeyboardInterrupt])
def test_a_server_lasts_as_long_as_its_block(tmp_path, error):
    try:
        with serve_in_background(settings(tmp_path)) as server:
            assert httpx.get(f"{server.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).json() == {
                "status": "ok"
            }
            if error is not None:
                raise error
    except KeyboardInterrupt:
        assert error is KeyboardInterrupt
    with listener(settings(tmp_path, httpx.URL(server.url).port)):  # nobody is there any more
        pass
    with serve_in_background(settings(tmp_path)) as again:  # the file is free
        assert (
            httpx.get(f"{again.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).status_code == 200
        )


@pytest.mark.slow
def test_a_server_may_listen_on_ipv6(tmp_path):
    if not has_ipv6():
        pytest.skip("this machine has no IPv6")
    with serve_in_background(settings(tmp_path).model_copy(update={"host": "::1"})) as server:
        assert server.url.startswith("http://[::1]:")
        assert httpx.get(f"{server.url}/api/v1/readyz", verify=PLAIN, timeout=LONG).json() == {
            "status": "ok"
        }


def test_a_port_that_is_taken_is_one_sentence(tmp_path):
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with (
            pytest.raises(ParameterError, match=f"cannot listen on 127.0.0.1:{port}"),
            serve_in_background(settings(tmp_path, port)),
        ):
            pass


def ask(document, *tags):
    """Return the answers to requests that come at once, each with what is known, or None."""

    async def all_at_once():
        return await asyncio.gather(
            *(
                document.answer(Request({"type": "http", "headers": headers}))
                for headers in (
                    [] if tag is None else [(b"if-none-match", tag.encode())] for tag in tags
                )
            )
        )

    return asyncio.run(all_at_once())


class Application:
    rendered = 0

    def openapi(self):
        self.rendered += 1
        return {"openapi": "3.1.0", "paths": {"/ä": {}}}


def test_the_document_is_rendered_once():
    app = Application()
    first, second = ask(ApiDocument(app), None, None)
    assert app.rendered == 1
    assert first.body == second.body == '{"openapi":"3.1.0","paths":{"/ä":{}}}'.encode()


def test_who_has_the_document_is_not_sent_it_again():
    document = ApiDocument(Application())
    [first] = ask(document, None)
    tag = first.headers["etag"]
    for known in (tag, f'"other", W/{tag}', "*"):
        [again] = ask(document, known)
        assert (again.status_code, again.body, again.headers["etag"]) == (304, b"", tag)
    [changed] = ask(document, '"other"')
    assert (changed.status_code, changed.body) == (200, first.body)


def test_a_server_renders_its_document_once(start_server, monkeypatch):
    own = start_server()
    client = own.client()
    first = client.get("/openapi.json").raise_for_status()
    assert first.headers["content-type"] == "application/json"
    assert first.json() == own.app.openapi()
    monkeypatch.setattr(own.app, "openapi", lambda: pytest.fail("rendered again"))
    assert client.get("/openapi.json").content == first.content
    known = client.get("/openapi.json", headers={"If-None-Match": first.headers["etag"]})
    assert (known.status_code, known.content) == (304, b"")
