import pytest
from tests.campaign.mechanisms import MECHANISMS

from quietcrowd.campaign.near_copies import largest_group, near_copies, prompt, sent_again

COIN, SHARED = MECHANISMS["one-layer"], MECHANISMS["two-layer"]


def tasks_of(*shown):
    return [(f"t{place}", data) for place, data in enumerate(shown)]


def test_a_prompt_is_the_column_with_most_words_whatever_its_looks():
    assert prompt({"id": "a-17", "ask": "Do you  take Drugs?"}) == ("do", "you", "take", "drugs")
    assert prompt({"ask": "do you take drugs", "n": 4}) == prompt(
        {"x": "\uff24\uff2f you take: “drugs”!"}
    )
    assert prompt({"image": "17.jpg", "kind": "bird"}) == ("17jpg", "bird")
    assert prompt({"a": 3, "b": [1], "c": "12 000", "d": None}) == ()
    assert prompt({}) == ()


def test_near_copies_have_one_prompt_and_other_data():
    tasks = tasks_of(
        {"ask": "Do you take drugs?", "n": 1},
        {"ask": "do you take drugs", "n": 2},
        {"ask": "Do you take drugs?", "n": 1},
        {"ask": "Do you drink?", "n": 1},
        {"ask": "Is it you?"},
        {"ask": "Is it you?"},
        {},
        {},
    )
    assert near_copies(tasks) == (("t0", "t1", "t2"),)


@pytest.mark.parametrize(
    ("shown", "once", "each"),
    [
        ([{}, {}], 1, 1),
        ([{"ask": "Is it 1?"}, {"ask": "Is it 2?"}], 1, 1),
        ([{"ask": "Is it you?"}] * 21, 1, 21),
        ([{"ask": "Is it you?", "n": place} for place in range(21)], 21, 21),
        ([{"ask": "Is it you?", "n": place % 3} for place in range(21)], 3, 21),
        ([{"ask": "Is it?", "n": 1}, {"ask": "is it", "n": 1}, {"ask": "Am I?"}], 2, 2),
    ],
)
def test_copies_count_once_where_one_report_serves_them(shown, once, each):
    assert largest_group(tasks_of(*shown), COIN) == once
    assert largest_group(tasks_of(*shown), SHARED) == each


def test_which_reports_are_sent_again():
    assert [name for name, one in MECHANISMS.items() if sent_again(one)] == [
        *("one-layer", "one-layer with NULL", "laplace", "laplace, filled", "laplace with a bit"),
    ]
