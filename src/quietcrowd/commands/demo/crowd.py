"""Simulated crowd of the demo, with known truths, and its devices.

The devices are real clients, each with a separate directory.
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
"""Devices that send at the same time."""


def draw_crowd(seed: int) -> Dataset:
    """Simulate workers of different accuracy and their answers to statements."""
    crowd = synthetic_crowd(
        tasks=TASKS, workers=WORKERS, answers_per_task=ANSWERS_PER_TASK, seed=seed
    )
    names = pa.array([f"statement {place + 1:02d}" for place in range(TASKS)])
    truths = crowd.truths.set_column(0, "task", names)
    return evolve(crowd, answers=evolve(crowd.answers, tasks=names), truths=truths)


def own_answers(crowd: Dataset) -> list[dict[str, Label]]:
    """Return each worker's answers by task."""
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
    """Return the true labels by task."""
    return dict(zip(*(column.to_pylist() for column in crowd.truths.columns), strict=True))


def send_all(
    links: Sequence[str], answers: Sequence[Mapping[str, Label]], folder: Path
) -> list[Client]:
    """Let every worker join with a link, randomize and send; return the devices.

    Their directories are created in `folder`.
    """

    def send(place: int) -> Client:
        device = Client(links[place], folder=folder / f"device-{place}")
        device.answer(answers[place])
        return device

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(send, range(len(links))))
