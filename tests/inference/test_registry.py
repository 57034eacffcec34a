import pytest

from quietcrowd.domains import Categorical, Interval, Ordinal
from quietcrowd.exceptions import FormatError, NoiseIgnoredWarning, ParameterError
from quietcrowd.inference import METHODS, Mean, WeightedVote, method_from_dict, usual_method
from quietcrowd.inference.notices import report_warnings
from quietcrowd.mechanisms import (
    LaplacePerturbation,
    MatrixFactorization,
    Mechanism,
    RandomizedResponse,
    TwoLayerRandomizedResponse,
)


@pytest.mark.parametrize(
    "method", [*(kind() for kind in METHODS.values()), WeightedVote(seed=2**60)]
)
def test_descriptions_round_trip(method):
    assert method_from_dict(method.to_dict()) == method


@pytest.mark.parametrize(
    "change",
    [
        {"method": "oracle"},
        {"method": None},
        {"version": 2},
        {"smoothing": -1},
        {"smoothing": "x"},
        {"sharpness": 1},
    ],
)
def test_bad_descriptions_are_format_errors(change):
    with pytest.raises(FormatError):
        method_from_dict(WeightedVote().to_dict() | change)


def test_a_missing_parameter_is_not_made_up():
    data = WeightedVote().to_dict()
    del data["smoothing"]
    with pytest.raises(FormatError, match="lacks smoothing"):
        method_from_dict(data)


LABELS, LEVELS = Categorical(["no", "yes"]), Ordinal(range(5))


@pytest.mark.parametrize(
    ("mechanism", "usual"),
    [
        (RandomizedResponse(domain=LABELS, epsilon=1.0), "noise-aware"),
        (RandomizedResponse(domain=LEVELS, epsilon=1.0, null="category"), "noise-aware"),
        (TwoLayerRandomizedResponse(domain=LABELS, low=0.1, high=0.4), "noise-aware"),
        (LaplacePerturbation(domain=LEVELS, epsilon=1.0, fill=None), "noise-aware"),
        (LaplacePerturbation(domain=LEVELS, epsilon=1.0), "weighted-mean"),
        (LaplacePerturbation(domain=LEVELS, epsilon=1.0, participation="released"), "noise-aware"),
        (MatrixFactorization(domain=LEVELS, epsilon=1.0), "weighted-mean"),
    ],
    ids=lambda value: value if isinstance(value, str) else value.name,
)
def test_reports_have_a_usual_method(mechanism, usual):
    assert usual_method(mechanism.report_domain, mechanism) == usual


@pytest.mark.parametrize(
    ("domain", "usual"),
    [
        (LABELS, "noise-aware"),
        (LEVELS, "noise-aware"),
        (Interval(low=0, high=1), "weighted-mean"),
    ],
)
def test_plain_answers_have_a_usual_method(domain, usual):
    assert usual_method(domain) == usual


@pytest.mark.parametrize("kind", Mechanism.registry().values(), ids=lambda kind: kind.name)
def test_a_method_without_a_model_of_the_noise_names_the_one_that_has_it(kind):
    for domain in (LABELS, LEVELS):
        try:
            mechanism = kind.from_claimed_epsilon(domain=domain, epsilon=1.0)
        except (ParameterError, TypeError):
            continue
        reads = [WeightedVote(), Mean()]
        told = [
            str(warning)
            for method in reads
            for warning in report_warnings(method, mechanism, simulated=False)
            if isinstance(warning, NoiseIgnoredWarning) and "no model" in str(warning)
        ]
        serves = usual_method(mechanism.report_domain, mechanism) == "noise-aware"
        assert told
        assert all(("--method noise-aware" in text) == serves for text in told), mechanism
