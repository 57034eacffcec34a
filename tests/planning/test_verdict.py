import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.planning.verdict import Outcome, crowd_words, show_total, standing_of

ERRORS = {
    **{"score": "error_rate", "tasks": 200, "error": 0.2, "low": 0.15, "high": 0.25},
    **{"guess": 0.48, "standing": "good"},
}
FEW = {"tasks": 12, "error": 0.35, "low": 0.12, "high": 0.61, "guess": 0.46, "standing": "weak"}
USELESS = {"standing": "useless", "high": 0.5}
SHARES = {"score": "share", "guess": 0.5}


def outcome(**changed):
    return Outcome(**{**ERRORS, **changed})


@pytest.mark.parametrize(
    ("score", "error", "high", "guess", "standing"),
    [
        ("error_rate", 0.24, 0.3, 0.48, "good"),
        ("error_rate", 0.25, 0.3, 0.48, "weak"),
        ("error_rate", 0.47, 0.479, 0.48, "weak"),
        ("error_rate", 0.24, 0.48, 0.48, "useless"),
        ("error_rate", 0.35, 0.44, 0.46, "weak"),
        ("mae", 1.0, 1.2, 2.0, "good"),
        ("mae", 1.01, 1.2, 2.0, "weak"),
        ("mae", 1.0, 2.0, 2.0, "useless"),
        ("share", 0.15, 0.15, 0.5, "good"),
        ("share", 0.151, 0.151, 0.5, "weak"),
        ("share", 0.5, 0.5, 0.5, "useless"),
        ("mean", 0.6, 0.6, 2.0, "good"),
        ("mean", 0.61, 0.61, 2.0, "weak"),
        ("mean", 2.5, 2.5, 2.0, "useless"),
    ],
)
def test_a_result_is_good_weak_or_useless(score, error, high, guess, standing):
    assert standing_of(score, error, high, guess) == standing


@pytest.mark.parametrize(
    ("changed", "heading", "told"),
    [
        (
            {},
            "Better than guessing",
            "the result will be wrong for about 20 of 100 questions (90 % interval: 15 to 25). "
            "Guessing: 48. This is better than guessing.",
        ),
        (
            FEW,
            "May be as good as guessing",
            "the result will be wrong for about 4 of 12 questions (35 %; 90 % interval: 12 to "
            "61 %). Guessing: 46 %. This may be as good as guessing, because so few questions "
            "leave much to chance.",
        ),
        (
            {**FEW, "error": 0.2, "low": 0.0, "standing": "good"},
            "Probably better than guessing",
            "about 2 of 12 questions (20 %; 90 % interval: 0 to 61 %). Guessing: 46 %. This is "
            "probably better than guessing, but so few questions leave much to chance.",
        ),
        (
            {**FEW, "error": 0.03, "low": 0.0, "standing": "good"},
            "Probably better than guessing",
            "wrong for less than 1 of 12 questions (3 %; 90 % interval",
        ),
        (
            {"tasks": 1, "high": 1.0},
            "Probably better than guessing",
            "about 20 of 100 questions (90 % interval: 15 to 100)",
        ),
        (
            {"error": 0.3, "high": 0.4, "standing": "weak"},
            "Only somewhat better than guessing",
            "Guessing: 48. This is only somewhat better than guessing.",
        ),
        ({**USELESS, "error": 0.46}, "As good as guessing", "This is as good as guessing."),
        (
            {**USELESS, "error": 0.3},
            "May be as good as guessing",
            "This may be as good as guessing.",
        ),
        (
            {**USELESS, "error": 0.9, "low": 0.8, "high": 1.0},
            "Worse than guessing",
            "This is worse than guessing.",
        ),
        (
            {"error": 0.46, "high": 0.478, "standing": "weak"},
            "Only somewhat better than guessing",
            "46.0 of 100 questions (90 % interval: 15.0 to 47.8",
        ),
        ({"error": 0.001, "low": 0.0}, "Better than guessing", "about 0.1 of 100 questions"),
        (
            {"score": "mae", "error": 0.984, "low": 0.5, "high": 1.5, "guess": 2},
            "Better than guessing",
            "a result will be off by about 0.984 on average (90 % interval: 0.5 to 1.5). Guessing: "
            "2. This is better than guessing.",
        ),
        (
            {**SHARES, "error": 0.09},
            "Usable",
            "each share will be known to about ± 9 points (95 %). Without answers: ± 50 points. "
            "This is usable.",
        ),
        ({**SHARES, "error": 0.004}, "Usable", "to about ± 0.4 points (95 %)."),
        (
            {**SHARES, "error": 0.22, "standing": "weak"},
            "Rough",
            "to about ± 22 points (95 %). Without answers: ± 50 points. This is rough: more than "
            "± 15 points.",
        ),
        (
            {**SHARES, "error": 0.8, "standing": "useless"},
            "As good as not asking",
            "to about ± 50 points (95 %). Without answers: ± 50 points. This is as good as not "
            "asking.",
        ),
        (
            {"score": "mean", "error": 0.7, "guess": 2, "standing": "weak"},
            "Rough",
            "each mean will be known to about ± 0.7 (95 %). Without answers: ± 2. This is rough: "
            "more than ± 0.6.",
        ),
    ],
)
def test_a_verdict_is_a_few_sentences(changed, heading, told):
    found = outcome(**changed)
    assert found.heading == heading
    assert told in found.sentences


@pytest.mark.parametrize(
    ("crowd", "told"),
    [
        ((50, 200, 200, 5.0), "With 50 people, 200 questions and a total of ε = 5 per person"),
        ((50, 200, 5, 5.0), "With 50 people, 200 questions (5 for each person) and a total of"),
        ((1, 1, 1, 5.0), "With 1 person, 1 question and a total"),
        ((50, 200, 200, 3000.0), "200 questions and a total of ε = 3,000 per person"),
        ((50, 200, 200, math.inf), "200 questions and no noise"),
    ],
)
def test_a_verdict_begins_with_the_campaign(crowd, told):
    assert crowd_words(*crowd).startswith(told) or told in crowd_words(*crowd)
    assert show_total(1234.56) == "1,235"


def test_a_summary_is_a_few_words():
    assert outcome(error=0.204).summary == "wrong for about 20 of 100 questions"
    assert outcome(error=0.012).summary == "wrong for about 1.2 of 100 questions"
    assert outcome(error=0.204, tasks=30).summary == "wrong for about 6 of 30 questions"
    assert outcome(score="mae", error=1.234).summary == "off by about 1.23"
    assert outcome(**SHARES, error=0.09).summary == "each share is known to about ± 9 points"


RATES = st.floats(0, 1)


@given(error=RATES, low=RATES, high=RATES, guess=RATES, tasks=st.sampled_from([1, 12, 200]))
def test_a_result_that_beats_a_guess_never_looks_as_bad_as_the_guess(
    error, low, high, guess, tasks
):
    standing = standing_of("error_rate", error, high, guess)
    told = outcome(
        tasks=tasks, error=error, low=low, high=high, guess=guess, standing=standing
    ).sentences
    shown = told.partition(" to ")[2].partition(")")[0], told.partition("Guessing: ")[2]
    ends = (float(part.partition(" %")[0].partition(". ")[0]) for part in shown)
    if told.endswith("This is better than guessing."):
        high_shown, guess_shown = ends
        assert high_shown <= guess_shown
    assert told.count("This ") == 1
