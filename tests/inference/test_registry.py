import pytest

from quietcrowd.exceptions import FormatError
from quietcrowd.inference import METHODS, WeightedVote, method_from_dict


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
