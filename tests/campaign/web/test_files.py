import base64
import hashlib

import pytest

from quietcrowd.campaign.web.files import STUDIO, WORKER, fill, html_file, policy_hash


def test_files_of_a_page_lie_in_folders():
    assert {"index.html", "page/main.js", "messages/en.json", "worker.css"} <= WORKER.keys()
    assert list(WORKER) == sorted(WORKER)
    assert STUDIO["index.html"].media_type == "text/html; charset=utf-8"
    assert STUDIO["qr.js"] is WORKER["page/qr.js"]


def test_hashes_are_those_of_browsers():
    file = html_file("Ärger")
    digest = hashlib.sha384("Ärger".encode()).digest()
    assert file.text == "Ärger"
    assert file.integrity == f"sha384-{base64.b64encode(digest).decode()}"
    digest = hashlib.sha256("Ärger".encode()).digest()
    assert policy_hash("Ärger") == f"'sha256-{base64.b64encode(digest).decode()}'"


def test_a_template_is_filled_once_and_not_looked_through_again():
    assert fill("<b> and <a>!", {"<a>": "<b>", "<b>": "<a>"}) == "<a> and <b>!"
    assert fill("<a>", {"<a>": ""}) == ""


@pytest.mark.parametrize(("template", "count"), [("none", 0), ("<a><a>", 2)])
def test_every_place_is_there_once(template, count):
    with pytest.raises(ValueError, match=f"it occurs {count} times"):
        fill(template, {"<a>": "x"})
