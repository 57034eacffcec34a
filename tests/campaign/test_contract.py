"""Requests that nobody would think of, made from the OpenAPI document."""

from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis import GenerationMode
from schemathesis.generation.stateful import run_state_machine_as_test
from tests.campaign.people import YES_NO, documented_paths, new_desk
from tests.campaign.pictures import PNG, hash_of
from tests.campaign.promises import PROMISES
from tests.campaign.waiting import LONG
from tests.nightly import nightly

import quietcrowd as qc

MECHANISM = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)

LIMITED = {
    "deadline": None,
    "derandomize": True,
    "suppress_health_check": list(HealthCheck),
    "phases": (Phase.explicit, Phase.generate),
}

CAMPAIGNS = "/api/v1/campaigns"

# What a document cannot say in a schema, as what a mechanism is, is refused with 409 or 422.
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = [
    "2xx", "401", "403", "404", "409", "412", "415", "422", "428"
]
"""


def new_cast(server):
    """Return a requester and a worker."""
    desk = new_desk(server)
    return desk, desk.worker(desk.campaign(join_mode="open", tasks=20, image=PNG))


@pytest.fixture(scope="module")
def cast(server):
    return new_cast(server)


@pytest.fixture(scope="module")
def schema(server):
    config = schemathesis.Config.from_str(CONFIG)
    return schemathesis.openapi.from_url(f"{server.url}/api/v1/openapi.json", config=config)


def headers(operation, cast):
    """Return what shows that a request may be made."""
    schemes = [name for one in operation.definition.raw.get("security", []) for name in one]
    desk, worker = cast
    if not schemes:
        return {}
    tokens = {
        "requesterKey": lambda: desk.key,
        "participantCredential": lambda: worker.credential,
        "dashboardCode": lambda: desk.code(worker.campaign),
    }
    return {"Authorization": f"Bearer {tokens[schemes[0]]()}"}


def make_sense(case, cast):
    """Put in what chance does not find: a mechanism, who asks, a hash, tasks, an image, a code's
    campaign, a draft with tasks."""
    if case.path.endswith("/open"):
        case.path_parameters["campaign"] = draft = cast[0].draft()["id"]
        cast[0].import_csv(draft, "a\n1\n").raise_for_status()
    if case.path.endswith("/dashboard-tokens"):
        case.path_parameters["campaign"] = cast[1].campaign
    if "sha256" in (case.path_parameters or {}):
        case.path_parameters["sha256"] = hash_of(PNG)
        if case.method == "PUT":
            case.body = PNG
    if isinstance(case.body, str):
        case.body, case.media_type = "a\n1\n2\n", "text/csv"
    if isinstance(case.body, dict) and (case.method, case.path) == ("POST", CAMPAIGNS):
        case.body |= {"mechanism": MECHANISM.to_dict(), "method": None}
        case.body |= {"domain": None, "total_epsilon": None}  # instead of a mechanism
        for name, value in case.body.items():
            if isinstance(value, float) and value.is_integer():  # a whole number by the schema
                case.body[name] = int(value)
        for name in ("requester", "contact", "purpose"):
            case.body[name] = case.body.get(name) or PROMISES[name]
    if isinstance(case.body, dict) and "config_hash" in case.body:
        case.body["config_hash"] = cast[1].config_hash


CASES = [
    (method.upper(), path, mode)
    for path, methods in documented_paths().items()
    for method, operation in methods.items()
    for mode in GenerationMode
    if mode.is_positive or operation.keys() & {"parameters", "requestBody", "security"}
]


@pytest.mark.grid
@pytest.mark.parametrize("examples", [3, nightly(10)])
@pytest.mark.parametrize(("method", "path", "mode"), CASES)
def test_every_answer_is_one_that_the_document_foresees(schema, cast, method, path, mode, examples):
    operation = schema[path][method]
    shown = headers(operation, cast)

    @settings(max_examples=examples, **LIMITED)
    @given(operation.as_strategy(generation_mode=mode))
    def check(case):
        if mode.is_positive:
            make_sense(case, cast)
        case.call_and_validate(headers=shown, timeout=LONG)

    check()


@pytest.mark.nightly
def test_so_is_every_answer_after_others(server, schema):
    seen = Counter()

    class Machine(schema.as_state_machine()):
        def setup(self):
            self.cast = new_cast(server)  # so that an earlier run does not show

        def before_call(self, case):
            if case.meta.generation.mode.is_positive:  # else what is wrong might be put right
                make_sense(case, self.cast)

        def get_call_kwargs(self, case):
            return {"headers": headers(case.operation, self.cast), "timeout": LONG}

        def after_call(self, response, case):
            seen[case.operation.label, response.status_code] += 1
            if case.operation.label == "POST /api/v1/campaigns" and response.status_code == 201:
                self.cast[0].import_csv(response.json()["id"], "a\n1\n")
            if case.operation.label == "DELETE /api/v1/keys/{key}" and response.status_code < 300:
                self.cast = new_cast(server)  # the requester may have revoked the own key

    run_state_machine_as_test(
        Machine, settings=settings(max_examples=150, stateful_step_count=8, **LIMITED)
    )
    assert seen["POST /api/v1/campaigns", 201]
    assert seen["POST /api/v1/campaigns/{campaign}/open", 200]
