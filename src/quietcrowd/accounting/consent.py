"""What a guarantee means, in sentences for the worker whose answers it is about.

A loss of epsilon multiplies the odds of anything about an answer by at most ``exp(epsilon)``. So
whoever thought it likely with probability p before is at most
``p / (p + (1 - p) exp(-epsilon))`` sure after, whatever else they know. Printed figures are
rounded up: "at most" is true. Where delta is above 0 the figures are those of the tail bound.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from quietcrowd.accounting.shuffled import ShuffledGuarantee
from quietcrowd.exceptions import ParameterError
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.privacy.rounding import as_entered, exp_of, ratio_up
from quietcrowd.validation import check_proportion, plain

__all__ = ["consent_sentences", "most_sure", "show_most_sure"]

_CERTAIN = Fraction(1, 10**6)
"""Doubts below it are not worth a number."""

_DOUBT = Fraction(1, 1000)
"""A doubt that is smaller is none that a worker should count on."""

_NOT_HIDDEN = (
    "it is not hidden: no limit worth a number is promised, and somebody may become practically "
    "certain of it"
)

_DUST = Fraction(1, 10**12)
"""What is no more above a round number prints as it, as in `show_loss`."""

_MANY = 10**18
"""So many cases are not counted further."""

_LARGEST = 1000.0
"""Losses above it leave no doubt: less than e^-1000."""


def consent_sentences(
    guarantee: PrivacyGuarantee,
    *,
    priors: Sequence[float] = (0.5,),
    shuffled: ShuffledGuarantee | None = None,
) -> tuple[str, ...]:
    """Say what a worker agrees to.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        Of the answers that the worker is to give, as ``mechanism.guarantee(answers=20)``.
    priors : sequence of float
        How sure somebody was before, above 0 and below 1; at least one.
    shuffled : ShuffledGuarantee, optional
        Of a poll with shuffling, with this guarantee as its `local`.

    Returns
    -------
    tuple of str
        About one answer, or a fact that linked answers share; about a fact that shows in all of
        them, where there are several; about having answered; about chance, where delta is above 0;
        and, of a poll with shuffling, what holds if its assumption does.

    Raises
    ------
    ParameterError
        Where there is no guarantee or no prior, one is out of its range, or `shuffled` is of
        another guarantee.

    Notes
    -----
    For delta above 0 the figures are those of `PrivacyGuarantee.tail`: each is exceeded with its
    probability at most, against one alternative that is fixed beforehand; the last sentence says
    so. A pair (epsilon, delta) would not do: its epsilon may be exceeded more often.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> one, both, participation = consent_sentences(mechanism.guarantee(answers=3))
    >>> print(one.partition(" and ")[0])
    About one answer: whoever knows all your others
    >>> print(participation.partition(".")[0])
    It shows which questions you answered
    """
    if not isinstance(guarantee, PrivacyGuarantee):
        raise ParameterError(
            "guarantee must be a PrivacyGuarantee, as mechanism.guarantee(answers=20) gives it; "
            f"got {guarantee!r}"
        )
    if shuffled is not None and shuffled.local != guarantee:
        raise ParameterError("shuffled is of another guarantee: give shuffled.local beside it")
    before = _listed(priors)
    return (
        _about_one(guarantee, before),
        *_about_all(guarantee, before),
        _about_participation(guarantee),
        *_about_chance(guarantee),
        *_about_shuffling(shuffled, before),
    )


def _listed(priors: Any) -> tuple[Any, ...]:
    listed = isinstance(priors, Iterable) and not isinstance(priors, str)
    numbers = tuple(priors) if listed else ()
    if not numbers:
        raise ParameterError(
            "priors must be a list of at least one number above 0 and below 1, as (0.5, 0.9); "
            f"got {priors!r}"
        )
    return numbers


def most_sure(epsilon: float, prior: float = 0.5) -> Fraction:
    """Return how sure somebody can become, at most, of what a loss is about.

    Parameters
    ----------
    epsilon : float
        The loss, natural logarithm, at least 0; may be infinite.
    prior : float
        How sure they were before, above 0 and below 1; taken as the decimal that it prints as.

    Returns
    -------
    Fraction
        Never less than the truth, and more by less than one part in 10^40; 1 above a loss of 1,000.

    Raises
    ------
    ParameterError
        Where a number is out of its range.

    Examples
    --------
    >>> round(float(most_sure(1.0)), 6), round(float(most_sure(1.0, prior=0.9)), 6)
    (0.731059, 0.96073)
    """
    check_proportion("prior", prior)
    if not isinstance(epsilon, Real) or isinstance(epsilon, bool) or not epsilon >= 0:
        raise ParameterError(f"epsilon must be at least 0; got {epsilon!r}")
    if epsilon > _LARGEST:
        return Fraction(1)
    before, loss = as_entered(prior), ratio_up(Fraction(plain(epsilon)))
    return before / (before + (1 - before) * Fraction(exp_of(Decimal(-loss))))


def show_most_sure(epsilon: float, prior: float = 0.5) -> str:
    """Print `most_sure` in percent, rounded up; "100 %" where doubts are less than 10^-6.

    Rounded to a tenth, but for 10^-12, and below 100 % to so many digits that it does not print as
    100.

    Examples
    --------
    >>> show_most_sure(1.0), show_most_sure(9.0), show_most_sure(300.0)
    ('73.2 %', '99.99 %', '100 %')
    """
    return _percent(most_sure(epsilon, prior))


def _percent(probability: Fraction) -> str:
    if 1 - probability < _CERTAIN:
        return "100 %"
    digits = 1
    while (shown := math.ceil((probability - _DUST) * 100 * 10**digits)) >= 100 * 10**digits:
        digits += 1
    return f"{shown / 10**digits:.{digits}f}".removesuffix(".0") + " %"


def _limits(epsilon: float, priors: Sequence[float], other: str, who: str = "whoever") -> str:
    """Return "whoever thought it ... before is at most ... sure of it after" for every prior.

    `other` names the one alternative that is fixed beforehand, where chance may tell more.
    """
    return "; ".join(
        f"{who} {_before(prior, other)} before is at most {show_most_sure(epsilon, prior)} sure of "
        "it after"
        for prior in priors
    )


def _before(prior: float, other: str) -> str:
    if prior == 0.5:
        return f"thought it as likely as {other or 'not'}"
    sure = f"was {_percent(as_entered(prior))} sure of it"
    return f"{sure}, and else of {other}," if other else sure


def _hides_nothing(epsilon: float, priors: Sequence[float]) -> bool:
    """Return whether all who had doubts can lose them; who had none before learns nothing."""
    doubtful = [prior for prior in priors if 1 - most_sure(0.0, prior) >= _CERTAIN]
    return bool(doubtful) and all(1 - most_sure(epsilon, prior) < _DOUBT for prior in doubtful)


def _about_one(guarantee: PrivacyGuarantee, priors: Sequence[float]) -> str:
    others = (guarantee.tasks or guarantee.answers) > 1
    what, other = "one answer", "one other answer"
    if guarantee.linked > 1:
        what = (
            f"a fact that up to {guarantee.linked:,} of your answers share, as those to copies of "
            "a question do (whoever asks says that no more do)"
        )
        other = "one other list of these answers"
    epsilon = (guarantee.tail or guarantee).linked_epsilon
    if _hides_nothing(epsilon, priors):
        return f"About {what}: {_NOT_HIDDEN}."
    who = "whoever knows all your others and" if others else "whoever"
    limits = _limits(epsilon, priors, other if guarantee.tail else "", who)
    more = (
        ". Who does not know them can learn of it from their reports, too: then the figure about "
        "all together is the limit"
    )
    return f"About {what}: {limits}{more * others}."


def _about_all(guarantee: PrivacyGuarantee, priors: Sequence[float]) -> tuple[str, ...]:
    count = guarantee.tasks or guarantee.answers
    if count == 1:
        return ()
    what = f"all {count:,} answers together"
    if guarantee.tasks is not None:
        what = f"all {count:,} questions together, answered or not"
    if not guarantee.tail:
        what += ", and a fact that shows in every one of them, as a general opinion may"
    epsilon = (guarantee.tail or guarantee).worker_epsilon
    if _hides_nothing(epsilon, priors):
        return (f"About {what}: {_NOT_HIDDEN}.",)
    limits = _limits(epsilon, priors, "one other list of answers" if guarantee.tail else "")
    return (f"About {what}: {limits}.",)


def _about_participation(guarantee: PrivacyGuarantee) -> str:
    if guarantee.participation_protected:
        return (
            "Whether you answered a question is limited as an answer to it is. That you take part "
            "is not hidden."
        )
    return (
        "It shows which questions you answered. Do not leave one out because of what your answer "
        "is: that would tell of it, beyond these figures."
    )


def _of_draws(chance: float) -> str:
    """Return which part of all draws a probability is, rounded up."""
    probability = as_entered(chance)
    cases = min(math.floor(1 / probability), _MANY)
    return f"one of {cases:,} draws" if cases > 1 else f"{_percent(probability)} of all draws"


def _about_shuffling(
    shuffled: ShuffledGuarantee | None, priors: Sequence[float]
) -> tuple[str, ...]:
    if shuffled is None:
        return ()
    limits = _limits(shuffled.tail, priors, "one other answer")
    return (
        f"Beyond this, and only if {shuffled.assumption}: of those who see the one output of the "
        f"shuffled reports, {limits}, but for {_of_draws(shuffled.delta)} of all devices' noise at "
        "most. If you do not trust in that, count on the figures before alone.",
    )


def _about_chance(guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    if guarantee.tail is None:
        return ()
    how = _of_draws(guarantee.tail.probability)
    several = (guarantee.tasks or guarantee.answers) > 1
    some = " That more is told of some one of your answers is likelier than that." * several
    return (
        "These figures are limits for one answer, or one list of answers, that is named "
        f"beforehand: in at most {how} of your device's noise more is told of it.{some}",
    )
