"""What every mechanism refuses, and what it says of itself."""

import math
import warnings
from fractions import Fraction
from functools import partial

import numpy as np
import pandas as pd
import pytest
from attrs import evolve
from tests.mechanisms.added import added
from tests.removed_mechanism import REMOVED, SENTENCE

from quietcrowd.answers import Answers, DroppedRows
from quietcrowd.datasets import make_crowd
from quietcrowd.domains import Categorical, Interval
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError, RemovedMechanismError
from quietcrowd.frames import as_frame, mark_of
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    LaplaceMechanism,
    MatrixFactorization,
    Mechanism,
    OptimalMechanism,
    PiecewiseMechanism,
    RandomizedResponse,
    Reports,
    SubsetSelection,
    TwoLayerRandomizedResponse,
)
from quietcrowd.mechanisms.randomness import system_words

LABELS, NUMBERS = Categorical(["no", "yes"]), Interval(low=0, high=10)

OPEN = {
    "one-layer": RandomizedResponse(domain=LABELS, epsilon=1.0),
    "sets": SubsetSelection(domain=LABELS, epsilon=1.0),
    "two-layer": TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.4),
    "two-layer, epsilon": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=1.0, distribution="epsilon"
    ),
    "optimal": OptimalMechanism(domain=LABELS, epsilon=1.0),
    "laplace, fill=None": LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill=None),
    "piecewise": PiecewiseMechanism(domain=NUMBERS, epsilon=1.0),
    "duchi": DuchiMechanism(domain=NUMBERS, epsilon=1.0),
    "hybrid": HybridMechanism(domain=NUMBERS, epsilon=1.0),
    # every worker reports every task, and which were answered shows nevertheless
    "ridge": MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="ridge"),
}
"""Mechanisms by which participation shows."""

HIDING = {
    "null": RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
    "two-layer, null": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=1.0, distribution="epsilon", missing="category"
    ),
    "uniform": LaplaceMechanism(domain=NUMBERS, epsilon=1.0),
    "midpoint": LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill="midpoint"),
    "a number": LaplaceMechanism(domain=NUMBERS, epsilon=1.0, fill=2.0),
    "released": LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
    "fill": MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="fill"),
    "statistics": MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="statistics"),
}
"""Mechanisms that protect it."""

OPEN |= added(LABELS, map(type, (OPEN | HIDING).values()))


def rows_in(domain):
    """Return answers of five workers to four tasks; two are none, and are all of one worker."""
    inside = ["no", "yes"] if domain is LABELS else [3.0, 7.0]
    outside = ["perhaps", None] if domain is LABELS else [11.0, None]
    frame = pd.DataFrame(
        [(f"t{task}", f"w{worker}") for task in range(4) for worker in range(4)],
        columns=["task", "worker"],
    ).assign(label=lambda rows: np.resize(inside, len(rows)))
    out = pd.DataFrame({"task": ["t0", "t4"], "worker": "w9", "label": outside})
    return pd.concat([out, frame.astype({"label": object})], ignore_index=True)


def without_some(domain):
    return Answers.from_frame(rows_in(domain), domain, out_of_domain="skip")


def test_every_mechanism_is_tried():
    tried = {type(one) for one in (*OPEN.values(), *HIDING.values())}
    assert tried == set(Mechanism.registry().values())
    assert not any(one.participation_protected for one in OPEN.values())
    assert all(one.participation_protected for one in HIDING.values())


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("simulated", [False, True])
def test_rows_left_out_for_their_answer_are_refused_where_that_shows(name, simulated):
    mechanism = OPEN[name]
    answers = without_some(mechanism.domain)
    assert answers.dropped.out_of_domain == 2
    kind = type(mechanism).__name__
    randomize = partial(mechanism.simulate, random_state=0) if simulated else mechanism.randomize
    message = rf"answer: 2\. .* {kind} does not protect"
    with pytest.raises(AnswerError, match=message) as no:
        randomize(answers)
    for way_out in (
        "participation_is_public=True",
        "--participation-is-public",
        "fixed in advance",
    ):
        assert way_out in str(no.value)
    assert all(label not in str(no.value) for label in ("perhaps", "11", "w9", "t4"))
    with pytest.raises(AnswerError, match=r"answer: 1\. "):
        randomize(evolve(answers, dropped=DroppedRows(out_of_domain=1)))


@pytest.mark.parametrize("name", [name for name in OPEN if name != "ridge"])
def test_they_are_taken_where_participation_is_public(name):
    mechanism = OPEN[name]
    answers = without_some(mechanism.domain)
    reports = mechanism.randomize(answers, participation_is_public=True)
    assert len(reports) == 16
    assert reports.table.dropped == DroppedRows()


def test_that_participation_is_public_is_said_with_true():
    for other in ("no", 1, None):
        with pytest.raises(ParameterError, match="participation_is_public must be True or False"):
            OPEN["one-layer"].randomize(without_some(LABELS), participation_is_public=other)


def test_a_repeated_row_is_left_out_for_no_answer():
    mechanism = OPEN["one-layer"]
    frame = pd.DataFrame({"task": ["t", "t"], "worker": ["w", "w"], "label": ["no", "yes"]})
    answers = Answers.from_frame(frame, LABELS, duplicates="last")
    assert len(mechanism.randomize(answers)) == 1


def test_other_values_of_the_same_rows_do_not_hide_what_was_left_out():
    answers = without_some(LABELS)
    turned = answers.with_values(LABELS, 1 - answers.values)
    with pytest.raises(AnswerError, match=r"answer: 2\. "):
        OPEN["one-layer"].randomize(turned)


@pytest.mark.parametrize("name", HIDING)
def test_where_participation_is_protected_such_a_row_is_no_answer(name):
    """It leaves what would leave had nothing been answered there: guarantees cover that."""
    mechanism = HIDING[name]
    domain = mechanism.domain
    skipped = without_some(domain)
    rows = rows_in(domain)
    silent = Answers.from_frame(
        rows[rows["worker"] != "w9"], domain, tasks=skipped.tasks, workers=skipped.workers
    )
    one, other = (mechanism.simulate(answers, random_state=4) for answers in (skipped, silent))
    assert one.table.dropped == DroppedRows()
    assert "w9" in one.table.workers.to_pylist()
    assert "t4" in one.table.tasks.to_pylist()
    pd.testing.assert_frame_equal(one.to_frame(), other.to_frame())
    assert len(mechanism.randomize(skipped)) == len(one) == 5 * 5


EMPTY = {
    "one-layer": RandomizedResponse(domain=LABELS, epsilon=0.0),
    "flips": RandomizedResponse(domain=LABELS, flip_probability=0.5),
    "almost 0": RandomizedResponse(domain=LABELS, epsilon=1e-9),
    "three labels": RandomizedResponse(
        domain=Categorical(["a", "b", "c"]), epsilon=0.0, missing="category"
    ),
    "law": TwoLayerRandomizedResponse(domain=LABELS, epsilon=0.0, distribution="epsilon"),
    "distribution, null": TwoLayerRandomizedResponse(
        domain=LABELS, epsilon=0.0, distribution="epsilon", missing="category"
    ),
    "one flip for all": TwoLayerRandomizedResponse(domain=LABELS, low=0.5, high=0.5),
}


@pytest.mark.parametrize("name", EMPTY)
def test_reports_that_tell_nothing_are_known(name):
    assert EMPTY[name].is_uninformative


@pytest.mark.parametrize(
    "mechanism",
    [
        *OPEN.values(),
        *HIDING.values(),
        # one report tells nothing; two tell whether the answers are the same
        TwoLayerRandomizedResponse(domain=LABELS, low=0.0, high=1.0),
        RandomizedResponse(domain=LABELS, flip_probability=0.9),
        RandomizedResponse(domain=LABELS, epsilon=0.001),
    ],
)
def test_others_tell_something(mechanism):
    assert not mechanism.is_uninformative


def test_reports_lie_in_the_report_domain():
    crowd = make_crowd(tasks=5, workers=10)
    mechanism = RandomizedResponse(domain=Categorical([0, 1]), epsilon=1.0)
    with pytest.raises(AnswerError, match="the mechanism produces"):
        Reports(table=crowd.answers, mechanism=mechanism)


def test_reports_show_their_size():
    crowd = make_crowd(tasks=5, workers=10, answers_per_task=4)
    reports = RandomizedResponse(domain=crowd.answers.domain, epsilon=1.0).randomize(crowd.answers)
    assert len(reports) == 20
    assert repr(reports).startswith("Reports(20 reports, 5 tasks, 10 workers, mechanism=Randomized")


KINDS = {
    "labels": RandomizedResponse(domain=LABELS, epsilon=1.0),
    "sets": SubsetSelection(domain=LABELS, epsilon=1.0),
    "null": RandomizedResponse(domain=LABELS, epsilon=1.0, missing="category"),
    "released": LaplaceMechanism(domain=NUMBERS, epsilon=1.0, participation="released"),
    "sketches": MatrixFactorization(domain=NUMBERS, epsilon=1.0, rank=2, variant="fill"),
}


def reports_of(name, rng=None):
    mechanism = KINDS[name]
    labels = ["no", "yes", "no"] if mechanism.domain == LABELS else [1.0, 2.0, 3.0]
    frame = pd.DataFrame({"task": ["t", "u", "u"], "worker": ["a", "a", "b"], "label": labels})
    answers = Answers.from_frame(frame, mechanism.domain)
    if rng is None:
        return mechanism.randomize(answers)
    return mechanism.simulate(answers, random_state=rng)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("backend", ["pandas", "pyarrow"])
def test_a_frame_says_what_made_its_reports(name, backend):
    for rng in (None, np.random.default_rng(0)):
        mark = mark_of(reports_of(name, rng).to_frame(backend))
        assert set(mark) == {"mechanism", "simulated"}
        assert Mechanism.from_dict(mark["mechanism"]) == KINDS[name]
        assert mark["simulated"] == (rng is not None)


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("backend", ["pandas", "polars", "pyarrow"])
def test_reports_are_read_from_their_own_frame_without_a_warning(name, backend):
    pytest.importorskip(backend)
    reports = reports_of(name)
    table = as_frame(reports.to_frame(backend)).to_arrow()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        back = reports.mechanism.read_reports(
            table, reports.table.tasks, reports.table.workers, simulated=False
        )
    assert back.to_frame("pyarrow").equals(reports.to_frame("pyarrow"))


def test_a_mechanism_that_no_file_describes_is_named():
    class Unnamed(RandomizedResponse):
        pass

    mechanism = Unnamed(domain=LABELS, epsilon=1.0)
    frame = pd.DataFrame({"task": ["t"], "worker": ["a"], "label": ["no"]})
    sent = mechanism.randomize(Answers.from_frame(frame, LABELS)).to_frame()
    assert mark_of(sent) == {"mechanism": {"mechanism": "Unnamed"}, "simulated": False}


def inside(domain):
    """Return answers of `rows_in` that are in the domain."""
    return Answers.from_frame(rows_in(domain).iloc[2:], domain)


@pytest.mark.parametrize("name", OPEN | HIDING)
def test_reports_are_what_the_operating_systems_words_are_drawn_as(monkeypatch, name):
    """The same words give the same reports, whoever hands them over; nothing else is drawn."""
    mechanism = (OPEN | HIDING)[name]
    answers = inside(mechanism.domain)
    monkeypatch.setattr("os.urandom", np.random.default_rng(5).bytes)
    sent = mechanism.randomize(answers)
    monkeypatch.setattr("os.urandom", lambda _: pytest.fail("the operating system is asked"))
    again = np.random.default_rng(5)
    reports = mechanism.reports_of_words(
        answers, lambda count: np.frombuffer(again.bytes(4 * count), "<u4").astype(np.uint32)
    )
    assert not reports.simulated
    assert reports.to_frame().equals(sent.to_frame())


def test_reports_of_words_are_refused_as_others_are():
    mechanism = OPEN["one-layer"]
    with pytest.raises(AnswerError, match="the mechanism expects"):
        mechanism.reports_of_words(inside(NUMBERS), system_words)
    with pytest.raises(AnswerError, match=r"answer: 2\. "):
        mechanism.reports_of_words(without_some(LABELS), system_words)


def test_a_description_of_a_removed_mechanism_says_why_it_went():
    with pytest.raises(RemovedMechanismError, match=SENTENCE):
        Mechanism.from_dict(REMOVED)
    with pytest.raises(FormatError, match="mechanism 'sampled-varianc' is unknown"):
        Mechanism.from_dict({**REMOVED, "mechanism": "sampled-varianc"})


def test_noise_for_the_float_that_epsilon_is_is_read_as_noise_for_its_decimal():
    """Earlier versions took 0.07, which as a float is above the decimal, for that float."""
    mechanism = LaplaceMechanism(domain=Interval(low=0, high=8), epsilon=0.07)
    described = mechanism.to_dict()
    below = math.nextafter(described["noise_scale"], 0)
    assert below >= Fraction(mechanism.grid.steps) / Fraction(0.07)
    assert Mechanism.from_dict({**described, "noise_scale": below}) == mechanism
    for other in (math.nextafter(below, 0), math.nextafter(described["noise_scale"], math.inf)):
        with pytest.raises(FormatError, match="noise_scale should be"):
            Mechanism.from_dict({**described, "noise_scale": other})
