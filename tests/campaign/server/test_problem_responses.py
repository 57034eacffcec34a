import json

import pytest
from pydantic import ValidationError

from quietcrowd.campaign.protocol.problems import PROBLEMS, Problem, ProblemError
from quietcrowd.campaign.protocol.worker_documents import Upload
from quietcrowd.campaign.server.problem_responses import as_problem, as_response, documented

HASH = "0" * 64
ITEM = {"report_id": "0" * 32, "task_id": "0" * 32, "value": 1}
SECRET = "planted-secret"


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        ({}, "/config_hash", "missing"),
        ({"config_hash": SECRET}, "/config_hash", "string_pattern_mismatch"),
        ({"config_hash": HASH, SECRET: 1}, "", "extra_forbidden"),
        ({"config_hash": HASH, "reports": [{**ITEM, SECRET: 1}]}, "/reports/0", "extra_forbidden"),
        ({"config_hash": HASH, SECRET: 1, "a": 1, "b": 1, "c": 1}, "", "too_many_members"),
        ({"config_hash": HASH, "reports": [{**ITEM, "value": SECRET}]}, "/reports/0/value", "int"),
        ({"config_hash": HASH, "reports": [{**ITEM, "value": True}]}, "/reports/0/value", "int"),
        ({"config_hash": HASH, "reports": [{**ITEM, "value": 1.0}]}, "/reports/0/value", "int"),
        (
            {"config_hash": HASH, "reports": [{**ITEM, "value": 2**53}]},
            "/reports/0/value",
            "less_than_equal",
        ),
        ({"config_hash": HASH, "reports": SECRET}, "/reports", "list_type"),
        ({"config_hash": HASH, "reports": [ITEM] * 5_001}, "/reports", "too_long"),
        (
            {"config_hash": HASH, "sketch": {"report_id": "0" * 32, "numbers": [float("nan")]}},
            "/sketch/numbers/0",
            "",
        ),
    ],
)
def test_the_place_and_the_rule_are_told_and_never_what_was_sent(body, pointer, code):
    with pytest.raises(ValidationError) as caught:
        Upload.model_validate(body)
    problem = as_problem(
        [{**error, "loc": ("body", *error["loc"])} for error in caught.value.errors()]
    )
    assert problem.name == "validation"
    assert problem.errors[0].pointer.startswith(pointer)
    assert code in problem.errors[0].code
    assert SECRET not in repr(problem.errors)


@pytest.mark.parametrize(
    "body",
    [
        {"config_hash": HASH, **dict.fromkeys(map(str, range(10_000)), 0)},
        {"config_hash": HASH, "reports": [dict.fromkeys("abcdefghij", 0)] * 5_000},
        {"config_hash": HASH, "reports": [{"a": 0, "b": 0}] * 5_000},
        {"config_hash": HASH, "reports": [{}] * 100_000},
        {"config_hash": HASH, "sketch": {"report_id": "0" * 32, "numbers": [SECRET] * 20_000}},
        {"config_hash": HASH, "sketch": dict.fromkeys(map(str, range(10_000)), 0)},
    ],
)
def test_a_request_full_of_errors_is_refused_at_the_first_ones(body):
    with pytest.raises(ValidationError) as caught:
        Upload.model_validate(body)
    assert caught.value.error_count() < 10
    assert SECRET not in repr(as_problem(caught.value.errors()).errors)


def test_what_is_no_json_is_malformed():
    error = {"type": "json_invalid", "loc": ("body", 3), "msg": SECRET}
    assert as_problem([error]).name == "malformed"


def test_not_more_errors_are_told_than_somebody_reads():
    error = {"type": "missing", "loc": ("body", "a"), "msg": "Field required"}
    assert len(as_problem([error] * 500).errors) == 20


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
