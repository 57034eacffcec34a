"""Guarantees in sentences for the protected workers."""

import math
from collections.abc import Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any

from quietcrowd.exceptions import ParameterError
from quietcrowd.polls import ShuffledGuarantee
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.privacy.rounding import as_entered, exp_of, ratio_up
from quietcrowd.validation import check_proportion, plain

_CERTAIN = Fraction(1, 10**6)
"""A smaller doubt is shown as "100 %"."""

_DOUBT = Fraction(1, 1000)
"""A worker should not rely on a smaller doubt."""

_NOT_HIDDEN = (
    "this is not protected. No useful limit is promised, and someone may become practically "
    "certain of it"
)

_DUST = Fraction(1, 10**12)
"""Excess over a round number that printing ignores, as in `show_loss`."""

_MANY = 10**18

_LARGEST = 1000.0
"""Losses above it count as leaving no doubt."""


def consent_sentences(
    guarantee: PrivacyGuarantee,
    *,
    priors: Sequence[float] = (0.5,),
    shuffled: ShuffledGuarantee | None = None,
) -> tuple[str, ...]:
    """Describe a guarantee in sentences for a worker; percentages are rounded up.

    Parameters
    ----------
    guarantee : PrivacyGuarantee
        For the answers that the worker is to give, such as ``mechanism.guarantee(answers=20)``.
    priors : sequence of float
        How sure an attacker was before, above 0 and below 1; at least one.
    shuffled : ShuffledGuarantee, optional
        For a poll with shuffling; its `local` is this guarantee.

    Returns
    -------
    tuple of str
        One sentence or paragraph each: one answer, or a fact that linked answers share; all answers
        together, if there are several; participation; chance, if delta is above 0; shuffling, if
        any, under its assumption.

    Raises
    ------
    ParameterError
        If an argument is invalid, there is no prior, or `shuffled` has another local guarantee.

    Notes
    -----
    For delta above 0 the figures are those of `PrivacyGuarantee.tail`. Each is exceeded with at
    most its probability, against one alternative that is fixed beforehand; a sentence states this.
    A pair (epsilon, delta) would not suffice, since its epsilon may be exceeded more often.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=1.0)
    >>> one, both, participation = consent_sentences(mechanism.guarantee(answers=3))
    >>> print(one.partition(" and ")[0])
    About one answer: someone who knows all your other answers
    >>> print(participation.partition(".")[0])
    The reports show which questions you answered
    """
    if not isinstance(guarantee, PrivacyGuarantee):
        raise ParameterError("privacy.not-a-guarantee", guarantee=guarantee)
    if shuffled is not None and shuffled.local != guarantee:
        raise ParameterError("privacy.local-guarantee-missing")
    before = _listed(priors)
    return (
        _about_one(guarantee, before),
        *_about_all(guarantee, before),
        _about_participation(guarantee),
        *_about_chance(guarantee),
        *_about_shuffling(shuffled, before),
    )


def short_consent(
    guarantee: PrivacyGuarantee,
    *,
    together: bool = False,
    more: Iterable[tuple[float, str]] = (),
) -> tuple[str, ...]:
    r"""Describe a guarantee in few lines for a worker; percentages are rounded up.

    They limit the certainty about any fact: from one answer that is sent, then from all together,
    then participation. See `consent_sentences` for everything else, and
    ``research/docs/theory/facts.md`` for a proof. `together` states that one report is about all
    answers, so that no answer is sent separately. `more` are further losses, each with its subject,
    such as ``"any 7 rounds"``. For delta above 0 the lines are about two possible answers, because
    a tail bound does not extend to other facts.

    Examples
    --------
    >>> from quietcrowd import Categorical, RandomizedResponse
    >>> mechanism = RandomizedResponse(domain=Categorical(["no", "yes"]), epsilon=0.5)
    >>> print(*short_consent(mechanism.guarantee(answers=10))[:3], sep="\n")
    Someone is 50 % sure of something about you. They become at most
    62.3 % sure from one answer that is sent
    99.4 % sure from all 10 together
    """
    if not isinstance(guarantee, PrivacyGuarantee):
        raise ParameterError("privacy.not-a-guarantee", guarantee=guarantee)
    tail, losses = guarantee.tail, guarantee.tail or guarantee
    about, of_one = "Someone is 50 % sure of something about you. They", ""
    if tail is not None:
        about = (
            "Someone finds two of your possible answers, or lists of answers, equally likely. "
            f"Except in at most {_of_draws(tail.probability)}, they"
        )
        of_one = " of one,"
    count, linked = guarantee.tasks or guarantee.answers, guarantee.linked
    one = "one answer that is sent" if linked == 1 else f"up to {linked:,} answers about one thing"
    every = "both together" if count == 2 else f"all {count:,} together"
    figures = [(losses.linked_epsilon, one), (losses.total_epsilon, every)][: min(count, 2)]
    if together:
        figures = [(losses.total_epsilon, "everything that is sent")]
    seen = ", and skipping. Never skip because of your answer."
    if guarantee.participation_protected:
        seen = ". Skipping is hidden like an answer: skip freely."
    return (
        f"{about} become at most",
        *(f"{_shown(epsilon)} sure{of_one} from {what}" for epsilon, what in [*figures, *more]),
        f"Not hidden: taking part{seen}",
    )


def _shown(epsilon: float) -> str:
    certain = _hides_nothing(epsilon, (0.5,))
    return "practically 100 %" if certain else show_most_sure(epsilon)


def _listed(priors: Any) -> tuple[Any, ...]:
    listed = isinstance(priors, Iterable) and not isinstance(priors, str)
    numbers = tuple(priors) if listed else ()
    if not numbers:
        raise ParameterError("privacy.priors-invalid", priors=priors)
    return numbers


def most_sure(epsilon: float, prior: float = 0.5) -> Fraction:
    """Return an upper bound on how sure an attacker can become of a fact, given its privacy loss.

    A loss of epsilon multiplies the odds of anything about an answer by at most ``exp(epsilon)``. A
    prior p therefore becomes at most ``p / (p + (1 - p) exp(-epsilon))``, whatever else is known.

    `epsilon` is at least 0 and may be infinite. `prior`, above 0 and below 1, counts as the decimal
    that it prints as. The result is never below the exact value, and above it by less than one part
    in 10^40. It is 1 for a loss above 1,000.

    Examples
    --------
    >>> round(float(most_sure(1.0)), 6), round(float(most_sure(1.0, prior=0.9)), 6)
    (0.731059, 0.96073)
    """
    check_proportion("prior", prior)
    if not isinstance(epsilon, Real) or isinstance(epsilon, bool) or not epsilon >= 0:
        raise ParameterError("privacy.epsilon-negative", epsilon=epsilon)
    if epsilon > _LARGEST:
        return Fraction(1)
    before, loss = as_entered(prior), ratio_up(Fraction(plain(epsilon)))
    return before / (before + (1 - before) * Fraction(exp_of(Decimal(-loss))))


def show_most_sure(epsilon: float, prior: float = 0.5) -> str:
    """Format `most_sure` in percent, rounded up; "100 %" if the doubt is below 10^-6.

    It is rounded to a tenth, after an allowance of 10^-12. Below 100 %, it has enough digits not
    to print as 100.

    Examples
    --------
    >>> show_most_sure(1.0), show_most_sure(9.0), show_most_sure(300.0)
    ('73.2 %', '99.99 %', '100 %')
    """
    return _percent(most_sure(epsilon, prior))


STRONG, MEDIUM = 1.0, 3.0
"""Largest losses of all answers of a person with strong, and with medium, protection."""


def show_protection(epsilon: float | None) -> str:
    """Format `most_sure` for a prior of 50 %, and how well that protects.

    Up to ε = 1 (73.2 %) protection is strong, up to 3 (95.3 %) medium. A loss without a fixed limit
    has the value None.

    Examples
    --------
    >>> show_protection(1.0), show_protection(5.0)
    ('at most 73.2 % sure: strong protection', 'at most 99.4 % sure: weak protection')
    """
    if epsilon is None:
        return "perhaps certain: weak protection"
    grade = "strong" if epsilon <= STRONG else "medium" if epsilon <= MEDIUM else "weak"
    return f"at most {show_most_sure(epsilon)} sure: {grade} protection"


def _percent(probability: Fraction) -> str:
    if 1 - probability < _CERTAIN:
        return "100 %"
    digits = 1
    while (shown := math.ceil((probability - _DUST) * 100 * 10**digits)) >= 100 * 10**digits:
        digits += 1
    return f"{shown / 10**digits:.{digits}f}".removesuffix(".0") + " %"


def _limits(epsilon: float, priors: Sequence[float], other: str, knowing: str = "") -> str:
    """Format the limits; `other` is the alternative fixed beforehand, or "" without chance."""
    otherwise = f", and otherwise of {other}," if other else ""
    return "; ".join(
        f"someone who {knowing}was {_percent(as_entered(prior))} sure of it before{otherwise} can "
        f"become at most {show_most_sure(epsilon, prior)} sure of it"
        for prior in priors
    )


def _hides_nothing(epsilon: float, priors: Sequence[float]) -> bool:
    """Return whether every prior with some doubt can end in near certainty."""
    doubtful = [prior for prior in priors if 1 - most_sure(0.0, prior) >= _CERTAIN]
    return bool(doubtful) and all(1 - most_sure(epsilon, prior) < _DOUBT for prior in doubtful)


def limit_sentence(what: str, epsilon: float, priors: Sequence[float] = (0.5,)) -> str:
    """Describe a loss about something, such as ``"all answers in any 7 rounds"``, without chance.

    Examples
    --------
    >>> print(limit_sentence("all answers", 0.5).partition(" can ")[2])
    become at most 62.3 % sure of it.
    """
    if _hides_nothing(epsilon, priors):
        return f"About {what}: {_NOT_HIDDEN}."
    return f"About {what}: {_limits(epsilon, priors, '')}."


def _about_one(guarantee: PrivacyGuarantee, priors: Sequence[float]) -> str:
    others = (guarantee.tasks or guarantee.answers) > 1
    what, other = "one answer", "one other answer"
    if guarantee.linked > 1:
        what = (
            f"a fact that up to {guarantee.linked:,} of your answers share, such as answers to "
            "copies of a question (the requester states that no more do)"
        )
        other = "one other list of these answers"
    epsilon = (guarantee.tail or guarantee).linked_epsilon
    if _hides_nothing(epsilon, priors):
        return f"About {what}: {_NOT_HIDDEN}."
    knowing = "knows all your other answers and " * others
    limits = _limits(epsilon, priors, other if guarantee.tail else "", knowing)
    more = (
        ". Someone who does not know them can also learn about it from their reports. Then the "
        "figure for all together is the limit"
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
        what += ", and a fact that shows in every one of them, such as a general opinion"
    epsilon = (guarantee.tail or guarantee).total_epsilon
    if _hides_nothing(epsilon, priors):
        return (f"About {what}: {_NOT_HIDDEN}.",)
    limits = _limits(epsilon, priors, "one other list of answers" if guarantee.tail else "")
    return (f"About {what}: {limits}.",)


def _about_participation(guarantee: PrivacyGuarantee) -> str:
    if guarantee.participation_protected:
        return (
            "Whether you answered a question is protected like an answer to it. That you take part "
            "is not hidden."
        )
    return (
        "The reports show which questions you answered. Do not skip a question because of your "
        "answer to it. That would reveal more about the answer than these figures allow."
    )


def _of_draws(chance: float) -> str:
    """Format a probability as a fraction of all draws, rounded up."""
    probability = as_entered(chance)
    cases = min(math.floor(1 / probability), _MANY)
    return f"one of {cases:,} draws" if cases > 1 else f"{_percent(probability)} of all draws"


def _about_shuffling(
    shuffled: ShuffledGuarantee | None, priors: Sequence[float]
) -> tuple[str, ...]:
    if shuffled is None:
        return ()
    knowing = "sees the one output of the shuffled reports and "
    limits = _limits(shuffled.tail, priors, "one other answer", knowing)
    return (
        f"In addition, but only if {shuffled.assumption}: {limits}. The exception is at most "
        f"{_of_draws(shuffled.delta)} of all devices' noise. If you do not trust in this, rely "
        "only on the figures above.",
    )


def _about_chance(guarantee: PrivacyGuarantee) -> tuple[str, ...]:
    if guarantee.tail is None:
        return ()
    how = _of_draws(guarantee.tail.probability)
    several = (guarantee.tasks or guarantee.answers) > 1
    some = " It is likelier that more is revealed about at least one of your answers." * several
    return (
        "These figures are limits for one answer, or one list of answers, that is named "
        f"beforehand. In at most {how} of your device's noise, more is revealed about it.{some}",
    )
