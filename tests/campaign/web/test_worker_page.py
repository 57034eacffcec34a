import json
import re
from html.parser import HTMLParser

import pytest
from tests.nightly import nightly

from quietcrowd.campaign.web import worker_page
from quietcrowd.campaign.web.files import PageFile, policy_hash
from quietcrowd.campaign.web.worker_page import WORKER_FILES, WORKER_PAGE, WORKER_POLICY


class Scripts(HTMLParser):
    """All scripts of a page: attributes and content."""

    def __init__(self, text):
        super().__init__(convert_charrefs=False)
        self.found = []
        self.within = False
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.within = tag == "script"
        if self.within:
            self.found.append([dict(attrs), ""])

    def handle_endtag(self, tag):
        self.within &= tag != "script"

    def handle_data(self, data):
        if self.within:
            self.found[-1][1] += data


SCRIPTS = Scripts(WORKER_PAGE.text).found


def test_the_page_names_the_hash_of_every_module():
    [[_, content]] = [one for one in SCRIPTS if one[0].get("type") == "importmap"]
    modules = {path for path in WORKER_FILES if path.endswith(".js")}
    assert json.loads(content) == {
        "integrity": {f"../worker/{path}": WORKER_FILES[path].integrity for path in modules}
    }
    assert f"script-src 'self' {policy_hash(content)};" in WORKER_POLICY
    assert f'integrity="{WORKER_FILES["worker.css"].integrity}"' in WORKER_PAGE.text


def test_the_page_holds_the_messages_of_all_languages():
    held = {
        one["data-messages"]: json.loads(text)
        for one, text in SCRIPTS
        if len(one) == 2 and "data-messages" in one
    }
    assert held == {
        path[9:-5]: json.loads(file.text)
        for path, file in WORKER_FILES.items()
        if path.startswith("messages/")
    }
    assert {one["type"] for one, _ in SCRIPTS} == {"importmap", "module", "application/json"}


def test_messages_cannot_leave_their_block(monkeypatch):
    text = json.dumps({"a": "</script><script>b"})
    file = PageFile(content=text.encode(), media_type="application/json")
    monkeypatch.setattr(worker_page, "WORKER_FILES", {"messages/xx.json": file})
    [[attributes, content]] = Scripts(worker_page.messages_blocks()).found
    assert attributes == {"type": "application/json", "data-messages": "xx"}
    assert json.loads(content) == json.loads(text)


def test_nothing_stands_in_the_page_that_its_policy_forbids():
    assert not re.search(r"\{\{\w+\}\}", WORKER_PAGE.text)
    assert not re.search(r"<style| style=| on[a-z]+=|https?:", WORKER_PAGE.text)
    assert all("src" in one for one, _ in SCRIPTS if one["type"] == "module")


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize(
    "changed", [None, nightly("page/messages.js"), "page/main.js", nightly("worker.css")]
)
def test_a_changed_file_is_not_used(server, browser, changed):
    with browser.new_page() as page:
        told = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(error.message))
        if changed is not None:
            body = WORKER_FILES[changed].text + "\n"
            media = WORKER_FILES[changed].media_type
            page.route(f"**/{changed}", lambda route: route.fulfill(body=body, content_type=media))
        page.goto(f"{server.url}/j/{'0' * 32}", wait_until="networkidle")
        assert any("integrity" in text for text in told) == (changed is not None)
        if changed is None:
            assert [text for text in told if "Content Security Policy" in text] == []
        elif changed != "worker.css":
            assert "has not started" in page.text_content("main")
