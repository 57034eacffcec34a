import asyncio

import pytest
from starlette.requests import Request

from quietcrowd.campaign.server.api_document import ApiDocument


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
