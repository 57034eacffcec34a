import pytest
from tests.campaign.mechanisms import MECHANISMS

from quietcrowd.campaign.terms.mechanisms import decoded


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
