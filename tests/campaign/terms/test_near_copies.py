import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.pictures import image

from quietcrowd.campaign.terms.near_copies import alike, largest_group, sent_again

COIN, SHARED = MECHANISMS["one-layer"], MECHANISMS["two-layer"]
ASK = "Do you take drugs?"


def tasks_of(*shown):
    return [(f"t{place}", data) for place, data in enumerate(shown)]


NEAR = {
    "a number": {"ask": ASK, "n": 2},
    "a text of digits": {"ask": ASK, "n": "12 000"},
    "an id": {"ask": ASK, "n": "a8f3-77"},
    "a date": {"ask": ASK, "n": "2026-11-22"},
    "marks": {"ask": ASK, "n": " -- "},
    "nothing": {"ask": ASK, "n": None},
    "case, spaces and punctuation": {"ask": " do YOU take  \u201cdrugs\u201d?!", "n": 1},
    "wide letters": {"ask": "Do you take \uff44\uff52ugs?", "n": 1},
    "another name of the column": {"question": ASK},
    "a number at the end": {"ask": f"{ASK} (3)"},
    "a number in front": {"ask": f"3. {ASK}"},
    "a number after a word in front": {"ask": f"Question 3: {ASK}"},
    "marks within": {"ask": "Do-you take dr/ugs?"},
    "letters that nobody sees": {"ask": "Do you\u3164 take\u115f drugs?\u17b4"},
    "a nested question": {"q": {"text": ASK, "n": 7}},
    "the same image, described": {"ask": ASK, "n": image(b"1", "In front: 3. A bird.")},
}
OTHER = {
    "a picture": {"ask": ASK, "n": "17.jpg"},
    "an address": {"ask": ASK, "n": "https://example.org/17"},
    "a word": {"ask": ASK, "n": "often"},
    "a number in the prompt": {"ask": "Do you take 2 drugs?", "n": 1},
    "a list": {"ask": ASK, "n": ["a", "b"]},
    "other words": {"ask": "Are drugs what you take?", "n": 1},
    "another image": {"ask": ASK, "n": image(b"2")},
}


@pytest.mark.parametrize("name", NEAR)
def test_near_copies_show_the_same_words(name):
    first = image(b"1") if "image" in name else 1
    tasks = tasks_of({"ask": ASK, "n": first}, NEAR[name])
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 2


@pytest.mark.parametrize("name", OTHER)
def test_other_words_make_another_question(name):
    first = image(b"1") if "image" in name else 1
    tasks = tasks_of({"ask": ASK, "n": first}, OTHER[name])
    assert largest_group(tasks, COIN) == largest_group(tasks, SHARED) == 1


@pytest.mark.parametrize(
    ("shown", "once", "each"),
    [
        ([], 1, 1),
        ([{}, {}], 1, 1),
        ([{"ask": "?"}] * 4, 1, 4),
        ([{"n": 1}, {"n": 2}, {"n": 2}], 1, 2),
        ([{"ask": ASK}] * 21, 1, 21),
        ([{"ask": ASK, "n": place} for place in range(21)], 21, 21),
        ([{"ask": ASK, "n": place % 3} for place in range(21)], 3, 21),
    ],
)
def test_copies_count_once_where_one_report_serves_them(shown, once, each):
    assert largest_group(tasks_of(*shown), COIN) == once
    assert largest_group(tasks_of(*shown), SHARED) == each


def test_tasks_with_one_prompt_are_pointed_out():
    tasks = tasks_of(
        {"ask": "Is there a bird?", "image": "1.jpg"},
        {"ask": "Is there a bird?", "image": "2.jpg"},
        {"ask": "is there a bird", "image": "2.jpg"},
        {"ask": ASK, "n": 1},
        {"ask": ASK, "n": 2},
        {"ask": "Is it you?"},
        {"ask": "Is it you?"},
        {"image": "3.jpg", "kind": "bird"},
        {"image": "4.jpg", "kind": "bird"},
        {},
        {"ask": "Is it?", "image": image(b"1", "A bird in a tall green tree")},
        {"ask": "Is it?", "image": image(b"2", "A bird in a tall green tree")},
    )
    assert alike(tasks) == (("t0", "t1", "t2"), ("t3", "t4"), ("t10", "t11"))


def test_which_reports_are_sent_again():
    assert [name for name, one in MECHANISMS.items() if sent_again(one)] == [
        *("one-layer", "one-layer with NULL", "laplace", "laplace, filled", "laplace with a bit"),
    ]
