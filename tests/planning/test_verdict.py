import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.planning.verdict import summary, verdict

SAID = {
    "people": 50,
    "tasks": 200,
    "answers": 200,
    "total_epsilon": 5.0,
    "score": "error_rate",
    "error": 0.2,
    "low": 0.15,
    "high": 0.25,
    "guess": 0.48,
    "useless": False,
}


@pytest.mark.parametrize(
    ("changed", "told"),
    [
        ({}, "With 50 people, 200 questions and a total of ε = 5 per person, the result will be"),
        (
            {},
            "wrong for about 20 of 100 questions (90 % interval: 15 to 25). Guessing: 48.",
        ),
        ({}, "This is better than guessing."),
        ({"answers": 5}, "200 questions (5 for each person) and a total of ε = 5 per person"),
        ({"people": 1, "tasks": 1, "answers": 1}, "With 1 person, 1 question and a total"),
        ({"total_epsilon": 3000.0}, "200 questions and a total of ε = 3,000 per person"),
        ({"total_epsilon": 1234.56}, "200 questions and a total of ε = 1,235 per person"),
        ({"total_epsilon": math.inf}, "200 questions and no noise, the result"),
        ({"error": 0.46, "high": 0.5, "useless": True}, "This is as good as guessing."),
        ({"error": 0.3, "high": 0.5, "useless": True}, "This may be as good as guessing."),
        ({"error": 0.9, "low": 0.8, "high": 1.0, "useless": True}, "This is worse than guessing."),
        ({"high": 0.6}, "better than guessing, but with so few questions chance may spoil it."),
        (
            {"error": 0.46, "high": 0.478},
            "46.0 of 100 questions (90 % interval: 15.0 to 47.8",
        ),
        ({"error": 0.001, "low": 0.0}, "about 0.1 of 100 questions"),
        ({"score": "mae", "error": 1.234, "guess": 2}, "off by about 1.23 on average (90 % "),
        ({"score": "mae", "error": 1.234, "guess": 2}, "Guessing: 2. This is better than"),
    ],
)
def test_a_verdict_is_a_few_sentences(changed, told):
    assert told in verdict(**{**SAID, **changed})


def test_a_summary_is_a_few_words():
    assert summary("error_rate", 0.204) == "wrong for about 20 of 100 questions"
    assert summary("error_rate", 0.012) == "wrong for about 1.2 of 100 questions"
    assert summary("mae", 1.234) == "off by about 1.23"


RATES = st.floats(0, 1)


@given(error=RATES, low=RATES, high=RATES, guess=RATES, useless=st.booleans())
def test_a_result_that_beats_a_guess_never_looks_as_bad_as_the_guess(
    error, low, high, guess, useless
):
    told = verdict(
        **{**SAID, "error": error, "low": low, "high": high, "guess": guess, "useless": useless}
    )
    shown = told.partition(" to ")[2].partition(")")[0], told.partition("Guessing: ")[2]
    ends = float(shown[0]), float(shown[1].partition(". ")[0])
    assert told.endswith("This is better than guessing.") <= (ends[0] <= ends[1])
    assert told.count("This ") == 1
