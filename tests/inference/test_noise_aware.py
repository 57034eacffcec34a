"""The front of both models: its parameters, its JSON and the conformance battery."""

import json

import attrs
import numpy as np
import pandas as pd
import pytest
from tests.nightly import by_day

import quietcrowd as qc
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.inference import NoiseAware, method_from_dict
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd.testing import check_method

pytestmark = pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.SimulatedNoiseWarning")

CROWD = qc.make_crowd(
    kind="guessing", tasks=120, workers=20, answers_per_task=4, truths=(0.85, 0.15), random_state=1
)
SITUATIONS = {
    "plain": (None, {}),
    "one layer": (qc.RandomizedResponse, {"epsilon": 2.0}),
    "NULL": (qc.RandomizedResponse, {"epsilon": 2.0, "missing": "category"}),
    "flips": (TwoLayerRandomizedResponse, {"epsilon": 2.0}),
    "epsilons": (TwoLayerRandomizedResponse, {"epsilon": 2.0, "distribution": "epsilon"}),
    "two layers, NULL": (
        TwoLayerRandomizedResponse,
        {"epsilon": 2.0, "distribution": "epsilon", "missing": "category"},
    ),
    "numbers": (qc.LaplaceMechanism, {"epsilon": 2.0, "fill": None}),
}

BY_DAY = ("two layers, NULL", "numbers")
"""Plain answers are given to every method by day, in ``tests/test_testing.py``."""


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.parametrize("situation", by_day(BY_DAY, SITUATIONS))
def test_the_conformance_battery(situation):
    mechanism, parameters = SITUATIONS[situation]
    check_method(NoiseAware(max_iter=10), mechanism, **parameters)


@pytest.mark.parametrize("prior", [None, {"no": 0.9}, {"yes": 0.25, "no": 0.75}, {1: 1}])
def test_a_prior_is_equal_after_json_and_after_a_copy(prior):
    method = NoiseAware(prior=prior, random_state=3)
    written = json.dumps(method.to_dict())
    read = method_from_dict(json.loads(written))
    assert read == method
    assert hash(read) == hash(method)
    assert json.dumps(read.to_dict()) == written
    assert attrs.evolve(method, max_iter=7).prior == method.prior
    assert method.to_dict()["prior"] == (
        None if prior is None else {str(label): share for label, share in prior.items()}
    )


@pytest.mark.parametrize(
    ("prior", "message"),
    [
        ("no", "prior must map each label .* got 'no'"),
        (0.5, "prior must map each label"),
        ([1, 2], "prior must map each label"),
        ({1: 0.5, "1": 0.25}, "to its frequency"),
        ({"no": -0.1}, "prior of 'no' must be a finite number, at least 0; got -0.1"),
        ({"no": float("nan")}, "prior of 'no' must be a finite number"),
        ({"no": "much"}, "prior of 'no' must be a finite number"),
        ({"no": 0.9, "yes": 0.2}, "prior must sum to at most 1"),
    ],
)
def test_what_is_no_prior_is_refused(prior, message):
    with pytest.raises(ParameterError, match=message):
        NoiseAware(prior=prior)
    described = {**NoiseAware().to_dict(), "prior": prior}
    with pytest.raises(FormatError, match="'noise-aware' cannot be read: prior"):
        method_from_dict(described)


def test_a_prior_of_other_labels_or_of_numbers_is_refused():
    with pytest.raises(
        ParameterError, match=r"'nein' is not a label; the labels are \['no', 'yes'\]"
    ):
        NoiseAware(prior={"nein": 0.5}).fit(CROWD.answers)
    with pytest.raises(ParameterError, match=r"must sum to 1 if it names all .* sums to 0\.6"):
        NoiseAware(prior={"no": 0.3, "yes": 0.3}).fit(CROWD.answers)
    numbers = pd.DataFrame({"task": [1, 2], "worker": [1, 1], "label": [1.5, 2.5]})
    with pytest.raises(ParameterError, match="prior requires labels"):
        NoiseAware(prior={"no": 0.5}).fit(numbers, non_private=True)


def test_a_prior_is_taken_as_it_is_and_the_rest_is_shared():
    crowd = qc.make_crowd(
        kind="guessing",
        tasks=40,
        workers=8,
        answers_per_task=3,
        labels=["a", "b", "c"],
        random_state=2,
    )
    state = NoiseAware(prior={"b": 0.5}, max_iter=4).fit(crowd.answers).state
    np.testing.assert_allclose(np.exp(state.log_priors / 2.0**32), [0.25, 0.5, 0.25], rtol=1e-9)


def test_an_estimate_with_a_prior_can_be_extended():
    frame = CROWD.answers.to_frame()
    new = frame["task"].astype(int) < 12
    method = NoiseAware(prior={"no": 0.85}, max_iter=8)
    more = method.extend(method.fit(frame[~new], non_private=True), frame[new], non_private=True)
    assert len(more.truths) == 12
    assert int(more.workers["answers"].sum()) == len(frame)


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.NoSignalWarning")
def test_truths_that_are_known_to_be_skewed_are_found_better():
    mechanism = qc.RandomizedResponse(domain=CROWD.answers.domain, epsilon=0.5)
    reports = mechanism.simulate(CROWD.answers, random_state=3)
    prior = {"no": 0.85, "yes": 0.15}
    blind, told = (
        qc.error_rate(method.fit(reports), CROWD.truths)
        for method in (NoiseAware(prior={"no": 0.5}), NoiseAware(prior=prior))
    )
    assert told < 0.3 < blind


def test_a_prior_that_says_nothing_is_none():
    assert NoiseAware(prior={}) == NoiseAware()
