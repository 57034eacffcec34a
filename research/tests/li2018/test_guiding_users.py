"""Workers who are guided by their weights."""

import pytest

from quietcrowd_research.li2018.guiding_users import WEIGHTINGS, guiding_users
from quietcrowd_research.li2018.peer_grading import drawn_peer_grading


@pytest.mark.nightly
def test_weights_do_not_matter_where_reports_tell_nothing():
    """100 trials; each mean is off by 7 standard errors with less than 10^-6."""
    frame = guiding_users(drawn_peer_grading(1), epsilons=(8.0, 0.0), trials=100, seed=0)
    near, nothing = frame.to_dict("records")
    for name in WEIGHTINGS:
        assert near[name] < 0.4
        assert abs(nothing[name] - 0.5) < 7 * nothing[f"{name}_se"]
    assert near["small"] > nothing["small"]
