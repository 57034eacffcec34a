import json

import numpy as np
import pytest
from tests.campaign.mechanisms import MECHANISMS, reports_of

import quietcrowd as qc
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.channels import (
    decoded,
    earlier_document,
    report_rule,
    usable_mechanism,
    why_not_in_page,
)
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms.channels import TableChannel
from quietcrowd.mechanisms.channels.base import TOTAL


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_public_fixes_the_channel_and_is_json(name):
    mechanism = MECHANISMS[name]
    told = json.loads(canonical_json(mechanism.channel.describe()))
    if told["kind"] == "table":
        weights = np.array(told["weights"])
        assert (weights == mechanism.channel.weights).all()
        assert (weights.sum(axis=1) == TOTAL).all()
    elif told["kind"] == "sets":
        distribution = mechanism.channel.sets
        assert (told["inside"], told["outside"]) == (distribution.inside, distribution.outside)
        assert (told["labels"], told["members"]) == (distribution.labels, distribution.members)
    elif told["kind"] == "weights":
        distribution = mechanism.channel.distribution
        assert told["grid"] == distribution.grid.describe()
        weights = distribution.weights(np.arange(distribution.reports), 0).tolist()
        sent = told["base"] * distribution.reports + told["lift"] * told["window"]
        sent += 2 * told["least"] + told["slope"] * distribution.steps
        assert sent == sum(weights) == TOTAL
        assert weights[told["ends"][1]] >= told["least"]
    else:
        assert told["noise_scale"] == mechanism.channel.noise.scale
        assert told["grid"]["step"] == mechanism.channel.grid.step


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_report_of_a_device_is_accepted(name):
    mechanism = MECHANISMS[name]
    rule = report_rule(mechanism, 6)
    reports = reports_of(mechanism, tasks=6, workers=20, seed=1)
    assert rule.every_task == mechanism.every_task
    if rule.sketch_length is None:
        bits = reports.participation_codes
        for place, value in enumerate(reports.table.values.tolist()):
            assert rule.accepts(value, None if bits is None else int(bits[place]))
    else:
        for numbers in reports.sketches.tolist():
            packed = rule.packed(numbers)
            assert packed.tobytes() == np.array(numbers, rule.dtype).tobytes()


def rule(name):
    return report_rule(MECHANISMS[name], 6)


@pytest.mark.parametrize(
    ("name", "value", "bit"),
    [
        ("one-layer", -1, None),
        ("one-layer", 2, None),
        ("one-layer", 0, 0),
        ("one-layer with NULL", 3, None),
        ("two-layer", 3, None),
        ("piecewise", -1, None),
        ("piecewise", MECHANISMS["piecewise"].report_domain.count, None),
        ("duchi", 2, None),
        ("laplace", 2**31, None),
        ("laplace", -65 * 1280, None),
        ("laplace", 1280 + 65 * 1280, None),
        ("laplace", 0, 0),
        ("laplace with a bit", 0, None),
        ("laplace with a bit", 0, 2**31),
        ("laplace with a bit", 0, 1024 + 65 * 2**11),
        ("laplace, filled", 2**30, None),
    ],
)
def test_what_no_device_sends_is_refused(name, value, bit):
    assert not rule(name).accepts(value, bit)


@pytest.mark.parametrize(
    ("name", "numbers"),
    [
        ("matrix factorisation", [1, 2, 3]),
        ("matrix factorisation", [1, 2, 3, 4, 5]),
        ("matrix factorisation", [1, 2, 3, 4.5]),
        ("matrix factorisation", [1, 2, 3, 2**53]),
        ("matrix factorisation", [1, 2, 3, 2**52]),
        ("matrix factorisation, statistics", [1, 2, 2**52, 1, 2, 3, 4, 5, 6]),
        ("matrix factorisation, ridge", [1.0, 2.0, 1e300]),
    ],
)
def test_sketches_have_a_length_and_whole_numbers(name, numbers):
    assert rule(name).packed(numbers) is None


@pytest.mark.parametrize(
    "mechanism",
    [
        qc.RandomizedResponse(domain=qc.Categorical(range(65)), epsilon=1.0),
        qc.RandomizedResponse(domain=qc.Categorical(range(64)), epsilon=1.0, missing="category"),
    ],
)
def test_reports_that_json_cannot_hold_are_refused(mechanism):
    with pytest.raises(ParameterError):
        report_rule(mechanism, 1)


def test_sums_over_too_many_tasks_are_refused():
    mechanism = MECHANISMS["matrix factorisation"]
    report_rule(mechanism, 100_000)
    with pytest.raises(ParameterError, match="2\\^53"):
        report_rule(mechanism, 10**9)


def test_the_smallest_epsilon_still_fits():
    finest = qc.LaplaceMechanism(domain=qc.Interval(low=0, high=1), epsilon=2.0**-35, step=2.0**-11)
    rule = report_rule(finest, 1)
    assert rule.high == 2**11 + 64 * finest.channel.noise.scale


@pytest.mark.parametrize("name", MECHANISMS)
def test_what_is_cut_off_is_accepted(name):
    bounds = rule(name)
    values = bounds.cut_off(np.array([-(2**61), 2**61]))
    if bounds.sketch_length is None:
        bits = [None] if bounds.bit_low is None else bounds.cut_off_bits(values).tolist()
        assert all(bounds.accepts(value, bit) for value in values.tolist() for bit in bits)
    else:
        numbers = [values.tolist()[place % 2] for place in range(bounds.sketch_length)]
        assert bounds.packed(numbers) is not None


@pytest.mark.parametrize(
    ("name", "codes", "values"),
    [
        ("one-layer", [1, 0], ["yes", "no"]),
        ("one-layer with NULL", [2, 1], [None, "yes"]),
        ("laplace, filled", [-256, 0], [-1.0, 0.0]),
    ],
)
def test_whole_numbers_become_what_they_stand_for(name, codes, values):
    assert decoded(MECHANISMS[name].report_domain, codes).to_pylist() == values
    assert decoded(MECHANISMS[name].report_domain, []).to_pylist() == []


def test_a_channel_that_does_not_say_what_devices_do_is_refused_at_once(monkeypatch):
    described = MECHANISMS["one-layer"].to_dict()
    assert usable_mechanism(described) == MECHANISMS["one-layer"]

    def silent(_):
        raise ParameterError("no word")

    monkeypatch.setattr(TableChannel, "describe", silent)
    with pytest.raises(FormatError, match="suitable for campaigns"):
        usable_mechanism(described)


@pytest.mark.parametrize("name", MECHANISMS)
def test_pages_randomise_with_all_that_needs_no_equations_solved(name):
    reason = why_not_in_page(MECHANISMS[name])
    assert (reason is None) == (name != "matrix factorisation, ridge")
    assert reason is None or 'variant "ridge" solves' in reason


def test_a_mechanism_whose_channel_no_page_reads_is_refused_at_once(monkeypatch):
    described = MECHANISMS["one-layer"].to_dict()
    document = {**MECHANISMS["one-layer"].channel.describe(), "kind": "unknown"}
    monkeypatch.setattr(TableChannel, "describe", lambda _: document)
    with pytest.raises(FormatError, match="suitable for campaigns"):
        usable_mechanism(described)


@pytest.mark.parametrize("name", MECHANISMS)
def test_documents_of_earlier_campaigns_have_other_kinds_and_no_draws(name):
    document = MECHANISMS[name].channel.describe()
    earlier = earlier_document(document)
    assert earlier.keys() == document.keys() - {"numbered", "per_worker", "solution"}
    assert earlier["kind"] in {"table", "laplace", "bounded", "sets", "sketch"}
