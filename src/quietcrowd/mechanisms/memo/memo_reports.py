"""The reports that a device's secret fixes in advance: one for every task and possible answer.

A report is a function of the secret, the task and the answer alone. Random numbers of two answers
to one task are independent. All tasks are gone through in the same order, answered or not.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channel import keep_or_replace
from quietcrowd.mechanisms.dense import dense_table
from quietcrowd.mechanisms.discrete_laplace import DiscreteLaplace
from quietcrowd.mechanisms.grid import cut_off
from quietcrowd.mechanisms.laplace import LaplacePerturbation
from quietcrowd.mechanisms.laplace_channel import BIT_GRID
from quietcrowd.mechanisms.matrix_factorization import MatrixFactorization
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.memo.laplace_digits import laplace_bytes, laplace_noise
from quietcrowd.mechanisms.memo.secret import Secret
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.mechanisms.randomness import WordSource
from quietcrowd.mechanisms.reports import Reports
from quietcrowd.mechanisms.sampled_variance import SampledVarianceGaussian
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse

__all__ = ["Memoisable", "check_memoisable", "fixed_reports"]

Memoisable: TypeAlias = RandomizedResponse | TwoLayerRandomizedResponse | LaplacePerturbation
"""Mechanisms whose reports are one per task, and made of that task's answer alone."""

NULL = -1
"""What stands for a task without an answer."""

_WHY_NOT: dict[type[Mechanism], str] = {
    MatrixFactorization: (
        "its numbers stand for all answers together, and one that is edited under the same noise "
        "would show by how much they changed. Send its reports once and keep nothing, or take "
        "LaplacePerturbation"
    ),
    SampledVarianceGaussian: (
        "Gaussian noise of a drawn variance cannot be had again in a fixed number of steps. Send "
        "its reports once and keep nothing, or take LaplacePerturbation with fill=None"
    ),
}


def check_memoisable(mechanism: Mechanism) -> Memoisable:
    """Return the mechanism if a memo can hold its reports.

    Raises
    ------
    ParameterError
        Where it cannot; the message says why, and what to do instead.
    """
    if isinstance(mechanism, Memoisable):
        return mechanism
    if not isinstance(mechanism, Mechanism):
        raise ParameterError(f"mechanism must be a Mechanism; got {mechanism!r}")
    why = _WHY_NOT.get(
        type(mechanism), "how its random numbers depend on task and answer is not known here"
    )
    raise ParameterError(f"the reports of {mechanism.name!r} cannot be kept in a memo: {why}.")


def fixed_reports(mechanism: Memoisable, answers: Answers, secret: Secret) -> Reports:
    """Return the reports of one worker's answers: the same ones for the same answers and secret.

    Parameters
    ----------
    mechanism : RandomizedResponse, TwoLayerRandomizedResponse or LaplacePerturbation
        What is done to an answer.
    answers : Answers
        Of one worker, in the mechanism's domain; tasks sorted by id.
    secret : Secret
        Of the worker's device, for these tasks.
    """
    answered = np.zeros(len(answers.tasks), bool)
    answered[answers.task_codes] = True
    bits = None
    if isinstance(mechanism, LaplacePerturbation):
        own = mechanism.grid.places(mechanism.domain.numbers(answers.values))
        cells = _cells(own, answers, null=NULL if mechanism.every_task else 0)
        values, bits = _numbers(mechanism, answers.tasks.to_pylist(), cells, secret)
    else:
        cells = _cells(answers.values, answers, null=mechanism.size - 1 if mechanism.null else 0)
        values = _labels(mechanism, answers.tasks.to_pylist(), cells, secret)
    values = values.astype(mechanism.report_domain.dtype)  # type: ignore[attr-defined]
    if mechanism.every_task:
        table = dense_table(answers, mechanism.report_domain, values[:, np.newaxis])
    else:
        table = answers.with_values(mechanism.report_domain, values[answered])
    return Reports(table=table, mechanism=mechanism, participation_codes=bits)


def _cells(own: npt.NDArray[Any], answers: Answers, null: int) -> npt.NDArray[np.int64]:
    """Return what each task's report is made of, shape (tasks,); `null` where no answer is."""
    cells = np.full(len(answers.tasks), null, np.int64)
    cells[answers.task_codes] = own
    return cells


def _name(cell: np.int64) -> str:
    """Return a name of what a report is made of; all are equally long, and take equally long."""
    return f"{int(cell):+09d}"


def _labels(
    mechanism: RandomizedResponse | TwoLayerRandomizedResponse,
    tasks: list[str | int],
    cells: npt.NDArray[np.int64],
    secret: Secret,
) -> npt.NDArray[Any]:
    drawn = [
        secret.word("report", task, _name(cell)) for task, cell in zip(tasks, cells, strict=True)
    ]
    words = np.array(drawn, np.uint32)
    if isinstance(mechanism, RandomizedResponse):
        return mechanism.channel.sample(cells, _in_turn(words))
    of_answers, of_null = (
        mechanism.worker_law.draw(secret.words(name), 1) for name in ("weight", "weight of NULL")
    )
    null = mechanism.size - 1 if mechanism.null else NULL
    weights = np.where(cells == null, of_null, of_answers)
    return keep_or_replace(cells, mechanism.size, weights, words)


def _in_turn(words: npt.NDArray[np.uint32]) -> WordSource:
    """Return a source that gives these words, one after the other."""
    taken = 0

    def source(count: int) -> npt.NDArray[np.uint32]:
        nonlocal taken
        taken += count
        return words[taken - count : taken]

    return source


def _numbers(
    mechanism: LaplacePerturbation,
    tasks: list[str | int],
    cells: npt.NDArray[np.int64],
    secret: Secret,
) -> tuple[npt.NDArray[Any], npt.NDArray[Any] | None]:
    """Return noisy numbers and, where they are released, noisy participation bits."""
    channel, domain = mechanism.channel, mechanism.report_domain
    places = cells
    if mechanism.every_task:
        filled = mechanism.fillings(cells.shape, secret.words("fill"))
        places = np.where(cells == NULL, filled, cells)
    numbers = cut_off(places + _noise("number", channel.noise, tasks, cells, secret), domain)
    bit_domain = mechanism.participation_domain
    if channel.participation_noise is None or bit_domain is None:
        return numbers, None
    bits = np.where(cells == NULL, 0, BIT_GRID.steps)
    bits += _noise("bit", channel.participation_noise, tasks, cells, secret)
    return numbers, cut_off(bits, bit_domain)


def _noise(
    name: str,
    law: DiscreteLaplace,
    tasks: list[str | int],
    cells: npt.NDArray[np.int64],
    secret: Secret,
) -> npt.NDArray[np.int64]:
    """Return the noise of each task at the place of its answer, shape (tasks,)."""
    size = laplace_bytes(law.scale)
    return np.array(
        [
            laplace_noise(law.scale, secret.give((name, task, _name(cell)), size))
            for task, cell in zip(tasks, cells, strict=True)
        ],
        np.int64,
    )
