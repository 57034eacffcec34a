"""Sparse crowds where NULL is one more label, so that nobody learns who answered."""

from functools import cache

import numpy as np

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.evaluation.metrics import KnownLabels
from quietcrowd_research.label_oracle import counted_confusions, label_posterior
from under_noise.cells import Cell
from under_noise.labels import DRAWS
from under_noise.records import measure
from under_noise.rivals import Scene, label_rivals, losses_of
from under_noise.tables import Section, cell_table, mean_bar, mean_table

EPSILONS = (0.5, 1.0, 2.0, 3.0)
TASKS, WORKERS = 400, 40
DRAWN = {
    f"{labels} labels, {share:.0%} answer": (labels, share)
    for labels in (2, 4)
    for share in (0.2, 0.35, 0.5)
}
"""How many labels, and which share of the workers answers a task."""

BUSIEST = {"adult, 10 workers": 10, "adult, 30 workers": 30}
"""How many workers: those with the most answers to tasks whose truths are known."""

SETS = (*DRAWN, *BUSIEST)


def with_null(confusions, shares):
    """Return distributions of answers with NULL as the last, for workers who answer such shares."""
    answered = np.asarray(shares, np.float64)[:, np.newaxis, np.newaxis]
    silent = np.broadcast_to(1 - answered, (*confusions.shape[:2], 1))
    return np.concatenate([answered * confusions, silent], axis=2)


@cache
def busiest(workers):
    """Return answers of the busiest workers of adult to its tasks with known truths."""
    dataset = qc.load_dataset("adult")
    frame = dataset.answers.to_frame()
    known = dataset.truths.to_pandas()
    frame = frame[frame["task"].isin(known["task"])]
    chosen = frame["worker"].value_counts(sort=True).sort_index(kind="stable").nlargest(workers)
    frame = frame[frame["worker"].isin(chosen.index)]
    answers = qc.Answers.from_frame(
        frame, dataset.answers.domain, tasks=sorted(known["task"]), workers=sorted(chosen.index)
    ).canonical
    confusions, prior = counted_confusions(answers, dataset.truths)
    shares = answers.answers_per_worker / len(answers.tasks)
    return answers, dataset.truths, with_null(confusions, shares), prior


def crowd_of(name, draw):
    """Return answers, truths, distributions with NULL and prior of a crowd."""
    if name in BUSIEST:
        return busiest(BUSIEST[name])
    labels, share = DRAWN[name]
    crowd = make_crowd(
        kind="guessing",
        tasks=TASKS,
        workers=WORKERS,
        answers_per_task=round(share * WORKERS),
        labels=range(labels),
        random_state=draw,
    )
    distributions = with_null(crowd.distribution.confusions, np.full(WORKERS, share))
    return crowd.answers, crowd.truths, distributions, crowd.distribution.prior


def null_cell(name, epsilon, draws, kept):
    """Return the cell of a crowd; its oracle knows confusions and how often each worker answers."""

    def simulate(rng, draw):
        answers, truths, distributions, prior = crowd_of(name, draw)
        mechanism = qc.RandomizedResponse(
            domain=answers.domain, epsilon=epsilon, missing="category"
        )
        reports = mechanism.simulate(answers, random_state=rng)
        return Scene(
            reports=reports, score=KnownLabels(answers, truths), about=(distributions, prior)
        )

    def posterior(scene):
        distributions, prior = scene.about
        table = scene.reports.mechanism.channel.probabilities
        return label_posterior(scene.table, confusions=distributions, prior=prior, channel=table)

    found = measure(("null", name, epsilon), draws, simulate, label_rivals(posterior), kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found), fresh=name in DRAWN)


def null_cells(draws, kept, sets=SETS, epsilons=EPSILONS):
    """Return the cells of all crowds."""
    return [null_cell(name, epsilon, draws, kept) for name in sets for epsilon in epsilons]


def null_part(draws, kept, subject, **choice):
    """Every worker reports every task."""
    cells = null_cells(draws or DRAWS, kept, **choice)
    section = Section(
        "Labels, NULL as a label",
        'The tables show error rates with `RandomizedResponse(missing="category")` if '
        f"20 to 50 % of the workers answer a task. Simulated crowds have {WORKERS} workers and"
        f" {TASKS} tasks. The other crowds are the workers of adult with the most answers "
        "to tasks with known truths; on average each answers 31 % (10 workers) or 20 %"
        " (30 workers) of them. The oracle also knows how often each worker answers.",
    )
    mean_bar(section, "all cells", cells, subject, 0.95)
    section.tables += [mean_table(cells, "geometric mean"), cell_table(cells, subject)]
    return section
