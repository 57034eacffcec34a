"""Channel documents: the page and Python read the same ones, and refuse the same ones."""

import copy
import json
import math
import re
from pathlib import Path

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.web.browser import serve
from tests.campaign.web.screen_pages import unfold
from tests.campaign.web.terms_vectors import more_mechanisms
from tests.campaign.web.test_worker import CALL, WORKER
from tests.campaign.web.write_vectors import FOLDER

import quietcrowd as qc
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.mechanisms import mechanism as registry
from quietcrowd.mechanisms.channels import KINDS, read_channel
from quietcrowd.mechanisms.randomized_response import RandomizedAmong

LEVELS = qc.Ordinal([0, 1, 2.5, 7, 10])
CASES = {
    **{name: one for name, one in MECHANISMS.items() if not name.endswith("ridge")},
    "a beta distribution": TwoLayerRandomizedResponse(
        domain=LEVELS, distribution="beta", low=0.1, high=0.4, alpha=3, beta=2
    ),
    "drawn epsilons": TwoLayerRandomizedResponse(
        domain=LEVELS, distribution="epsilon", epsilon=1.0, missing="category"
    ),
    "options per task": RandomizedAmong(domain=LEVELS, epsilon=1.0, counts=[2, 3]),
    "a number for no answer": qc.LaplaceMechanism(domain=LEVELS, epsilon=1.0, fill=2.5),
}
HOSTILE = [
    *(
        None,
        True,
        False,
        "",
        "x",
        "1",
        [],
        {},
        [[]],
        [1],
        {"kind": "table"},
        -1,
        0,
        1,
        2,
        0.5,
        -0.0,
    ),
    *(
        1e-300,
        1e300,
        2**31,
        2**32,
        2**32 + 1,
        2**53,
        10**22,
        10**400,
        math.nan,
        math.inf,
        -math.inf,
    ),
]


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve(page, {"": FOLDER.parent, "/worker": WORKER})
        yield page


def document_of(mechanism):
    """Return the channel document of a mechanism, as JSON has it."""
    return json.loads(canonical_json(mechanism.channel.describe()))


def text_of(document):
    """Return a document as a text; numbers beyond all floats are written out."""
    return json.dumps(document).replace("Infinity", "1e999")


def replaced(value):
    """Yield a JSON value with each member, at any depth, replaced, left out, added or repeated."""
    numbers = isinstance(value, int | float) and not isinstance(value, bool)
    near = (value + 1, value - 1, 2 * value, value / 2, -value, value + 0.5) if numbers else ()
    yield from (*HOSTILE, *near, [value], {"value": value}, str(value))
    if isinstance(value, dict):
        yield {**value, "more": 1}
        yield {**value, "": 1}
        for key, part in value.items():
            yield {name: one for name, one in value.items() if name != key}
            yield from ({**value, key: one} for one in replaced(part))
    if isinstance(value, list):
        yield [*value, *value[-1:]]
        yield value[:-1]
        yield value[::-1]
        for place, part in enumerate(value[:2]):
            yield from ([*value[:place], one, *value[place + 1 :]] for one in replaced(part))


def loss_here(text, domain):
    """Return the loss of one report by a document; None if Python refuses it."""
    try:
        channel = read_channel(json.loads(text), domain)
    except ParameterError:
        return None
    distribution = getattr(channel, "per_worker", None)
    assert read_channel(channel.describe(), domain) == channel
    return channel.epsilon if distribution is None else distribution.cell_epsilon(1)


def compare(page, pairs):
    """Compare what both say of texts about domains; return the losses."""
    here = [loss_here(text, domain) for text, domain in pairs]
    given = [[text, domain.to_dict()] for text, domain in pairs]
    there = page.evaluate(CALL, ["channelLosses", given])
    differing = [
        (text, one, other)
        for (text, _), one, other in zip(pairs, here, there, strict=True)
        if (one is None) != (other is None)
    ]
    assert differing == []
    for (text, _), one, other in zip(pairs, here, there, strict=True):
        assert one is None or other == pytest.approx(one, rel=1e-12, abs=2e-14), text
    return here


@pytest.mark.slow
def test_every_kind_of_channel_is_tried():
    assert {document_of(one)["kind"] for one in CASES.values()} == KINDS.keys()
    shared = [document_of(one).get("per_worker", {}).get("kind") for one in CASES.values()]
    assert {*shared} == {None, "uniform", "beta", "epsilon"}


@pytest.mark.slow
def test_both_read_the_channels_of_all_mechanisms(page):
    all_of_them = [*CASES.values(), *more_mechanisms()]
    losses = compare(page, [(text_of(document_of(one)), one.domain) for one in all_of_them])
    assert None not in losses


@pytest.mark.grid
@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_both_refuse_the_same_changed_channels(page, name):
    mechanism = CASES[name]
    changed = [text_of(one) for one in replaced(document_of(mechanism))]
    losses = compare(page, [(text, mechanism.domain) for text in changed])
    assert len(losses) > 150
    assert losses.count(None) > 0.75 * len(losses)


def changed(name, *members, **more):
    """Return a document with members replaced: pairs of a path and a value."""
    document = copy.deepcopy(document_of(CASES[name]))
    for path, value in (*members, *more.items()):
        *way, last = path.split("__")
        place = document
        for key in way:
            place = place[int(key) if isinstance(place, list) else key]
        place[int(last) if isinstance(place, list) else last] = value
    return document


TOTAL = 2**32
UNSOUND = {
    "no kind": ("one-layer", {"weights": [[TOTAL, 0], [0, TOTAL]]}),
    "a name of all objects": ("one-layer", {"kind": "toString", "weights": []}),
    "a kind in a list": ("one-layer", changed("one-layer", kind=["table"])),
    "answers as they are": ("one-layer", changed("one-layer", weights=[[TOTAL, 0], [0, TOTAL]])),
    "a loss above 16": (
        "one-layer",
        changed("one-layer", weights=[[TOTAL - 1, 1], [1, TOTAL - 1]]),
    ),
    "a report that one answer excludes": (
        "one-layer",
        changed("one-layer", weights=[[TOTAL // 2, TOTAL // 2], [0, TOTAL]]),
    ),
    "a negative weight": (
        "one-layer",
        changed("one-layer", weights=[[TOTAL + 2, -2], [TOTAL // 2, TOTAL // 2]]),
    ),
    "half a weight": (
        "one-layer",
        changed("one-layer", weights=[[TOTAL - 1.5, 1.5], [TOTAL // 2, TOTAL // 2]]),
    ),
    "a column less": ("one-layer", changed("one-layer", weights=[[TOTAL], [TOTAL]])),
    "columns without a name": (
        "one-layer",
        changed("one-layer", weights=2 * [3 * [2**30] + [2**30]]),
    ),
    "rows of two lengths": (
        "optimal",
        changed("optimal", weights=[[TOTAL], [2**31, 2**31], [2**31, 2**31]]),
    ),
    "numbered, with a row for NULL": (
        "one-layer",
        changed("one-layer", weights=3 * [[2**31, 2**30, 2**30]], numbered=True),
    ),
    "numbered, for each worker": ("two-layer", changed("two-layer", numbered=True)),
    "weights that are not the mean": (
        "two-layer",
        changed(
            "two-layer",
            ("per_worker__high", document_of(CASES["two-layer"])["per_worker"]["high"] + 2),
        ),
    ),
    "an odd sum": (
        "two-layer",
        changed(
            "two-layer",
            ("per_worker__low", document_of(CASES["two-layer"])["per_worker"]["low"] + 1),
        ),
    ),
    "another mean epsilon": ("drawn epsilons", changed("drawn epsilons", per_worker__epsilon=1.01)),
    "NULL with one draw": (
        "drawn epsilons",
        changed("drawn epsilons", per_worker={"kind": "uniform", "low": 0, "high": 2**30}),
    ),
    "a bit that hides less": (
        "laplace with a bit",
        changed("laplace with a bit", fill="uniform"),
    ),
    "a bit on another grid": (
        "laplace with a bit",
        changed(
            "laplace with a bit",
            ("participation__grid__step", 2**-9),
            ("participation__grid__steps", 512),
        ),
    ),
    "a coarse grid": ("laplace", changed("laplace", ("grid__step", 8.0), ("grid__steps", 2))),
    "a grid of another domain": ("laplace", changed("laplace", ("grid__low", -10.0))),
    "no noise": ("laplace", changed("laplace", noise_scale=0.999)),
    "too much noise": ("laplace", changed("laplace", noise_scale=2.0**46 * (1 + 2**-52))),
    "filled from without": ("a number for no answer", changed("a number for no answer", fill=10.1)),
    "reports that do not depend on answers": (
        "duchi",
        changed("duchi", ("slope", 0), ("least", TOTAL // 2)),
    ),
    "an end without a weight": (
        "duchi",
        changed(
            "duchi", ("least", 0), ("slope", TOTAL // document_of(CASES["duchi"])["grid"]["steps"])
        ),
    ),
    "both ends in one place": ("hybrid", changed("hybrid", ends=[1000, 1000])),
    "ends the wrong way round": ("duchi", changed("duchi", ends=[1, 0])),
    "more words than there are": ("sets of labels", changed("sets of labels", inside=TOTAL)),
    "a set without others": ("sets of labels", changed("sets of labels", members=3)),
    "less often than others": (
        "sets of labels",
        changed("sets of labels", ("inside", 1), ("outside", 2)),
    ),
    "labels of another domain": ("sets of labels", changed("sets of labels", labels=4)),
    "more numbers than fit": (
        "matrix factorisation, statistics",
        changed("matrix factorisation, statistics", profile__rank=200),
    ),
    "a center outside": ("matrix factorisation", changed("matrix factorisation", centre=-1)),
    "another unit": ("matrix factorisation", changed("matrix factorisation", noise_unit=2**-23)),
    "no table": ("options per task", changed("options per task", tables=[])),
    "answers among options as they are": (
        "options per task",
        changed("options per task", tables__0=[[TOTAL, 0], [0, TOTAL]]),
    ),
    "one option": ("options per task", changed("options per task", tables__0=[[TOTAL]])),
    "two tables of one size": (
        "options per task",
        changed("options per task", tables=2 * [[2 * [TOTAL // 2]] * 2]),
    ),
    "more options than labels": (
        "options per task",
        changed("options per task", tables__1=[6 * [TOTAL // 8] + [TOTAL // 4]] * 7),
    ),
    "a table that is not square": (
        "options per task",
        changed("options per task", tables__1=3 * [2 * [TOTAL // 2]]),
    ),
    "a profile of another kind": (
        "matrix factorisation",
        changed("matrix factorisation", profile__kind="toString"),
    ),
}
"""Documents whose members have the right types, and that protect less than they say, or nothing."""


@pytest.mark.slow
def test_both_refuse_channels_that_protect_less_than_they_say(page):
    pairs = [(text_of(document), CASES[case].domain) for case, document in UNSOUND.values()]
    found = dict(zip(UNSOUND, compare(page, pairs), strict=True))
    assert {name for name, loss in found.items() if loss is not None} == set()


@pytest.mark.slow
@pytest.mark.parametrize("text", ["null", "[]", "3", '"table"', "", "{", '{"kind": null}'])
def test_what_is_no_channel_is_refused(page, text):
    domain = qc.Categorical(["no", "yes"])
    assert page.evaluate(CALL, ["channelLosses", [[text, domain.to_dict()]]]) == [None]
    if text not in ("", "{"):
        with pytest.raises(ParameterError, match="its kind must be one of table, shift"):
            read_channel(json.loads(text), domain)


@pytest.mark.slow
def test_channels_of_another_domain_are_refused(page):
    domains = [*dict.fromkeys(one.domain for one in CASES.values())]
    pairs = [
        (text_of(document_of(one)), domain)
        for one in CASES.values()
        for domain in domains
        if domain != one.domain and not one.option_counts
    ]
    for (text, domain), loss in zip(pairs, compare(page, pairs), strict=True):
        needs_labels = json.loads(text)["kind"] in ("table", "sets")
        others = qc.Interval if needs_labels else qc.Categorical
        assert loss is None or not isinstance(domain, others)


CONTRIBUTING = Path(__file__).parents[5] / "CONTRIBUTING.md"


@pytest.fixture
def nearby():
    """Return the mechanism that CONTRIBUTING.md prints; afterwards no registry contains it."""
    before = dict(registry._REGISTRY)
    [code, *_] = re.findall(
        r"^```python\n(.*?)^```$", CONTRIBUTING.read_text(), re.MULTILINE | re.DOTALL
    )
    namespace = {"__name__": "page"}
    exec(compile(code, CONTRIBUTING.name, "exec"), namespace)
    yield namespace["NearbyLevel"](domain=qc.Ordinal(range(1, 6)), epsilon=2.0)
    registry._REGISTRY.clear()
    registry._REGISTRY.update(before)


@pytest.mark.nightly
def test_a_new_mechanism_needs_no_javascript(person, desk, nearby, tmp_path):
    assert not any("nearby" in file.read_text("utf-8").lower() for file in WORKER.rglob("*.js"))
    campaign = desk.campaign(nearby, about="a film with stars")
    worker = person(quick=True, service_workers="block")
    worker.open(desk.link(campaign))
    worker.consider()
    unfold(worker.page)
    assert "the answer '1' is reported as '1' in 31.0 % of all cases" in worker.text()
    worker.press("Take part")
    worker.start()
    worker.answer(["1", "5", None])
    worker.send()
    worker.arrive()
    sent = worker.upload()["reports"]
    assert len(sent) == 2
    assert all(one["value"] in range(5) for one in sent)
    exported = desk.client.get(f"/campaigns/{campaign}/reports").raise_for_status().content
    (tmp_path / "reports.jsonl").write_bytes(exported)
    reports = qc.read_reports(tmp_path / "reports.jsonl")
    assert reports.mechanism == nearby
    assert len(reports) == 2
