"""How many reports subset selection needs for the error that randomised response has.

``python benchmarks/bench_label_mechanisms.py`` prints the tables of
``research/docs/subset-selection-results.md`` and writes them there; it takes about two minutes.
Both mechanisms have the same epsilon, exactly but for the rounding of weights to 32 bits. Workers
are right in 70 % of their answers, and else give any other label. The plurality is the label that
most reports give, or that most sets hold; among workers who are all alike no other rule does
better. `NoiseAware` has to find out that they are.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pyarrow as pa

import quietcrowd as qc
from quietcrowd.exceptions import NoSignalWarning, SimulatedNoiseWarning
from quietcrowd.mechanisms import Mechanism
from quietcrowd.report_domains import sets_with

PAGE = Path(__file__).parents[1] / "research" / "docs" / "subset-selection-results.md"
START, END = "<!-- tables: bench_label_mechanisms.py -->", "<!-- end of the tables -->"

RIGHT = 0.7
LABELS, EPSILONS = (10, 20), (0.5, 1.0, 1.5)
TASKS = 2000
REPORTS = (10, 15, 22, 33, 50, 75, 110, 165, 250, 375, 560, 840, 1260, 1900)
SHARE = 0.8
"""So many of the reports are to be enough, at most."""

RANGE = (0.1, 0.7)
"""Errors of randomised response that count."""

Codes = npt.NDArray[np.int64]

FIT_TASKS, FIT_DRAWS, FIT_ERRORS = 300, 2, (0.55, 0.25)
"""Of `NoiseAware`: tasks, draws, and errors of the plurality at which it is compared."""


def answers_of(labels: int, tasks: int, workers: int, seed: int) -> tuple[qc.Answers, Codes]:
    """Return answers of every worker to every task, and the truths."""
    rng = np.random.default_rng(seed)
    truths = rng.integers(0, labels, tasks)
    wrong = (truths[:, np.newaxis] + rng.integers(1, labels, (tasks, workers))) % labels
    given = np.where(rng.random((tasks, workers)) < RIGHT, truths[:, np.newaxis], wrong)
    domain = qc.Categorical(list(range(labels)))
    answers = qc.Answers(
        domain=domain,
        tasks=pa.array(np.arange(tasks)),
        workers=pa.array(np.arange(workers)),
        offsets=np.arange(tasks + 1) * workers,
        worker_codes=np.tile(np.arange(workers, dtype=np.int32), tasks),
        values=given.reshape(-1).astype(domain.dtype),
    )
    return answers, truths


def mechanisms_of(labels: int, epsilon: float) -> tuple[Mechanism, Mechanism]:
    domain = qc.Categorical(list(range(labels)))
    kinds = (qc.RandomizedResponse, qc.SubsetSelection)
    one, other = (kind(domain=domain, epsilon=epsilon) for kind in kinds)
    assert abs(one.guarantee().epsilon - other.guarantee().epsilon) < 1e-6
    return one, other


def plurality_errors(
    mechanism: Mechanism, answers: qc.Answers, truths: Codes, sizes: Iterable[int], seed: int
) -> list[npt.NDArray[np.bool_]]:
    """Return of each number of reports which tasks' plurality is wrong; ties are drawn."""
    rng = np.random.default_rng(seed)
    labels, workers = answers.domain.size, len(answers.workers)
    reports = mechanism.simulate(answers, random_state=rng).table.values.reshape(-1, workers)
    chance = rng.random((len(truths), labels)) / 2
    counts, read, wrong = np.zeros((len(truths), labels), np.int64), 0, []
    for size in sizes:
        block = reports[:, read:size]
        if mechanism.channel.sets is None:
            held = block[:, :, np.newaxis] == np.arange(labels)
        else:
            members = mechanism.channel.sets.members
            held = sets_with(block.reshape(-1), labels, members).reshape(*block.shape, labels)
        counts += held.sum(axis=1)
        read = size
        wrong.append((counts + chance).argmax(axis=1) != truths)
    return wrong


def plurality_rows(labels: int, epsilon: float) -> list[list[str]]:
    """Return a row for each number of reports at which randomised response's error counts."""
    answers, truths = answers_of(labels, TASKS, REPORTS[-1], seed=labels)
    randomised, sets = mechanisms_of(labels, epsilon)
    fewer = [round(SHARE * size) for size in REPORTS]
    fine = sorted({*fewer, *REPORTS, *np.unique(np.geomspace(4, REPORTS[-1], 80).astype(int))})
    theirs = plurality_errors(randomised, answers, truths, REPORTS, seed=1)
    ours = dict(zip(fine, plurality_errors(sets, answers, truths, fine, seed=2), strict=True))
    curve = [ours[size].mean() for size in fine]
    rows = []
    for size, less, wrong in zip(REPORTS, fewer, theirs, strict=True):
        error = wrong.mean()
        if not RANGE[0] <= error <= RANGE[1]:
            continue
        gap = ours[less].mean() - error
        spread = np.sqrt((ours[less].var() + wrong.var()) / TASKS)
        falling = np.maximum(np.minimum.accumulate(curve), 1e-9)
        enough = np.exp(np.interp(-np.log(error), -np.log(falling), np.log(fine)))
        held = "yes" if gap <= 0 else "no"
        rows.append(
            [f"{labels}", f"{epsilon:g}", f"{size}", f"{error:.3f}", f"{ours[less].mean():.3f}",
             f"{gap:+.3f} ± {spread:.3f}", f"{enough / size:.2f}", held]
        )  # fmt: skip
    return rows


def fit_rows(labels: int, epsilon: float) -> list[list[str]]:
    """Return the errors of `NoiseAware` where the plurality of labels has about some error."""
    answers, truths = answers_of(labels, FIT_TASKS, REPORTS[-1], seed=3)
    randomised, sets = mechanisms_of(labels, epsilon)
    wrong = plurality_errors(randomised, answers, truths, REPORTS, seed=4)
    rows = []
    for wanted in FIT_ERRORS:
        size = REPORTS[int(np.argmin([abs(one.mean() - wanted) for one in wrong]))]
        found = [
            [fitted_error(mechanism, labels, count, seed) for seed in range(10, 10 + FIT_DRAWS)]
            for mechanism, count in ((randomised, size), (sets, round(SHARE * size)))
        ]
        means = [np.mean(errors) for errors in found]
        spread = np.sqrt(sum(m * (1 - m) for m in means) / (FIT_TASKS * FIT_DRAWS))
        rows.append(
            [f"{labels}", f"{epsilon:g}", f"{size}", f"{means[0]:.3f}", f"{means[1]:.3f}",
             f"{means[1] - means[0]:+.3f} ± {spread:.3f}", "yes" if means[1] <= means[0] else "no"]
        )  # fmt: skip
    return rows


def fitted_error(mechanism: Mechanism, labels: int, workers: int, seed: int) -> float:
    answers, truths = answers_of(labels, FIT_TASKS, workers, seed)
    reports = mechanism.simulate(answers, random_state=seed)
    estimate = qc.NoiseAware().fit(reports)
    found = estimate.truths.sort_values("task")["truth"].to_numpy()
    return float((found != truths).mean())


def table_of(head: list[str], rows: list[list[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def main() -> None:
    warnings.simplefilter("ignore", SimulatedNoiseWarning)
    warnings.simplefilter("ignore", NoSignalWarning)
    cells = [(labels, epsilon) for labels in LABELS for epsilon in EPSILONS]
    told = [row for cell in cells for row in plurality_rows(*cell)]
    lost = [row for row in told if row[-1] == "no"]
    shown = ["labels", "epsilon", "reports", "error, one label",
             f"error, sets, {SHARE} of the reports", "difference", "fraction needed",
             f"{SHARE} is enough"]  # fmt: skip
    fitted = [row for cell in cells for row in fit_rows(*cell)]
    fitted.sort(key=lambda row: row[-1])
    per = [
        f"{len([r for r in lost if r[0] == str(k)])} of {len([r for r in told if r[0] == str(k)])} "
        f"rows with {k} labels"
        for k in LABELS
    ]
    text = "\n\n".join(
        [
            f"Plurality: in {' and '.join(per)}, {SHARE} of the reports is not enough. "
            "These rows come first.",
            table_of(shown, [*lost, *(row for row in told if row[-1] == "yes")]),
            "`NoiseAware`, which has to estimate the accuracy of workers:",
            table_of([*shown[:6], shown[-1]], fitted),
        ]
    )
    print(text)
    if PAGE.exists():
        page = PAGE.read_text()
        before, after = page.split(START)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{START}\n\n{text}\n\n{END}{after}")


if __name__ == "__main__":
    sys.exit(main())
