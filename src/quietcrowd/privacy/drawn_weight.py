"""Exact privacy loss when a worker draws its weight from a public table of equally likely ones.

A worker draws ``w`` from the table and keeps each answer with weight ``K = T - others w`` out of T,
or gives each of the `others` other values with weight ``w``, where ``w <= K``. With NULL as one of
the values a second, independent draw serves all tasks without an answer. Derivation and checks:
``docs/theory/sparse-answers.md``.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import MAX_EMAX, MIN_EMIN, Context, Decimal, localcontext

from quietcrowd.privacy.rounding import round_up
from quietcrowd.validation import check_whole

__all__ = ["drawn_cell_epsilon", "drawn_row_epsilon"]

MAX_ANSWERS = 10**7
_DIGITS = Context(prec=60, Emax=MAX_EMAX, Emin=MIN_EMIN)
_SLACK = Decimal(10) ** -40
"""More than the rounding of any of the logarithms below."""


def _mean_log(bases: Sequence[Decimal], powers: int) -> Decimal:
    """Return ln of the sum of ``base ** powers``."""
    return sum((base**powers for base in bases), Decimal(0)).ln()


def _keep_weights(weights: Sequence[int], others: int, total: int) -> list[Decimal]:
    return [Decimal(total - others * weight) for weight in weights]


def drawn_cell_epsilon(
    answers: int, *, weights: Sequence[int], others: int, total: int = 2**32
) -> float:
    """Return the loss about one cell of a worker, given all its others, rounded up.

    Parameters
    ----------
    answers : int
        Number n of cells that share a weight: answers, or, with NULL, tasks; at most 10^7.
    weights : sequence of int
        The table; equally likely.
    others : int
        How many values a report can have besides the one that is kept.
    total : int
        What the weights of a row sum to.

    Notes
    -----
    ``ln E[K^n] / E[K^(n-1) w]``: all n reports agree with what was to be kept. With NULL the
    case of one law for all n cells is the worst: a cell that changes between NULL and an answer
    leaves fewer cells for each of the two draws.
    """
    check_whole("answers", answers, 1, MAX_ANSWERS)
    with localcontext(_DIGITS):
        keep = _keep_weights(weights, others, total)
        agree = _mean_log(keep, answers)
        differ = sum(
            (k ** (answers - 1) * w for k, w in zip(keep, map(Decimal, weights), strict=True)),
            Decimal(0),
        ).ln()
        return max(0.0, round_up(agree - differ + _SLACK))


def drawn_row_epsilon(
    answers: int, *, weights: Sequence[int], others: int, null: bool, total: int = 2**32
) -> float:
    """Return the loss about all cells of a worker together, rounded up.

    Parameters
    ----------
    answers, weights, others, total
        See `drawn_cell_epsilon`.
    null : bool
        Whether a second draw serves the tasks without an answer.

    Notes
    -----
    Without NULL ``ln E[K^n] / E[w^n]``: all reports agree with one row and none with the other.
    With NULL the other row may have half of its cells under each draw, which makes its report
    less likely still: ``ln E[K^n] / (E[w^(n/2)] E[w^(n - n/2)])``.
    """
    check_whole("answers", answers, 1, MAX_ANSWERS)
    with localcontext(_DIGITS):
        count = Decimal(len(weights)).ln()
        agree = _mean_log(_keep_weights(weights, others, total), answers) - count
        others_weights = [Decimal(weight) for weight in weights]
        half = answers // 2 if null else 0
        differ = sum(
            (_mean_log(others_weights, part) - count for part in (half, answers - half)),
            Decimal(0),
        )
        return max(0.0, round_up(agree - differ + _SLACK))
