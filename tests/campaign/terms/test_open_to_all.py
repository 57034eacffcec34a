import pytest

from quietcrowd.campaign.terms.open_to_all import most_participants


@pytest.mark.parametrize(
    ("join_mode", "named", "most"),
    [("open", None, 10_000), ("open", 3, 3), ("invite", None, None), ("invite", 3, 3)],
)
def test_what_is_open_to_all_has_a_limit_in_any_case(join_mode, named, most):
    assert most_participants(join_mode, named) == most
