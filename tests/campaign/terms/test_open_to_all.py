import pytest

from quietcrowd.campaign.terms.open_to_all import most_joined


@pytest.mark.parametrize(
    ("named", "participants", "least", "most"),
    [
        (None, None, 5, 10_000),
        (None, 40, 5, 400),
        (None, 1, 100, 100),
        (70, 40, 5, 70),
        (3, None, 5, 5),
        (3, None, 1, 3),
    ],
)
def test_so_many_may_join(named, participants, least, most):
    assert most_joined(named, participants, least) == most
