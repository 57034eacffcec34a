"""What an audit needs of a mechanism: its exact loss, if known, and attacks on its reports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Domain, FiniteDomain

if TYPE_CHECKING:
    from quietcrowd.mechanisms.reports import Reports

__all__ = ["Attack", "AuditPlan", "ExactLoss"]


@frozen(kw_only=True)
class ExactLoss:
    """What the public numbers of a mechanism give: its loss over all inputs and outputs.

    Attributes
    ----------
    epsilon : float
        About one answer, given all others.
    worker_epsilon : float
        About all answers of a worker together.
    delta_at : callable or None
        The least delta at an epsilon, of the worst pair of inputs, where it can be summed up.
    rounding : float
        Relative error of the three; 0 where they are computed in integers and rounded up.
    """

    epsilon: float
    worker_epsilon: float
    delta_at: Callable[[float], float] | None = None
    rounding: float = 0.0


@frozen(kw_only=True)
class Attack:
    """Two neighbouring rows of one worker, and a score of reports that tells them apart.

    Attributes
    ----------
    name : str
        What differs, for people.
    tasks : sequence of int
        Ids of the tasks.
    one, other : sequence
        Of each task what is stored for the worker's answer, or None where there is none.
    score : callable
        Takes reports of many workers with the same row; gives shape (workers,), or
        (workers, numbers) where a projection is to be learnt.
    """

    name: str
    tasks: Sequence[int]
    one: Sequence[Any]
    other: Sequence[Any]
    score: Callable[[Reports], npt.NDArray[np.float64]]

    def crowd(self, domain: Domain, row: Sequence[Any], workers: int) -> Answers:
        """Return the answers of `workers` workers who all have the same row."""
        answered = [value is not None for value in row]
        dtype = domain.dtype if isinstance(domain, FiniteDomain) else np.dtype(np.float64)
        values = np.array([value for value in row if value is not None], dtype)
        codes = np.arange(workers, dtype=np.int32)
        return Answers(
            domain=domain,
            tasks=pa.array(list(self.tasks)),
            workers=pa.array(codes),
            offsets=np.concatenate([[0], np.cumsum(answered)]) * workers,
            worker_codes=np.tile(codes, len(values)),
            values=np.repeat(values, workers),
        )


@frozen(kw_only=True)
class AuditPlan:
    """How a mechanism is to be audited.

    Attributes
    ----------
    exact : ExactLoss or None
        What its public numbers give, where they give it all.
    attacks : sequence of Attack
        On what it really sends; each within what the guarantee covers.
    """

    exact: ExactLoss | None
    attacks: Sequence[Attack]
