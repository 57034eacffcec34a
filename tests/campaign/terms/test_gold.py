import pytest

from quietcrowd import Categorical, Interval, Ordinal
from quietcrowd.campaign.terms.gold import encode_gold
from quietcrowd.campaign.terms.task_files import TaskRow
from quietcrowd.exceptions import FormatError


def rows_of(golds):
    return [TaskRow(row=row, name=None, data="{}", gold=gold) for row, gold in enumerate(golds, 2)]


@pytest.mark.parametrize(
    ("domain", "golds", "stored"),
    [
        (Categorical(["no", "yes"]), ["yes", None], ['"yes"', None]),
        (Ordinal([1, 2, 3]), ["2", 3, 3.0], ["2", "3", "3"]),
        (Interval(low=0, high=1), ["0.5", 1], ["0.5", "1.0"]),
    ],
)
def test_known_truths_are_stored_as_the_domain_has_them(domain, golds, stored):
    assert encode_gold(domain, rows_of(golds)) == stored


@pytest.mark.parametrize(
    ("domain", "gold"),
    [
        (Categorical(["no", "yes"]), "maybe"),
        (Ordinal([1, 2, 3]), 4),
        (Interval(low=0, high=1), "2"),
        (Interval(low=0, high=1), "one"),
        (Interval(low=0, high=1), "nan"),
    ],
)
def test_a_truth_outside_of_the_domain_is_named_by_its_row_and_not_shown(domain, gold):
    with pytest.raises(FormatError, match=r"^row 3: gold must be one") as caught:
        encode_gold(domain, rows_of([None, gold]))
    assert str(gold) not in str(caught.value).removeprefix("row 3: gold must be one")
