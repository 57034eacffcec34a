import json
import sys

import attrs
import numpy as np
import pandas as pd
import pytest
from tests.nightly import nightly

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError
from quietcrowd.mechanisms import Mechanism, OptimalMechanism, RandomizedResponse
from quietcrowd.mechanisms import staircase_programme as programme

ABC = qc.Categorical(["a", "b", "c"])
STARS = qc.Ordinal(range(1, 6))


@pytest.mark.parametrize(
    "mechanism",
    [
        OptimalMechanism(domain=ABC, epsilon=1.0),
        OptimalMechanism(domain=ABC, epsilon=0.3, prior={"a": 0.9}, apart=0.0),
        OptimalMechanism(domain=STARS, epsilon=2.0, information="fisher"),
        OptimalMechanism(domain=STARS, epsilon=0.0),
    ],
    ids=["even", "prior", "levels", "nothing"],
)
def test_from_json_it_is_the_same_and_nothing_is_solved_again(mechanism, monkeypatch):
    text = json.dumps(mechanism.to_dict())
    monkeypatch.setattr(programme, "_Programme", None)
    back = Mechanism.from_dict(json.loads(text))
    assert back == mechanism
    assert hash(back) == hash(mechanism)
    assert attrs.evolve(back) == mechanism
    assert back.channel == mechanism.channel
    assert len(repr(mechanism)) < 200


def test_other_weights_are_another_mechanism():
    mechanism = OptimalMechanism(domain=ABC, epsilon=1.0)
    rotated = np.roll(mechanism.channel.weights, 1, axis=1)
    other = OptimalMechanism(domain=ABC, epsilon=1.0, weights=rotated)
    assert other != mechanism
    assert other.guarantee() == mechanism.guarantee()
    assert other.information_kept == pytest.approx(mechanism.information_kept)


def test_a_device_that_is_given_weights_needs_no_scipy(monkeypatch):
    described = OptimalMechanism(domain=ABC, epsilon=1.0, prior={"a": 0.5}).to_dict()
    monkeypatch.setitem(sys.modules, "scipy.optimize", None)  # importing it raises
    mechanism = Mechanism.from_dict(described)
    answers = qc.Answers.from_frame(pd.DataFrame({"task": ["t"], "worker": "w", "label": "a"}), ABC)
    assert len(mechanism.randomize(answers)) == 1
    with pytest.raises(ImportError):
        OptimalMechanism(domain=ABC, epsilon=1.0)


EVEN = [[2**31, 2**31]] * 3


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"domain": qc.Ordinal(range(13))}, "at most 12 labels for the best channel; got 13"),
        ({"domain": qc.Interval(low=0, high=1)}, "must be Categorical or Ordinal"),
        ({"epsilon": 16.5}, "epsilon must be a number from 0 to 16"),
        ({"epsilon": None}, "must be a number; got None"),
        ({"epsilon": float("nan")}, "epsilon must be a number from 0 to 16"),
        ({"missing": "category"}, "missing must be None .* one-layer:missing=category"),
        ({"information": "fisher"}, 'information="fisher" requires levels'),
        ({"information": "all"}, "information must be one of 'mutual', 'fisher'"),
        ({"apart": 1.5}, "apart must be a number from 0 to 1"),
        ({"prior": {"d": 0.5}}, "prior: 'd' is not a label"),
        ({"prior": {"a": 0.5, "b": 0.5}}, "prior of 'c' must be above 0"),
        ({"weights": EVEN[:2]}, "a row for each of the 3 labels; got 2"),
        ({"weights": [[1, 2], [3, 4], [5, 6]]}, r"row 0 must sum to 2\^32"),
        ({"weights": "many"}, "weights must be a table of integers"),
        (
            {"weights": [[7 * 2**29, 2**29], *EVEN[1:]]},
            "weights must have a privacy loss of at most epsilon=1.0",
        ),
        ({"weights": [[2**32, 0], *EVEN[1:]]}, "the privacy loss must be at most 16"),
    ],
)
def test_what_cannot_be_is_refused(parameters, message):
    with pytest.raises((ParameterError, AnswerError), match=message):
        OptimalMechanism(**{"domain": ABC, "epsilon": 1.0, **parameters})


@pytest.mark.parametrize(
    "changed",
    [{"weights": None}, {"weights": 5}, {"epsilon": 0.5}, {"prior": {"x": 1}}, {"apart": "far"}],
    ids=["no weights", "a number", "epsilon", "prior", "apart"],
)
def test_a_description_that_is_none_is_refused(changed):
    described = OptimalMechanism(domain=ABC, epsilon=1.0).to_dict() | changed
    with pytest.raises(FormatError, match="cannot be read"):
        Mechanism.from_dict(described)


def test_it_keeps_more_than_randomised_response():
    prior = {"a": 0.7, "b": 0.2}
    best = OptimalMechanism(domain=ABC, epsilon=1.0, prior=prior)
    plain = RandomizedResponse(domain=ABC, epsilon=1.0).channel.weights
    other = OptimalMechanism(domain=ABC, epsilon=1.0, prior=prior, weights=plain)
    assert best.information_kept > 1.02 * other.information_kept
    identity = 2**32 * np.eye(3, dtype=np.int64)
    with pytest.raises(ParameterError):
        OptimalMechanism(domain=ABC, epsilon=16.0, weights=identity)


def test_for_levels_neighbours_share_columns():
    """Without a bound on how far two levels are apart: a report says "low" or "high"."""
    mechanism = OptimalMechanism(domain=STARS, epsilon=0.5, information="fisher", apart=0.0)
    weights = mechanism.channel.weights
    inside = weights > weights.min(axis=0)
    assert (np.abs(np.diff(inside.astype(int), axis=0)).sum(axis=0) == 1).all()
    labels = OptimalMechanism(domain=STARS, epsilon=0.5)
    as_levels = attrs.evolve(mechanism, weights=labels.channel.weights)
    assert mechanism.information_kept > 1.1 * as_levels.information_kept


def test_reports_are_numbers_of_columns_and_other_methods_refuse_them():
    crowd = qc.make_crowd(tasks=30, workers=20, labels=["a", "b", "c"], random_state=1)
    mechanism = OptimalMechanism(domain=ABC, epsilon=5.0, prior={"a": 0.4})
    reports = mechanism.randomize(crowd.answers)
    assert reports.table.domain == qc.Categorical(range(1, mechanism.channel.reports + 1))
    with pytest.raises(AnswerError, match=r"MajorityVote reads reports as answers.*NoiseAware"):
        qc.MajorityVote().fit(reports)
    estimate = qc.NoiseAware().fit(reports)
    assert set(estimate.truths["truth"]) <= {"a", "b", "c"}
    assert qc.error_rate(estimate, crowd.truths) < 0.4  # a constant guess: about .67


@pytest.mark.nightly
@pytest.mark.parametrize("epsilon", [1.0, nightly(8.0)])
def test_an_audit_proves_nine_tenths_of_the_loss(epsilon):
    """The generator is fixed: it proves as much each time."""
    mechanism = OptimalMechanism(domain=STARS, epsilon=epsilon, prior={1: 0.5})
    report = audit(mechanism, draws=100_000, random_state=3)
    assert report.holds
    assert report.proven_epsilon >= 0.9 * epsilon
