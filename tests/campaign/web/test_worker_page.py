import base64
import gzip
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest
from tests.nightly import nightly

import quietcrowd
from quietcrowd.campaign.web import worker_page
from quietcrowd.campaign.web.files import WORKER, PageFile, policy_hash
from quietcrowd.campaign.web.worker_page import (
    MANIFEST,
    SAVED_TEMPLATE,
    SERVED,
    WORKER_FILES,
    WORKER_PAGE,
    WORKER_POLICY,
    joined_modules,
    modules_in_order,
    saved_page,
)


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


def test_the_page_names_the_hash_of_what_it_loads():
    [[attributes, _]] = [one for one in SCRIPTS if one[0]["type"] == "module"]
    assert attributes == {
        "type": "module",
        "src": "../worker/page.js",
        "integrity": hashed(joined_modules().encode()),
    }
    assert "script-src 'self';" in WORKER_POLICY
    assert f'integrity="{hashed(WORKER["worker.css"].content)}"' in WORKER_PAGE.text


def test_the_page_holds_the_messages_of_all_languages():
    held = {
        one["data-messages"]: json.loads(text)
        for one, text in SCRIPTS
        if len(one) == 2 and "data-messages" in one
    }
    assert held == {
        path[9:-5]: json.loads(file.text)
        for path, file in WORKER.items()
        if path.startswith("messages/")
    }
    assert {one["type"] for one, _ in SCRIPTS} == {"module", "application/json"}


def test_messages_cannot_leave_their_block(monkeypatch):
    text = json.dumps({"a": "</script><script>b"})
    file = PageFile(content=text.encode(), media_type="application/json")
    monkeypatch.setattr(worker_page, "WORKER", {"messages/xx.json": file})
    [[attributes, content]] = Scripts(worker_page.messages_blocks()).found
    assert attributes == {"type": "application/json", "data-messages": "xx"}
    assert json.loads(content) == json.loads(text)


def test_nothing_stands_in_the_page_that_its_policy_forbids():
    assert not re.search(r"\{\{\w+\}\}", WORKER_PAGE.text)
    assert not re.search(r"<style| style=| on[a-z]+=|https?:", WORKER_PAGE.text)
    assert all("src" in one for one, _ in SCRIPTS if one["type"] == "module")


@pytest.mark.nightly
@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("changed", [None, "page.js", nightly("worker.css")])
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


SERVER = "https://crowd.example/below"


def module(text):
    return PageFile(content=text.encode(), media_type="text/javascript")


@pytest.mark.parametrize(
    "declared",
    [
        *("function twice() {}", "export async function twice() {}", "class twice {}"),
        *("let twice;", "export const twice = 1;", "const [once, twice] = [1, 2];"),
    ],
)
def test_a_name_that_two_modules_declare_is_reported_with_both(monkeypatch, declared):
    files = {
        "a.js": module('import { one } from "./b.js";\nconst twice = one;\n'),
        "b.js": module(f"export const one = 1;\n{declared}\n"),
    }
    monkeypatch.setattr(worker_page, "WORKER", files)
    with pytest.raises(ValueError, match=r"^b\.js and a\.js both declare twice$"):
        joined_modules("a.js")


@pytest.mark.parametrize("names", ["{ other }", "{ one as other }", "{ hidden }", "one"])
def test_modules_import_what_is_exported_and_under_its_name(monkeypatch, names):
    files = {
        "a.js": module(f'import {names} from "./{"data.json" if names == "one" else "b.js"}";\n'),
        "b.js": module("export const one = 1;\nconst hidden = 2;\n"),
        "data.json": module("{}"),
    }
    monkeypatch.setattr(worker_page, "WORKER", files)
    with pytest.raises(ValueError, match=r"a\.js imports \w+, which [\w.]+ does not export"):
        joined_modules("a.js")


def test_data_are_declared_by_the_name_of_their_file(monkeypatch):
    text = 'import data from "./data.json" with { type: "json" };\nconst { one } = data;\n'
    monkeypatch.setattr(worker_page, "WORKER", {"a.js": module(text), "data.json": module("{}\n")})
    assert joined_modules("a.js").split("\n") == [
        *("", "// data.json", "", "const data = {};"),
        *("", "// a.js", "", "const { one } = data;", ""),
    ]


def test_modules_follow_what_they_import():
    order = modules_in_order("channels/index.js")
    assert order[-1] == "channels/index.js"
    assert order.index("channels/random.js") < order.index("channels/table.js")
    assert len(set(order)) == len(order)


def test_modules_import_what_there_is_and_not_each_other(monkeypatch):
    files = {
        "a.js": module('import { b } from "./b.js";\nexport const a = b;\n'),
        "b.js": module('import { a } from "./a.js";\nexport const b = a;\n'),
    }
    monkeypatch.setattr(worker_page, "WORKER", files)
    with pytest.raises(ValueError, match=r"b\.js imports a\.js, which imports it"):
        modules_in_order("a.js")
    del files["b.js"]
    with pytest.raises(ValueError, match=r"a\.js imports b\.js, which is missing"):
        modules_in_order("a.js")


def test_modules_are_joined_without_the_words_that_join_them():
    text = joined_modules()
    assert not re.search(r"^(?:import|export)\b", text, re.MULTILINE)
    assert not re.search(r"\bimport(?:\.meta|\()", text)


@pytest.mark.parametrize("path", [path for path in WORKER if path.endswith((".js", ".css"))])
def test_no_file_ends_the_element_that_it_is_put_into(path):
    assert not re.search(r"</(?:script|style)|<!--|\r", WORKER[path].text, re.IGNORECASE)


def test_the_saved_page_is_one_file_that_speaks_to_one_server():
    text = saved_page(SERVER).text
    assert f'<html lang="en" data-server="{SERVER}">' in text
    [policy] = re.findall(r'http-equiv="Content-Security-Policy" content="([^"]*)"', text)
    [script] = re.findall(r'<script type="module">(.*?)</script>', text, re.DOTALL)
    [style] = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert f"connect-src {SERVER}/;" in policy
    assert f"script-src {policy_hash(script)};" in policy
    assert f"style-src {policy_hash(style)};" in policy
    assert text.index("Content-Security-Policy") < text.index("<style>")
    assert not re.search(r"\{\{\w+\}\}|importmap|<link rel=\"stylesheet\"|\ssrc=", text)
    spelled = {SERVER, f"{SERVER}/;", "http://www.w3.org/2000/svg"}
    assert set(re.findall(r"https?://[^\s\"]*", text)) == spelled


@pytest.mark.nightly
@pytest.mark.slow
def test_the_saved_page_starts_from_a_file(browser, tmp_path):
    file = tmp_path / "quietcrowd.html"
    file.write_bytes(saved_page("http://127.0.0.1:9").content)
    with browser.new_page() as page:
        told = []
        page.on("console", lambda message: told.append(message.text))
        page.on("pageerror", lambda error: told.append(error.message))
        page.goto(file.as_uri(), wait_until="networkidle")
        wrong = [text for text in told if re.search("SyntaxError|Reference|security", text, re.I)]
        assert wrong == []
        assert page.evaluate("document.styleSheets.length") == 1


MOST_COMPRESSED = 90_000
"""Bytes of all modules of the page, as they are sent."""


def hashed(content):
    return f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}"


def test_the_manifest_names_the_hash_of_all_that_is_served():
    assert json.loads(MANIFEST.text) == {
        "version": quietcrowd.__version__,
        "files": {path: hashed(file.content) for path, file in SERVED.items()},
        "page": hashed(WORKER_PAGE.content),
        "saved_page": hashed(SAVED_TEMPLATE.content),
    }


def test_the_modules_are_small():
    assert len(gzip.compress(WORKER_FILES["page.js"].content)) <= MOST_COMPRESSED
