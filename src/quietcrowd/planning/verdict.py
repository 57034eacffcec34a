"""Verdict on a planned campaign, in words that need no statistics."""

import math

from quietcrowd.privacy.guarantee import show_loss

ALMOST = 0.9
"""Expected errors above this fraction of a guess's are about as large."""

DIGITS = 3


def verdict(
    *,
    people: int,
    tasks: int,
    answers: int,
    total_epsilon: float,
    score: str,
    error: float,
    low: float,
    high: float,
    guess: float,
    useless: bool,
) -> str:
    """Return the expected result of a campaign, with its 90 % interval, next to a guess.

    `score` is ``error_rate`` or ``mae``. `useless` is whether the interval reaches the guess.

    Examples
    --------
    >>> told = verdict(people=50, tasks=200, answers=200, total_epsilon=5.0, score="error_rate",
    ...                error=0.46, low=0.4, high=0.53, guess=0.48, useless=True)
    >>> print(told)  # doctest: +NORMALIZE_WHITESPACE
    With 50 people, 200 questions and a total of ε = 5 per person, the result will be wrong for
    about 46 of 100 questions (90 % interval: 40 to 53). Guessing: 48. This is as good as guessing.
    """
    return f"{_crowd(people, tasks, answers, total_epsilon)}, " + " ".join(
        [
            *(_rates if score == "error_rate" else _lengths)(error, low, high, guess),
            _judged(error, low, high, guess, useless=useless),
        ]
    )


def summary(score: str, error: float) -> str:
    """Return the expected error in a few words."""
    if score != "error_rate":
        return f"off by about {error:.3g}"
    digits = 0 if error >= 0.02 else 1
    return f"wrong for about {100 * error:.{digits}f} of 100 questions"


def show_total(total: float, digits: int = DIGITS) -> str:
    """Format the loss of all answers, as `show_loss` does, but large ones without an exponent."""
    if total < 10**digits or math.isinf(total):
        return show_loss(total, digits)
    return f"{math.ceil(total * (1 - 1e-12)):,}"


def _crowd(people: int, tasks: int, answers: int, total: float) -> str:
    crowd = "1 person" if people == 1 else f"{people:,} people"
    asked = "1 question" if tasks == 1 else f"{tasks:,} questions"
    if answers < tasks:
        asked += f" ({answers:,} for each person)"
    if math.isinf(total):
        return f"With {crowd}, {asked} and no noise"
    return f"With {crowd}, {asked} and a total of ε = {show_total(total)} per person"


def _rates(error: float, low: float, high: float, guess: float) -> tuple[str, str]:
    """Describe fractions of wrong labels, with the digits that show a difference to the guess."""
    digits = next(
        (
            digits
            for digits in range(DIGITS)
            if not error or (_rounded(error, digits) and (_differ(high, guess, digits)))
        ),
        DIGITS,
    )

    def shown(value: float) -> str:
        return f"{100 * value:.{digits}f}"

    return (
        f"the result will be wrong for about {shown(error)} of 100 questions (90 % interval: "
        f"{shown(low)} to {shown(high)}).",
        f"Guessing: {shown(guess)}.",
    )


def _rounded(value: float, digits: int) -> float:
    return round(100 * value, digits)


def _differ(high: float, guess: float, digits: int) -> bool:
    return high >= guess or _rounded(high, digits) != _rounded(guess, digits)


def _lengths(error: float, low: float, high: float, guess: float) -> tuple[str, str]:
    return (
        f"a result will be off by about {error:.3g} on average (90 % interval: {low:.3g} to "
        f"{high:.3g}).",
        f"Guessing: {guess:.3g}.",
    )


def _judged(error: float, low: float, high: float, guess: float, *, useless: bool) -> str:
    if low > guess:
        return "This is worse than guessing."
    if useless:
        most = "is" if error >= ALMOST * guess else "may be"
        return f"This {most} as good as guessing."
    if high >= guess:
        return "This is better than guessing, but with so few questions chance may spoil it."
    return "This is better than guessing."
