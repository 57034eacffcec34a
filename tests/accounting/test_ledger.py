"""What ledgers say against guarantees, sums and each other."""

import json
import math
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from attrs.exceptions import FrozenInstanceError
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.removed_mechanism import REMOVED, SENTENCE

import quietcrowd as qc
from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.accounting.spending import Charge, Spending
from quietcrowd.exceptions import (
    FormatError,
    ParameterError,
    RemovedMechanismError,
    SimulatedNoiseWarning,
)
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse
from quietcrowd.polls import shuffled_guarantee

BINARY = qc.Categorical(["no", "yes"])
ONE = qc.RandomizedResponse(domain=BINARY, epsilon=1.0)
TWO = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=BINARY, epsilon=1.0)
NUMBERS = qc.Ordinal(range(5))
LAPLACE = qc.LaplaceMechanism(domain=NUMBERS, epsilon=0.5)
MECHANISMS = [
    ONE,
    TWO,
    LAPLACE,
    qc.RandomizedResponse(domain=NUMBERS, epsilon=2.0, missing="category"),
    TwoLayerRandomizedResponse(
        domain=NUMBERS, distribution="epsilon", epsilon=0.5, missing="category"
    ),
    qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
    qc.LaplaceMechanism(domain=NUMBERS, epsilon=1.0, scale="paper", fill=None),
    MatrixFactorization(domain=NUMBERS, epsilon=1.0),
]


def total(ledger, worker="ann", delta=0.0):
    return ledger.spent(worker, delta).total_epsilon


@pytest.mark.slow
@pytest.mark.parametrize("mechanism", MECHANISMS, ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize("answers", [1, 7])
def test_one_campaign_costs_what_the_guarantee_says(mechanism, answers):
    guarantee = mechanism.guarantee(answers=answers, tasks=answers)
    ledger = PrivacyLedger().charge("ann", mechanism, answers=answers, tasks=answers)
    spent = ledger.spent("ann")
    assert spent.total_epsilon == pytest.approx(guarantee.total_epsilon)
    assert spent.answer_epsilon == pytest.approx(guarantee.epsilon)
    composed = ledger.spent("ann", delta=1e-6)
    assert composed.total_epsilon <= guarantee.total_epsilon
    assert composed.answer_epsilon <= guarantee.epsilon * (1 + 1e-9)


def test_fifty_answers():
    four = qc.RandomizedResponse(domain=qc.Ordinal(range(4)), epsilon=1.0)
    for mechanism, most in ((ONE, 47.65), (four, 37.41)):
        ledger = PrivacyLedger().charge("ann", mechanism, answers=50)
        assert most - 0.01 < total(ledger, delta=1e-6) <= most
        assert 49.999 < total(ledger) <= 50


@pytest.mark.slow
def test_answers_that_share_a_draw_are_accounted_together():
    ledger = PrivacyLedger()
    for answers in (200, 77):
        ledger = ledger.charge("ann", TWO, answers=answers)
    spent = ledger.spent("ann")
    assert spent.answer_epsilon == TWO.guarantee(answers=277).epsilon
    assert round(spent.answer_epsilon, 2) == 5.62
    assert spent.total_epsilon == TWO.guarantee(answers=277).total_epsilon
    assert ledger.spent("ann", delta=0.01).answer_epsilon < 4.24


def test_another_campaign_draws_again_and_may_ask_the_same():
    ledger = (
        PrivacyLedger().charge("ann", TWO, answers=5).charge("ann", TWO, campaign="2", answers=5)
    )
    one = TWO.guarantee(answers=5)
    assert ledger.spent("ann").answer_epsilon == pytest.approx(2 * one.epsilon)
    assert ledger.spent("ann").total_epsilon == pytest.approx(2 * one.total_epsilon)


def test_who_reports_every_task_is_charged_for_every_task():
    null = qc.RandomizedResponse(domain=BINARY, epsilon=1.0, missing="category")
    ledger = PrivacyLedger().charge("ann", null, answers=1, tasks=30)
    assert ledger.charges == (Charge(worker="ann", campaign="1", mechanism=null, count=30),)
    assert 29.99 < total(ledger) <= 30
    with pytest.raises(ParameterError, match="every worker reports every task"):
        ledger.charge("ann", null, answers=1)


def test_mechanisms_of_many_kinds_compose():
    ledger = (
        PrivacyLedger()
        .charge("ann", ONE, answers=20)
        .charge("ann", LAPLACE, tasks=30)
        .charge("ann", TWO, answers=4)
        .charge("bob", ONE, answers=3)
    )
    summed = 20 + 15 + TWO.guarantee(answers=4).total_epsilon
    assert total(ledger) == pytest.approx(summed, abs=1e-6)
    composed = total(ledger, delta=1e-5)
    assert composed < 0.85 * summed
    assert composed > total(ledger, delta=1e-3)
    assert total(ledger, "bob") == pytest.approx(3)
    assert ledger.spent("eve") == Spending(worker="eve", answer_epsilon=0.0, total_epsilon=0.0)


def test_charging_leaves_a_ledger_as_it_is():
    empty = PrivacyLedger()
    first = empty.charge("ann", ONE)
    assert empty.charges == ()
    assert first == PrivacyLedger().charge("ann", ONE)
    assert first != first.charge("ann", ONE)
    assert hash(first) == hash(PrivacyLedger().charge("ann", ONE))
    with pytest.raises(FrozenInstanceError):
        first.x = 1


def test_budgets():
    ledger = PrivacyLedger().charge("ann", ONE, answers=3)
    assert not ledger.would_exceed("ann", ONE, 4.0)
    assert ledger.would_exceed("ann", ONE, 4.0, answers=2)
    assert not ledger.would_exceed("bob", ONE, 4.0, answers=4)
    assert ledger.would_exceed("bob", LAPLACE, 4.0, tasks=9)
    assert not ledger.would_exceed("bob", LAPLACE, 4.0, tasks=9, delta=0.05)
    with pytest.raises(ParameterError, match="budget must be a finite number, at least 0; got -1"):
        ledger.would_exceed("ann", ONE, -1)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("mechanism", [ONE, LAPLACE], ids=lambda mechanism: mechanism.name)
@pytest.mark.parametrize(("before", "count"), [(0, 1), (0, 3), (3, 1)])
def test_a_charge_may_use_a_budget_up(mechanism, before, count, delta):
    """What adds up to the budget is within it, to the last bit; it exceeds all smaller ones."""
    ledger = PrivacyLedger()
    if before:
        ledger = ledger.charge("ann", mechanism, answers=before, tasks=before)
    charge = {"mechanism": mechanism, "answers": count, "tasks": count}
    budget = ledger.charge("ann", **charge).used("ann", 0.0)
    smaller = math.nextafter(budget, 0.0)
    assert not ledger.would_exceed("ann", **charge, budget=budget, delta=delta)
    assert ledger.would_exceed("ann", **charge, budget=smaller, delta=delta)


def test_reports_charge_their_workers():
    crowd = qc.make_crowd(tasks=30, workers=12, answers_per_task=4, random_state=1)
    domain = crowd.answers.domain
    one = qc.RandomizedResponse(domain=domain, epsilon=1.0)
    null = qc.RandomizedResponse(domain=domain, epsilon=0.5, missing="category")
    reports = [mechanism.randomize(crowd.answers) for mechanism in (one, null)]
    ledger = PrivacyLedger.of_reports(*reports)
    frame = ledger.to_frame()
    counts = reports[0].table.answers_per_worker
    assert frame["worker"].tolist() == [str(one) for one in reports[0].table.workers.to_pylist()]
    assert frame["reports"].tolist() == (counts + 30).tolist()
    assert frame["campaigns"].tolist() == [2] * 12
    assert frame["total_epsilon"].tolist() == pytest.approx((counts + 15).tolist())
    assert frame["answer_epsilon"].tolist() == pytest.approx([1.5] * 12)
    with pytest.raises(ParameterError, match="campaign 'a' has two sets of reports of one-layer"):
        PrivacyLedger.of_reports(reports[0], reports[0], campaigns=["a", "a"])
    together = PrivacyLedger.of_reports(*reports, campaigns=["a", "a"])
    assert len(together.charges) == 24
    with pytest.raises(ParameterError, match=r"must be 2 names, one per report; got \['a'\]"):
        PrivacyLedger.of_reports(*reports, campaigns=["a"])


def test_simulated_reports_are_called_so_by_their_campaigns():
    crowd = qc.make_crowd(tasks=3, workers=2, answers_per_task=2)
    one = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0)
    real = one.randomize(crowd.answers)
    simulated = one.simulate(crowd.answers, random_state=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        PrivacyLedger.of_reports(real)
        assert not told
        ledger = PrivacyLedger.of_reports(simulated, real, simulated)
    assert [(warning.category, warning.filename) for warning in told] == [
        (SimulatedNoiseWarning, __file__)
    ]
    assert "the reports of '1', '3' are simulated and protect no one" in str(told[0].message)
    assert ledger.spending()[0].total_epsilon == pytest.approx(9.0)  # as if they were real
    with pytest.warns(SimulatedNoiseWarning, match="reports of 'spring' are simulated"):
        PrivacyLedger.of_reports(simulated, campaigns=["spring"])


def test_workers_without_a_report_are_not_charged():
    frame = pd.DataFrame({"task": ["a"], "worker": ["ann"], "label": ["no"]})
    answers = qc.Answers.from_frame(frame, BINARY, workers=["ann", "bob"])
    reports = ONE.randomize(answers)
    assert PrivacyLedger.of_reports(reports).workers == ("ann",)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(
            st.text(max_size=3) | st.integers(0, 9),
            st.sampled_from([ONE, TWO, LAPLACE]),
            st.integers(1, 9),
            st.sampled_from(["spring", "autumn"]),
        ),
        max_size=6,
    )
)
def test_a_ledger_survives_json(charges):
    ledger = PrivacyLedger()
    for worker, mechanism, count, campaign in charges:
        ledger = ledger.charge(worker, mechanism, answers=1, tasks=count, campaign=campaign)
    again = PrivacyLedger.from_json(ledger.to_json())
    assert again == ledger
    assert again.charges == ledger.charges
    assert again.spending(1e-6) == ledger.spending(1e-6)


def changed(**changes):
    ledger = PrivacyLedger().charge("ann", ONE, answers=2)
    return json.dumps({**json.loads(ledger.to_json()), **changes})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "a ledger must be JSON"),
        ("[]", "this is not a ledger: the key 'ledger' is missing"),
        (changed(version=9), "the ledger has version 9; this quietcrowd reads 1"),
        (changed(charges=None), "needs the lists 'mechanisms' and 'charges'"),
        (changed(charges=[["ann", "1", 0]]), r"charge 0 of the ledger must be worker.*'ann', '1'"),
        (changed(charges=[["ann", "1", 4, 1]]), "mechanism must be a whole number"),
        (changed(charges=[["ann", "1", 1, 1]]), "mechanism must be .*, at least 0 and at most 0"),
        (changed(charges=[["ann", "1", -1, 1]]), "mechanism must be .*, at least 0 and at most 0"),
        (changed(charges=[["ann", "1", 0, 0]]), "count must be a whole number, at least 1"),
        (changed(charges=[["ann", "1", 0, 1, 0.0, 0.0]]), "must be worker, campaign, mechanism"),
        (changed(charges=[["ann", "1", 0, 1], ["bob", "1", 0, 0]]), "charge 1 of the ledger must"),
        (changed(mechanisms=None), "needs the lists 'mechanisms' and 'charges'"),
        (changed(ledger="noisycrowd"), "this is not a ledger: the key 'ledger' is missing"),
        (changed(charges=[["ann", "1", 0, -3]]), "count must be a whole number, at least 1"),
        (changed(charges=[[None, "1", 0, 3]]), "worker must be a string"),
        (changed(charges=[["ann", 5, 0, 3]]), "campaign must be a string"),
        (changed(charges=[["ann", "1", 0, 3]] * 2), "charge 1 .* is repeated"),
        (changed(mechanisms=[3]), "a mechanism must be a JSON object"),
    ],
)
def test_broken_ledgers(text, message):
    with pytest.raises(FormatError, match=message):
        PrivacyLedger.from_json(text)


def test_the_text_of_a_ledger_names_each_mechanism_once():
    ledger = (
        PrivacyLedger()
        .charge("ann", ONE, answers=2)
        .charge(7, LAPLACE, tasks=3, campaign="autumn")
        .charge("bob", ONE, campaign="autumn")
        .charge("eve", LAPLACE, tasks=4, spared=0.25)
    )
    assert json.loads(ledger.to_json()) == {
        "ledger": "quietcrowd",
        "version": 1,
        "mechanisms": [ONE.to_dict(), LAPLACE.to_dict()],
        "charges": [
            ["ann", "1", 0, 2],
            ["7", "autumn", 1, 3],
            ["bob", "autumn", 0, 1],
            ["eve", "1", 1, 4, 0.25],
        ],
    }


@pytest.mark.parametrize("count", [1, 10**7])
def test_a_ledger_holds_as_many_reports_as_can_be_reckoned_with(count):
    ledger = PrivacyLedger.from_json(changed(charges=[["ann", "1", 0, count]]))
    assert ledger.charges == (Charge(worker="ann", campaign="1", mechanism=ONE, count=count),)


def test_an_id_is_the_same_worker_as_number_and_as_text():
    ledger = PrivacyLedger().charge(7, ONE).charge("7", ONE, campaign="2")
    assert ledger.workers == ("7",)
    assert ledger.spent(7) == ledger.spent("7")
    assert 1.99 < total(ledger, 7) <= 2


def test_an_id_is_the_same_worker_in_a_column_of_floats():
    tables = [
        pd.DataFrame({"task": ["a", "b"], "worker": workers, "label": ["no", "yes"]})
        for workers in ([7, 8], [7.0, 8.0], ["7", "8"], [8.0, 7.5])
    ]
    reports = [ONE.randomize(qc.Answers.from_frame(table, BINARY)) for table in tables]
    ledger = PrivacyLedger.of_reports(*reports)
    assert ledger.workers == ("7", "8", "7.5")
    assert total(ledger, 8) == pytest.approx(4)


def test_messages():
    ledger = PrivacyLedger()
    with pytest.raises(ParameterError, match=r"worker must be a string.*got 1\.5"):
        ledger.charge(1.5, ONE)
    with pytest.raises(ParameterError, match=r"worker must be a string.*got True"):
        ledger.charge(True, ONE)
    with pytest.raises(ParameterError, match="answers must be a whole number, at least 1"):
        ledger.charge("ann", ONE, answers=0)
    with pytest.raises(ParameterError, match="delta must be at least 0 and below 1"):
        ledger.spent("ann", delta=1.0)
    with pytest.raises(ParameterError, match="delta must be at least 0 and below 1"):
        ledger.spending(delta=-0.1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (None, "a ledger must be a string, .*; got NoneType"),
        (b"{}", "a ledger must be a string, .*; got bytes"),
        ("[" * 100_000, "nested too deeply"),
        (changed(version=True), "the ledger has version True"),
        (changed(mechanisms=[{**ONE.to_dict(), "version": True}]), "has version True"),
        (changed(mechanisms=[{**ONE.to_dict(), "epsilon": 10**400}]), "cannot be read"),
        (changed(charges=[["ann", "1", 0, 10**400]]), "count must be a whole number"),
        (changed(charges=[["ann", "1", 0, 10**7 + 1]]), "at most 10,000,000; got 10000001"),
        (changed(charges=[["ann", "1", 0, 2.0]]), "count must be a whole number"),
        (changed(charges=[["ann", "1", False, 2]]), "mechanism must be a whole number"),
        (changed(charges=[["\ud800", "1", 0, 2]]), "worker must be valid UTF-8"),
        (changed(charges=[["ann", "\ud800", 0, 2]]), "campaign must be valid UTF-8"),
        (changed()[:-1] + ', "version": 1}', "'version' is named twice in one object"),
    ],
)
def test_hostile_ledgers(text, message):
    with pytest.raises(FormatError, match=message):
        PrivacyLedger.from_json(text)


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.just(10**400) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


def with_junk(described, draw):
    """Replace something in a JSON value."""
    if isinstance(described, dict | list) and described and draw(st.integers(0, 3)):
        names = sorted(described) if isinstance(described, dict) else range(len(described))
        name = draw(st.sampled_from(names))
        described[name] = with_junk(described[name], draw)
        return described
    return draw(JUNK)


@pytest.mark.slow
@given(data=st.data(), mechanism=st.sampled_from(MECHANISMS))
def test_junk_in_a_ledger_is_a_format_error(data, mechanism):
    good = json.loads(PrivacyLedger().charge("ann", mechanism, tasks=4).to_json())
    try:
        ledger = PrivacyLedger.from_json(json.dumps(with_junk(good, data.draw)))
    except FormatError:
        return
    assert PrivacyLedger.from_json(ledger.to_json()) == ledger


@given(
    arguments=st.fixed_dictionaries(
        {},
        optional={
            "worker": JUNK | st.just("\ud800"),
            "mechanism": JUNK | st.just(qc.RandomizedResponse),
            "answers": JUNK,
            "tasks": JUNK,
            "campaign": JUNK | st.just("\ud800"),
        },
    ),
    delta=st.just(0.0) | JUNK,
    budget=st.just(1.0) | JUNK,
)
@settings(deadline=None)
def test_junk_in_a_charge_is_a_parameter_error(arguments, delta, budget):
    charge = {"worker": "ann", "mechanism": ONE, **arguments}
    try:
        PrivacyLedger().charge(**charge)
        PrivacyLedger().would_exceed(**charge, budget=budget, delta=delta)
    except ParameterError:
        return
    assert {"answers", "tasks", "worker", "campaign"} >= arguments.keys()


def test_numpy_counts_and_ids_are_plain():
    """Counts of 8 bits do not wrap around: 200 and 200 are 400, and not 144."""
    for mechanism in (ONE, TWO):
        ledger = PrivacyLedger()
        for _ in range(2):
            ledger = ledger.charge(np.int64(3), mechanism, answers=np.uint8(200))
        assert ledger == PrivacyLedger().charge("3", mechanism, answers=400)
        assert PrivacyLedger.from_json(ledger.to_json()) == ledger
    hundred = TWO.loss(answers=np.int8(100)).answer
    assert hundred.epsilon == TWO.loss(answers=100).answer.epsilon
    assert type(TWO.guarantee(answers=np.int8(100)).answers) is int


def test_a_worker_reports_no_more_than_can_be_reckoned_with():
    ledger = PrivacyLedger().charge("ann", ONE, answers=10**7)
    assert total(ledger) == pytest.approx(10**7)
    with pytest.raises(ParameterError, match=r"'ann' reports to campaign '1' must .* 10,000,000"):
        ledger.charge("ann", ONE)
    assert ledger.charge("ann", ONE, campaign="2").charges[-1].count == 1


@pytest.mark.parametrize("junk", [ONE, None, "reports.csv"])
def test_only_reports_are_charged_as_reports(junk):
    with pytest.raises(ParameterError, match=f"reports must be Reports.*{type(junk).__name__}"):
        PrivacyLedger.of_reports(junk)


@pytest.mark.parametrize("campaigns", ["a", 5, None, ["\ud800"], [1], []])
def test_names_of_campaigns(campaigns):
    frame = pd.DataFrame({"task": ["a"], "worker": ["ann"], "label": ["no"]})
    reports = ONE.randomize(qc.Answers.from_frame(frame, BINARY))
    if campaigns is None:
        assert PrivacyLedger.of_reports(reports).charges[0].campaign == "1"
        return
    with pytest.raises(ParameterError, match="campaign"):
        PrivacyLedger.of_reports(reports, campaigns=campaigns)


@pytest.mark.parametrize("budget", [math.inf, math.nan, None, "1"])
def test_a_budget_is_a_finite_number(budget):
    with pytest.raises(ParameterError, match="budget must be a finite number, at least 0; got"):
        PrivacyLedger().would_exceed("ann", ONE, budget)


SKETCHES = MatrixFactorization(domain=qc.Ordinal(range(5)), epsilon=1.0, rank=4)


def test_reports_charge_for_the_tasks_that_they_name():
    answers = qc.Answers.from_frame(
        pd.DataFrame(
            {"task": [*range(40)] * 2, "worker": ["ann"] * 40 + ["bob"] * 40, "label": [1] * 80}
        ),
        domain=SKETCHES.domain,
    )
    ledger = PrivacyLedger.of_reports(SKETCHES.randomize(answers))
    named = SKETCHES.guarantee(tasks=range(40)).total_epsilon
    assert named < 27
    for delta in (0.0, 1e-6):
        spent = ledger.spent("ann", delta)
        assert named - 1e-5 <= spent.total_epsilon <= named + 1e-12
        assert spent.answer_epsilon <= 1.0
    assert ledger == PrivacyLedger().charge("ann", SKETCHES, tasks=range(40)).charge(
        "bob", SKETCHES, tasks=[*range(40)]
    )
    assert {round(charge.spared + named, 9) for charge in ledger.charges} == {40.0}
    assert PrivacyLedger.from_json(ledger.to_json()) == ledger
    assert not ledger.would_exceed("ann", SKETCHES, 2 * named + 1e-9, tasks=range(40), campaign="2")
    assert ledger.would_exceed("ann", SKETCHES, 2 * named + 1e-9, tasks=40, campaign="2")


def test_what_is_spared_is_taken_off_the_whole_and_rounded_down():
    whole = 4 * LAPLACE.epsilon
    ledger = PrivacyLedger().charge("ann", LAPLACE, tasks=4, spared=0.25)
    spent, composed = ledger.spent("ann"), ledger.spent("ann", 1e-9)
    assert spent.answer_epsilon == LAPLACE.epsilon
    assert spent.total_epsilon == math.nextafter(whole - 0.25, math.inf)
    assert (composed.answer_tail, composed.total_tail) == (
        spent.answer_epsilon,
        spent.total_epsilon,
    )
    assert composed.answer_epsilon == pytest.approx(spent.answer_epsilon, rel=1e-6)
    assert composed.total_epsilon == pytest.approx(spent.total_epsilon, rel=1e-6)
    twice = ledger.charge("ann", LAPLACE, tasks=4, spared=0.1).charges[0]
    assert (twice.count, twice.spared) == (8, math.nextafter(0.25 + 0.1, 0.0))
    assert ledger.charge("ann", LAPLACE, tasks=4).charges[0].spared == 0.25
    with pytest.raises(ParameterError, match="spared must be a finite number, at least 0; got -1"):
        ledger.charge("ann", LAPLACE, tasks=4, spared=-1)


def test_what_is_said_to_be_spared_goes_before_what_names_spare():
    named = PrivacyLedger().charge("ann", SKETCHES, tasks=range(40)).charges[0].spared
    told = PrivacyLedger().charge("ann", SKETCHES, tasks=range(40), spared=0.5).charges[0].spared
    assert (named > 13, told) == (True, 0.5)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_frame_says_what_each_worker_has_spent(delta):
    ledger = (
        PrivacyLedger()
        .charge("ann", ONE, answers=20)
        .charge("ann", LAPLACE, tasks=30)
        .charge("bob", ONE, answers=3)
        .charge("ann", ONE, answers=2, campaign="2")
    )
    frame = ledger.to_frame(delta)
    assert frame[["worker", "reports", "campaigns"]].to_numpy().tolist() == [
        ["ann", 52, 2],
        ["bob", 3, 1],
    ]
    for row in frame.itertuples():
        spent = ledger.spent(row.worker, delta)
        assert spent == ledger.spending(delta)[row.Index]
        for name in ("answer_epsilon", "total_epsilon", "answer_tail", "total_tail"):
            assert getattr(row, name) == getattr(spent, name)


@pytest.mark.parametrize("mechanism", [ONE, TWO, LAPLACE], ids=lambda mechanism: mechanism.name)
def test_a_tail_is_that_of_the_mechanism(mechanism):
    ledger = PrivacyLedger().charge("ann", mechanism, answers=9, tasks=9)
    tail, spent = mechanism.tail(1e-3, answers=9, tasks=9), ledger.spent("ann", 1e-3)
    assert (spent.answer_tail, spent.total_tail) == (tail.epsilon, tail.total_epsilon)
    pure = ledger.spent("ann")
    assert (pure.answer_tail, pure.total_tail) == (pure.answer_epsilon, pure.total_epsilon)


def test_tails_of_two_campaigns_are_composed():
    ledger = PrivacyLedger().charge("ann", ONE, answers=50)
    both = ledger.charge("ann", ONE, answers=50, campaign="2").spent("ann", 1e-6)
    whole = ledger.charge("ann", ONE, answers=50).spent("ann", 1e-6)
    assert both.total_tail == pytest.approx(whole.total_tail, rel=1e-4)
    assert both.answer_tail == pytest.approx(2.0, rel=1e-6)
    assert ledger.spent("ann", 1e-6).total_tail < both.total_tail < 100


def test_further_tasks_of_a_campaign_cost_what_any_tasks_cost():
    first, whole = range(40), range(60)
    ledger = PrivacyLedger().charge("ann", SKETCHES, tasks=first)
    named = ledger.spent("ann").total_epsilon
    unnamed = ledger.charge("ann", SKETCHES, tasks=20).spent("ann").total_epsilon
    both = ledger.charge("ann", SKETCHES, tasks=range(40, 60)).spent("ann").total_epsilon
    together = SKETCHES.guarantee(tasks=whole).total_epsilon
    rest = SKETCHES.guarantee(tasks=range(40, 60)).total_epsilon
    assert unnamed == pytest.approx(named + 20)
    assert both == pytest.approx(named + rest)
    assert together <= both <= unnamed


def test_a_ledger_that_claims_to_spare_more_than_is_lost_still_costs_one_answer():
    text = PrivacyLedger().charge("ann", SKETCHES, tasks=range(40)).to_json()
    data = json.loads(text)
    data["charges"][0][4] = 1e9
    assert PrivacyLedger.from_json(json.dumps(data)).spent("ann").total_epsilon == 1.0
    for wrong in (-1.0, "1", None, True):
        data["charges"][0][4] = wrong
        with pytest.raises(FormatError, match="loss spared by named tasks"):
            PrivacyLedger.from_json(json.dumps(data))


def test_polls_with_shuffling_add_up():
    mechanism = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)
    once = qc.PrivacyLedger().charge("ann", mechanism, campaign="spring")
    twice = once.charge("ann", mechanism, campaign="autumn")
    alone = shuffled_guarantee(mechanism, honest=400, delta=1e-6).epsilon
    half = shuffled_guarantee(mechanism, honest=400, delta=5e-7).epsilon
    assert once.shuffled("ann", honest=400, delta=1e-6) == alone
    assert twice.shuffled("ann", honest=400, delta=1e-6) == pytest.approx(2 * half, rel=1e-12)
    assert twice.shuffled("ben", honest=400, delta=1e-6) == 0
    assert twice.spent("ann").total_epsilon > 4 * alone
    with pytest.raises(ParameterError, match=r"2 reports to campaign 'spring'. A poll"):
        once.charge("ann", mechanism, campaign="spring").shuffled("ann", honest=9, delta=1e-6)
    with pytest.raises(ParameterError, match="delta"):
        once.shuffled("ann", honest=400, delta=0)


def test_a_ledger_of_a_removed_mechanism_says_why_it_went():
    text = json.loads(PrivacyLedger().charge("ann", ONE).to_json())
    text["mechanisms"].append(REMOVED)
    with pytest.raises(RemovedMechanismError, match=SENTENCE):
        PrivacyLedger.from_json(json.dumps(text))


def ulps(number):
    return 2 * Fraction(math.ulp(number))


@pytest.mark.slow
def test_what_named_tasks_spare_is_rounded_down():
    """Also where the difference of floats is above the difference."""
    above = 0
    for rank in (4, 8, 20):
        mechanism = MatrixFactorization(domain=NUMBERS, epsilon=0.3, rank=rank)
        for count in range(2, 30):
            names = [f"t{place}" for place in range(count)]
            unnamed = mechanism.guarantee(count, count).total_epsilon
            named = mechanism.guarantee(count, names).total_epsilon
            exact = Fraction(unnamed) - Fraction(named)
            above += Fraction(unnamed - named) > exact
            [charge] = PrivacyLedger().charge("ann", mechanism, tasks=names).charges
            assert exact - ulps(unnamed) <= Fraction(charge.spared) <= exact
    assert above > 0


def test_what_is_spared_adds_up_rounded_down_and_what_is_spent_rounded_up():
    assert Fraction(0.1 + 0.2) > Fraction(0.1) + Fraction(0.2)
    both = Fraction(0.1) + Fraction(0.2)
    ledger = PrivacyLedger().charge("ann", ONE, answers=4, spared=0.1)
    [charge] = ledger.charge("ann", ONE, answers=4, spared=0.2).charges
    assert both - ulps(0.3) <= Fraction(charge.spared) <= both
    below = 0
    whole = ONE.guarantee(answers=9).total_epsilon
    for place in range(1, 60):
        less = place / 70
        left = Fraction(whole) - Fraction(less)
        below += Fraction(whole - less) < left
        spent = total(PrivacyLedger().charge("ann", ONE, answers=9, spared=less))
        assert left <= Fraction(spent) <= left + ulps(whole)
    assert below > 0


def test_three_campaigns_of_a_tenth_fit_into_three_tenths():
    mechanism = qc.LaplaceMechanism(domain=NUMBERS, epsilon=0.1, fill=None)
    two = PrivacyLedger().charge("ann", mechanism).charge("ann", mechanism, campaign="2")
    assert not two.would_exceed("ann", mechanism, 0.3, campaign="3")
    assert two.would_exceed("ann", mechanism, math.nextafter(0.3, 0), campaign="3")
    assert two.charge("ann", mechanism, campaign="3").used("ann", 0.3) == 0.3


def test_reports_of_several_mechanisms_are_charged_for_each():
    strong = qc.RandomizedResponse(domain=BINARY, epsilon=2.5)
    frames = {
        ONE: pd.DataFrame({"task": [1, 2, 1], "worker": ["ann", "ann", "bob"], "label": "no"}),
        strong: pd.DataFrame({"task": [3, 1], "worker": ["ann", "cem"], "label": "yes"}),
    }
    joined = qc.join_reports(*(one.randomize(rows) for one, rows in frames.items()))
    ledger = PrivacyLedger.of_reports(joined)
    losses = {worker: ledger.spent(worker).total_epsilon for worker in ledger.workers}
    assert losses == pytest.approx({"ann": 4.5, "bob": 1.0, "cem": 2.5})
    apart = PrivacyLedger.of_reports(*joined.split(), campaigns=["1", "1"])
    assert {*ledger.charges} == {*apart.charges}
    assert PrivacyLedger.from_json(ledger.to_json()) == ledger
    with pytest.raises(ParameterError, match="two sets of reports of one-layer"):
        PrivacyLedger.of_reports(joined, joined.split()[0], campaigns=["x", "x"])


def test_non_private_answers_lose_all():
    answers = qc.Answers.from_frame(
        pd.DataFrame({"task": [1], "worker": ["dee"], "label": ["no"]}), BINARY
    )
    sent = ONE.randomize(pd.DataFrame({"task": [1], "worker": ["ann"], "label": ["no"]}))
    ledger = PrivacyLedger.of_reports(qc.join_reports(sent, answers))
    assert math.isinf(ledger.spent("dee").total_epsilon)
    assert ledger.spent("ann").total_epsilon == pytest.approx(1)
    assert PrivacyLedger.from_json(ledger.to_json()) == ledger


def test_a_window_is_the_costliest_of_all():
    ledger = PrivacyLedger().charge("ann", ONE, answers=9, campaign="air")
    for number, answers in ((0, 3), (2, 1), (3, 1), (10, 2)):
        ledger = ledger.charge("ann", ONE, answers=answers, campaign=f"air#{number}")
    ledger = ledger.charge("bob", ONE, answers=8, campaign="air#1")
    one = ONE.guarantee().epsilon
    found = [ledger.window("ann", "air", rounds).total_epsilon / one for rounds in (1, 2, 3, 4, 11)]
    assert found == pytest.approx([3, 3, 4, 5, 7])
    assert ledger.window("ann", "water", 3).total_epsilon == 0
    assert ledger.window("ann", "air", 4, delta=1e-3).total_epsilon < 5 * one
    for wrong in (0, 1.5):
        with pytest.raises(ParameterError):
            ledger.window("ann", "air", wrong)


def test_a_figure_has_a_bar_for_each_worker_with_a_bounded_loss():
    pytest.importorskip("matplotlib")
    ledger = PrivacyLedger().charge("ann", ONE, answers=3).charge("bob", ONE)
    [axes] = ledger.plot().axes
    assert [label.get_text() for label in axes.get_yticklabels()] == ["bob", "ann"]
    assert [bar.get_width() for bar in axes.patches] == pytest.approx([1, 3])
    assert "1\n73.2 %" in [label.get_text() for label in axes.get_xticklabels()]
    answers = qc.Answers.from_frame(
        pd.DataFrame({"task": [1], "worker": ["dee"], "label": ["no"]}), BINARY
    )
    sent = ONE.randomize(pd.DataFrame({"task": [1], "worker": ["ann"], "label": ["no"]}))
    [axes] = PrivacyLedger.of_reports(qc.join_reports(sent, answers)).plot().axes
    assert axes.get_title() == "Privacy loss of 2 workers; 1 without a limit"
    many = ledger
    for number in range(30):
        many = many.charge(number, ONE)
    [axes] = many.plot().axes
    assert not axes.patches
    assert axes.get_ylabel() == "workers, from the lowest to the highest"
