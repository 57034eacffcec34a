"""One function makes every kind of synthetic crowd."""

import numpy as np
import pytest

from quietcrowd.datasets import make_crowd
from quietcrowd.datasets.crowds import SAMPLERS
from quietcrowd.exceptions import ParameterError


@pytest.mark.parametrize("kind", SAMPLERS)
def test_a_kind_is_its_sampler(kind):
    made, sampled = make_crowd(kind, tasks=12, workers=15), SAMPLERS[kind](tasks=12, workers=15)
    assert type(made) is type(sampled)
    assert made.name == sampled.name
    assert np.array_equal(made.answers.values, sampled.answers.values)
    assert made.truths.equals(sampled.truths)


def test_labels_are_the_default():
    assert np.array_equal(make_crowd().answers.values, make_crowd("labels").answers.values)


@pytest.mark.parametrize(
    ("kind", "parameters", "code", "fields"),
    [
        ("robots", {}, "parameters.not-a-choice", {"name": "kind", "value": "robots"}),
        (
            *("labels", {"sparsity": 0.9}, "parameters.parameter-unknown"),
            {"subject": "make_crowd(kind='labels')", "name": "sparsity"},
        ),
        ("sparse", {"domain": None}, "parameters.parameter-unknown", {"name": "domain"}),
    ],
)
def test_kinds_and_their_parameters_are_checked(kind, parameters, code, fields):
    with pytest.raises(ParameterError) as raised:
        make_crowd(kind, **parameters)
    assert raised.value.code == code
    assert fields.items() <= raised.value.fields.items()


def test_all_parameters_are_documented():
    for sampler in SAMPLERS.values():
        for name in sampler.__kwdefaults__:
            assert name in make_crowd.__doc__
