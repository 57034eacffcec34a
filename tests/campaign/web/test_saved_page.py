import re
from collections import Counter

import pytest

from quietcrowd.campaign.web import saved_page as saving
from quietcrowd.campaign.web.files import SERVICE_WORKER, WORKER, PageFile, policy_hash
from quietcrowd.campaign.web.saved_page import joined_modules, modules_in_order, saved_page

NAME = re.compile(
    r"^(?:async )?(?:function\*?|class|const|let|var) +(?:(\w+)|[\[{]([^=]*)[\]}] =)", re.MULTILINE
)
SERVER = "https://crowd.example/below"


def top_level_names(text):
    for name, several in NAME.findall(text):
        yield from (name,) if name else re.findall(r"(\w+)\s*(?:[,=]|$)", several)


def test_names_at_the_top_of_modules_are_unique():
    names = Counter(
        name
        for path, file in WORKER.items()
        if path.endswith(".js") and path != SERVICE_WORKER
        for name in top_level_names(re.sub(r"^export ", "", file.text, flags=re.MULTILINE))
    )
    assert [name for name, count in names.items() if count > 1] == []
    assert {"speaker", "draw", "CHANNELS"} <= names.keys()


def test_modules_follow_what_they_import():
    order = modules_in_order("channels/index.js")
    assert order[-1] == "channels/index.js"
    assert order.index("channels/random.js") < order.index("channels/table.js")
    assert len(set(order)) == len(order)


def test_modules_import_what_there_is_and_not_each_other(monkeypatch):
    files = {
        name: PageFile(content=text, media_type="text/javascript")
        for name, text in (
            ("a.js", b'import { b } from "./b.js";\n'),
            ("b.js", b'import { a } from "./a.js";\n'),
        )
    }
    monkeypatch.setattr(saving, "WORKER_FILES", files)
    with pytest.raises(ValueError, match=r"b\.js imports a\.js, which imports it"):
        modules_in_order("a.js")
    del files["b.js"]
    with pytest.raises(ValueError, match=r"a\.js imports b\.js, which is not there"):
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
    assert set(re.findall(r"https?://[^\s\"]*", text)) == {SERVER, f"{SERVER}/;"}


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
