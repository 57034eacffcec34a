import httpx
import pytest

from quietcrowd.campaign.terms.refusals import refusal


def test_a_problem_is_told_in_one_line():
    errors = [{"pointer": "/a", "message": "rule."}, {"pointer": "", "message": "other"}]
    problem = {"title": "No", "detail": "Not\r\nnow\x07."}
    assert refusal(httpx.Response(409, json=problem)) == "No; Not now\ufffd"
    broken = {**problem, "errors": errors}
    assert refusal(httpx.Response(422, json=broken)) == "/a rule; other"
    assert len(refusal(httpx.Response(409, json={**problem, "detail": 9_999 * "x"}))) == 600


@pytest.mark.parametrize("content", [b"", b"[]", b"{}", b'{"title": 1, "detail": 2}', b"\xff"])
def test_anything_else_is_told_by_its_status(content):
    assert refusal(httpx.Response(502, content=content)) == "status 502"
