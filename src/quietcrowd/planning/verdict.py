"""Verdict on a planned campaign, in words that need no statistics.

A result is *good* if its expected error is at most half of a guess's, *useless* if its interval
reaches the guess, and *weak* in between. In a survey, the half-width of an interval replaces the
error, and half of the range the guess: shares are good up to ± 15 points, means up to 15 % of the
range.
"""

import math
from typing import Literal, TypeAlias

from attrs import frozen

from quietcrowd.privacy.guarantee import show_loss

Standing: TypeAlias = Literal["good", "weak", "useless"]

CLEAR = {"error_rate": 0.5, "mae": 0.5, "share": 0.3, "mean": 0.3}
"""Largest good error, as a fraction of a guess's.

Errors are fractions of wrong labels, mean absolute errors, or half-widths of intervals."""

ALMOST = 0.9
"""Expected errors above this fraction of a guess's are about as large."""

DIGITS = 3

MANY = 100
"""From this many questions on, wrong ones are counted out of 100."""


def standing_of(score: str, error: float, high: float, guess: float) -> Standing:
    """Return whether a result is good; `high` ends its interval for at least 100 questions.

    Examples
    --------
    >>> [standing_of("error_rate", error, error + 0.1, 0.46) for error in (0.23, 0.35, 0.4)]
    ['good', 'weak', 'useless']
    >>> [standing_of("share", points / 100, points / 100, 0.5) for points in (15, 16, 50)]
    ['good', 'weak', 'useless']
    """
    if high >= guess:
        return "useless"
    return "good" if error <= CLEAR[score] * guess else "weak"


@frozen(kw_only=True)
class Outcome:
    """Expected error for some number of tasks, its interval, and the error of a guess."""

    score: str
    tasks: int
    error: float
    low: float
    high: float
    guess: float
    standing: Standing

    @property
    def is_survey(self) -> bool:
        """Whether shares or means are estimated."""
        return self.score in ("share", "mean")

    @property
    def judged(self) -> str:
        """The verdict in a few words, with a verb."""
        if self.is_survey:
            words = {"good": "usable", "weak": "rough", "useless": "as good as not asking"}
            return f"is {words[self.standing]}"
        if self.low > self.guess:
            return "is worse than guessing"
        if self.standing == "good":
            return f"is {'probably ' * (self.high >= self.guess)}better than guessing"
        if self.standing == "useless" and self.error >= ALMOST * self.guess:
            return "is as good as guessing"
        if self.high >= self.guess:
            return "may be as good as guessing"
        return "is only somewhat better than guessing"

    @property
    def heading(self) -> str:
        """The verdict as a heading."""
        words = self.judged.removeprefix("is ")
        return words[0].upper() + words[1:]

    @property
    def summary(self) -> str:
        """The expected error in a few words."""
        if self.is_survey:
            return f"each {self.score} is known to about {self._width(self.error)}"
        if self.score == "mae":
            return f"off by about {self.error:.3g}"
        digits = 0 if self.error >= 0.02 else 1
        return f"wrong for {self._count(f'{100 * self.error:.{digits}f}')} questions"

    @property
    def sentences(self) -> str:
        """The expected error, that of a guess, and the verdict."""
        if self.is_survey:
            found = self._widths()
        else:
            found = self._rates() if self.score == "error_rate" else self._lengths()
        return f"{found} This {self.judged}{self._remark}."

    @property
    def _remark(self) -> str:
        if self.is_survey:
            most = self._width(CLEAR[self.score] * self.guess)
            return f": more than {most}" if self.standing == "weak" else ""
        if self.standing == "useless" or self.high < self.guess:
            return ""
        link = "but" if self.standing == "good" else "because"
        return f", {link} so few questions leave much to chance"

    def _count(self, percent: str) -> str:
        """Count wrong ones out of 100, or of fewer questions."""
        if not 1 < self.tasks < MANY:
            return f"about {percent} of 100"
        wrong = round(self.error * self.tasks)
        return f"{f'about {wrong}' if wrong else 'less than 1'} of {self.tasks}"

    def _rates(self) -> str:
        """Describe fractions of wrong labels, with the digits that show a difference to a guess."""
        digits = next((one for one in range(DIGITS) if self._is_shown(one)), DIGITS)
        error, low, high, guess = (
            f"{100 * value:.{digits}f}" for value in (self.error, self.low, self.high, self.guess)
        )
        first, sign = (f"{error} %; ", " %") if 1 < self.tasks < MANY else ("", "")
        return (
            f"the result will be wrong for {self._count(error)} questions ({first}90 % interval: "
            f"{low} to {high}{sign}). Guessing: {guess}{sign}."
        )

    def _is_shown(self, digits: int) -> bool:
        if not self.error:
            return True
        error, high, guess = (
            round(100 * value, digits) for value in (self.error, self.high, self.guess)
        )
        return bool(error) and (self.high >= self.guess or high != guess)

    def _lengths(self) -> str:
        return (
            f"a result will be off by about {self.error:.3g} on average (90 % interval: "
            f"{self.low:.3g} to {self.high:.3g}). Guessing: {self.guess:.3g}."
        )

    def _widths(self) -> str:
        return (
            f"each {self.score} will be known to about {self._width(self.error)} (95 %). Without "
            f"answers: {self._width(self.guess)}."
        )

    def _width(self, value: float) -> str:
        most = min(value, self.guess)
        if self.score == "mean":
            return f"± {most:.2g}"
        return f"± {100 * most:.{0 if most >= 0.01 else 1}f} points"


def crowd_words(people: int, tasks: int, answers: int, total: float, most: str = "") -> str:
    """Describe a planned campaign, as the beginning of a sentence; `most` precedes the total."""
    crowd = "1 person" if people == 1 else f"{people:,} people"
    asked = "1 question" if tasks == 1 else f"{tasks:,} questions"
    if answers < tasks:
        asked += f" ({answers:,} for each person)"
    if math.isinf(total):
        return f"With {crowd}, {asked} and no noise"
    return f"With {crowd}, {asked} and a total of {most}ε = {show_total(total)} per person"


def show_total(total: float, digits: int = DIGITS) -> str:
    """Format the loss of all answers, as `show_loss` does, but large ones without an exponent."""
    if total < 10**digits or math.isinf(total):
        return show_loss(total, digits)
    return f"{math.ceil(total * (1 - 1e-12)):,}"
