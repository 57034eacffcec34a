"""Who is asked in the demo: a crowd that is drawn, so that every truth is known, and its devices.

The devices are real clients, each with a folder of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pyarrow as pa
from attrs import evolve

from quietcrowd.campaign import Client
from quietcrowd.datasets import Dataset, synthetic_crowd
from quietcrowd.domains import Label

__all__ = ["draw_crowd", "own_answers", "send_all", "true_labels"]

TASKS, WORKERS, ANSWERS_PER_TASK = 40, 80, 40

_AT_ONCE = 8
"""So many devices send at a time."""


def draw_crowd(seed: int) -> Dataset:
    """Return workers, each with an accuracy of its own, and their answers to statements."""
    crowd = synthetic_crowd(
        tasks=TASKS, workers=WORKERS, answers_per_task=ANSWERS_PER_TASK, seed=seed
    )
    names = pa.array([f"statement {place + 1:02d}" for place in range(TASKS)])
    truths = crowd.truths.set_column(0, "task", names)
    return evolve(crowd, answers=evolve(crowd.answers, tasks=names), truths=truths)


def own_answers(crowd: Dataset) -> list[dict[str, Label]]:
    """Return what each worker thinks, by task."""
    answers = crowd.answers
    own: list[dict[str, Label]] = [{} for _ in range(len(answers.workers))]
    labels = answers.domain.decode(answers.values).to_pylist()
    for task, worker, label in zip(
        answers.tasks.take(pa.array(answers.task_codes)).to_pylist(),
        answers.worker_codes.tolist(),
        labels,
        strict=True,
    ):
        own[worker][task] = label
    return own


def true_labels(crowd: Dataset) -> dict[str, Label]:
    """Return what is true, by task."""
    return dict(zip(*(column.to_pylist() for column in crowd.truths.columns), strict=True))


def send_all(
    links: Sequence[str], answers: Sequence[Mapping[str, Label]], folder: Path
) -> list[Client]:
    """Let every worker join, randomise and send; return the devices.

    Parameters
    ----------
    links : sequence of str
        One per worker.
    answers : sequence of mapping of str to label
        What each worker thinks, by task.
    folder : Path
        Where devices have their folders.
    """

    def send(place: int) -> Client:
        device = Client(links[place], folder=folder / f"device-{place}")
        device.answer(answers[place])
        return device

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(send, range(len(links))))
