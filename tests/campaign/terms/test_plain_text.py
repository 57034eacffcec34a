import httpx
import pytest

from quietcrowd.campaign.terms.plain_text import one_line, printable, refusal


@pytest.mark.parametrize("text", ["Is it red?", "Ist es grün?\n\tja", "می‌خواهم", "👩‍👩‍👧"])
def test_words_stay_as_they_are(text):
    assert printable(text) == text


@pytest.mark.parametrize("text", ["\x1b[2J", "\r", "\x7f", "\x9b", "\u202e", "\ud800", "\b"])
def test_what_moves_a_terminal_does_not(text):
    assert printable(f"a{text}b") == f"a{text.replace(text[0], chr(0xFFFD), 1)}b"


def test_one_line():
    assert one_line(" a\r\n b\tc ") == "a b c"


def test_a_problem_is_told_in_one_line():
    errors = [{"pointer": "/a", "message": "rule."}, {"pointer": "", "message": "other"}]
    problem = {"title": "No", "detail": "Not\r\nnow\x07."}
    assert refusal(httpx.Response(409, json=problem)) == "No. Not now\ufffd"
    broken = {**problem, "errors": errors}
    assert refusal(httpx.Response(422, json=broken)) == "/a rule; other"
    assert len(refusal(httpx.Response(409, json={**problem, "detail": 9_999 * "x"}))) == 600


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"title": 1, "detail": 2}', b"\xff"])
def test_anything_else_is_told_by_its_status(content):
    assert refusal(httpx.Response(502, content=content)) == "status 502"
