"""A database and devices of an earlier version go on where they were."""

import copy
import json
import re

import pytest
from tests.compatibility.campaigns import REMOVED, use
from tests.compatibility.files import read_json
from tests.compatibility.spelling import difference
from tests.compatibility.write import WRITTEN
from tests.removed_mechanism import SENTENCE

pytestmark = pytest.mark.slow

FOLDER = WRITTEN / "campaigns"


SINCE = {
    **{"requester": "", "contact": "", "purpose": "", "retention_days": None, "at_least": 1},
    **{"completion_code": None, "closes_on": None, "as_of": None},
}
"""What documents of campaigns hold since, at their ends: older ones promised nothing, and gave all
tasks to everybody.
"""


STUDIO = re.compile(r'"goal":.*?"mechanism_name":null,"why":"[^"]*",')
"""What documents of campaigns also hold since, before the mechanism."""


ROUNDS = '"menu":null,"expected":null,"rounds":null,"losses":null,"shown_round":null,'
"""What they also hold since, after it, in campaigns without a menu and rounds."""


DECIDED = re.compile(r'"decided": \w+, |(?<=,)(?:decided|True|False),(?=\w+,\w+\r?$)', re.MULTILINE)
"""Whether truths are decided, next to their confidence."""


NAMED = re.compile(r', "mechanism": "qc-\w{16}"|,(?:mechanism|qc-\w{16})(?=\r?$)', re.MULTILINE)
"""Names of mechanisms in rows of reports."""


def as_then(name, answer):
    """Return an answer without what was added to it since."""
    if "/truths." in name:
        return {**answer, "text": DECIDED.sub("", answer["text"])}
    if "/reports." in name:
        return {**answer, "text": NAMED.sub("", answer["text"])}
    if answer["status"] != 200 or not name.endswith(("/document", "/public")):
        return answer
    document = name.endswith("/document")
    if document:
        text = STUDIO.sub("", answer["text"], count=1)
        assert ROUNDS in text
        answer = {**answer, "text": text.replace(ROUNDS, "")}
    since = {**SINCE, "allotment": None, "drafts": None} if document else {"closes_on": None}
    ending = f",{json.dumps(since, separators=(',', ':'))[1:]}"
    assert answer["text"].endswith(ending)
    return {**answer, "text": answer["text"].removesuffix(ending) + "}"}


def receipts_in(value):
    """Yield all receipts, which say a campaign's completion code since."""
    if isinstance(value, dict):
        if isinstance(value.get("receipt"), dict):
            yield value["receipt"]
        for part in value.values():
            yield from receipts_in(part)


@pytest.fixture(scope="module")
def found():
    """Return what a server says, once it has found the results of one campaign again."""
    return use(FOLDER, forget=["coins", REMOVED])


def without_words(answer):
    """Return an answer of the server; of a problem only what programs read."""
    if answer["status"] < 400:
        return answer
    problem = json.loads(answer["text"])
    return {**answer, "text": {name: problem[name] for name in ("type", "status")}}


@pytest.mark.nightly
def test_a_server_tells_the_same_of_a_database(found):
    kept = read_json(FOLDER / "observed.json.gz")
    assert sum(one["status"] == 200 for one in kept.values()) == 50
    now = {
        name: as_then(name, one)
        for name, one in found["observed"].items()
        if not name.startswith(f"{REMOVED}/")
    }
    inferred = {name for name in kept if name.startswith(("coins/truths", "coins/document"))}
    then, now = (
        {name: without_words(one) for name, one in what.items() if name not in inferred}
        for what in (kept, now)
    )
    assert difference(then, now, exact=True) is None


def test_results_are_the_same_as_they_were_kept_and_as_they_are_inferred_again(found):
    """But for a warning of a worker who gave as much as all others, and for the words of warnings.

    Nobody gave as much as all others, now.

    What is inferred again says that nobody is excluded, and warns of invented workers.
    """
    kept = read_json(FOLDER / "results.json.gz")
    again = found["results"]["coins"]
    assert again.pop("excluded") == []
    assert again.pop("again") == 0
    assert again.pop("no_estimates") is None
    assert again["warnings"].pop(0)["code"] == "open-to-all"
    warned = kept["coins"]["warnings"]  # inferred again
    kept["coins"]["warnings"] = [one for one in warned if one["code"] != "dominant-worker"]
    assert len(kept["coins"]["warnings"]) == len(warned) - 1
    for one in (*kept["coins"]["warnings"], *again["warnings"]):
        assert one.pop("message")
    now = {name: one for name, one in found["results"].items() if name != REMOVED}
    for one in now.values():
        least = one.pop("decided_from")
        for row in one["truths"]:
            assert row.pop("decided", True) == ((row.get("confidence", 1) or 0) >= least)
    assert difference(kept, now, exact=False) is None


def test_a_campaign_of_a_removed_mechanism_says_so_and_keeps_its_documents(found):
    answers = {
        name.partition("/")[2]: one
        for name, one in found["observed"].items()
        if name.startswith(f"{REMOVED}/")
    }
    refused = {name for name in answers if name.startswith("reports")}
    assert len(refused) == 3
    for name, answer in answers.items():
        assert answer["status"] == (409 if name in refused else 200), (name, answer)
    for name in refused:
        problem = json.loads(answers[name]["text"])
        assert problem["type"] == "urn:quietcrowd:problem:mechanism-removed"
        assert SENTENCE in problem["detail"]
    [warning] = found["results"][REMOVED]["warnings"]
    assert warning["code"] == "failed"
    assert SENTENCE in warning["message"]


def test_devices_go_on(found):
    """What was sent stays sent, what was lost is sent byte by byte, a memo still fixes noise."""
    kept = read_json(FOLDER / "continued.json.gz")
    now = copy.deepcopy(found["continued"])
    receipts = list(receipts_in(now))
    assert receipts
    assert {one.pop("completion_code") for one in receipts} == {None}
    assert difference(kept, now, exact=False) is None
