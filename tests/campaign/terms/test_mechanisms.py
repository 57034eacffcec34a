import pytest
from tests.campaign.mechanisms import MECHANISMS

from quietcrowd.campaign.terms.mechanisms import decoded, usable_mechanism, why_not_in_page
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.mechanisms import FiniteChannel


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

    monkeypatch.setattr(FiniteChannel, "describe", silent)
    with pytest.raises(FormatError, match="whose reports a campaign can take in"):
        usable_mechanism(described)


@pytest.mark.parametrize("name", MECHANISMS)
def test_pages_randomise_with_all_that_needs_no_equations_solved(name):
    reason = why_not_in_page(MECHANISMS[name])
    assert (reason is None) == (name != "matrix factorisation, ridge")
    assert reason is None or 'variant "ridge" solves' in reason
