import pytest

from quietcrowd import Categorical, Interval, Ordinal
from quietcrowd.campaign.gold import encode_gold


@pytest.mark.parametrize(
    ("domain", "golds", "stored"),
    [
        (Categorical(["no", "yes"]), ["yes", None], ['"yes"', None]),
        (Ordinal([1, 2, 3]), ["2", 3, 3.0], ["2", "3", "3"]),
        (Interval(low=0, high=1), ["0.5", 1], ["0.5", "1.0"]),
        (Categorical(["no", "yes"]), ["maybe"], None),
        (Ordinal([1, 2, 3]), [4], None),
        (Interval(low=0, high=1), ["2"], None),
        (Interval(low=0, high=1), ["one"], None),
        (Interval(low=0, high=1), ["nan"], None),
    ],
)
def test_known_truths_lie_in_the_domain(domain, golds, stored):
    assert encode_gold(domain, golds) == stored
