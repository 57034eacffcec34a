import json

import pytest

from quietcrowd.campaign.protocol.problems import (
    PROBLEMS,
    Problem,
    ProblemError,
    as_response,
    broken_rule,
    documented,
)


@pytest.mark.parametrize("name", PROBLEMS)
def test_every_problem_is_a_document(name):
    error = ProblemError(
        name, "Do this.", errors=[Problem(pointer="/a", code="missing", message="It is missing.")]
    )
    response = as_response(error)
    document = json.loads(response.body)
    assert response.status_code == document["status"] == PROBLEMS[name][0]
    assert response.media_type == "application/problem+json"
    assert document["type"] == f"urn:quietcrowd:problem:{name}"
    assert document["errors"] == [{"pointer": "/a", "code": "missing", "message": "It is missing."}]
    assert ("retry-after" in response.headers) == (response.status_code in (429, 503))
    assert ("www-authenticate" in response.headers) == (response.status_code == 401)


def test_statuses_of_a_route_are_documented_with_the_names_of_problems():
    told = documented("full", "bad-state", "not-found")
    assert {400, 404, 408, 409, 413, 422, 429, 503} == told.keys()
    assert "`full`" in told[409]["description"]
    assert "`bad-state`" in told[409]["description"]
    assert list(told[409]["content"]) == ["application/problem+json"]


def test_a_broken_rule_is_told_with_its_place():
    error = broken_rule("/a", "missing", "It is missing.")
    assert (error.name, error.status) == ("validation", 422)
    assert error.errors == (Problem(pointer="/a", code="missing", message="It is missing."),)
