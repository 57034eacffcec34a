"""Names that helps show are those of the code."""

from typing import get_args

from attrs import fields_dict

from quietcrowd import inference
from quietcrowd.commands import names
from quietcrowd.synthesis import kde, parameters, planner, weights


def test_methods_and_parameters_of_their_own():
    fields = {name: list(fields_dict(kind)) for name, kind in inference.METHODS.items()}
    shared = set.intersection(*map(set, fields.values()))
    own = {name: ", ".join(k for k in keys if k not in shared) for name, keys in fields.items()}
    assert list(names.METHODS.items()) == list(own.items())


def test_words_of_synthesis():
    assert get_args(planner.Budget) == names.BUDGETS
    assert tuple(kde.KERNELS) == names.KERNELS
    assert get_args(parameters.Procedure) == names.RELEASES
    assert get_args(weights.Weighting) == names.WEIGHTS
