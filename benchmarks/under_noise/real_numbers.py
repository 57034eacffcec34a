"""Real sets of numbers under Laplace noise."""

from functools import cache

import numpy as np

import quietcrowd as qc
from quietcrowd.answers import Answers
from quietcrowd.evaluation.metrics import KnownNumbers
from quietcrowd_research.number_oracle import (
    counted_number_distribution,
    number_posterior,
    quantiles,
)
from quietcrowd_research.transforms import log10_dataset
from under_noise.cells import Cell, geometric_ratio, share_of
from under_noise.families import number_cell as drawn_cell
from under_noise.records import measure
from under_noise.rivals import INSIDE, WIDTH, Scene, losses_of, number_rivals, number_subject
from under_noise.tables import Section, cell_table, mean_table, noise_name, table

SETS = ("emotion", "weather_temperature", "flight_20111201", "population")
EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
DRAWS = 12
LARGE = 5.0
"""A geometric mean is over epsilons from this on."""

POINTS = 128
"""Fineness of the oracle's grids."""

AGAINST = "moon-normal"

DRAWN = "simulated crowd"
"""40 workers with normal errors, 200 tasks, by the defaults of `make_crowd(kind="numbers")`."""


@cache
def real_set(name):
    """Return plain answers in the order of reports, their score, and the counted distribution."""
    dataset = qc.load_dataset(name)
    if name == "population":
        dataset = log10_dataset(dataset)
    answers = dataset.answers.canonical
    score = KnownNumbers(answers, dataset.truths)
    return answers, score, counted_number_distribution(answers, dataset.truths)


def on_tasks(table, tasks):
    """Return the reports on some tasks, in their order."""
    counts = table.answers_per_task[tasks]
    starts = np.repeat(table.offsets[tasks] - np.cumsum(counts) + counts, counts)
    rows = starts + np.arange(len(starts))
    return Answers(
        domain=table.domain,
        tasks=table.tasks.take(tasks),
        workers=table.workers,
        offsets=np.concatenate([[0], np.cumsum(counts)]),
        worker_codes=table.worker_codes[rows],
        values=table.values[rows],
    )


def number_cell(name, epsilon, draws, kept):
    """Return the cell of a real set, and all records."""
    answers, score, distribution = real_set(name)
    mechanism = qc.LaplaceMechanism(domain=answers.domain, epsilon=epsilon, fill=None)

    def simulate(rng, _):
        reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
        return Scene(reports=reports, score=score)

    def oracle(scene):
        table_ = on_tasks(scene.table, score.tasks)
        truths, posterior = number_posterior(
            table_, distribution, mechanism.channel.shift, points=POINTS
        )
        found = np.full((3, len(answers.tasks)), np.nan)
        found[:, score.tasks] = quantiles(truths, posterior, (0.5, 0.05, 0.95)).T
        return found

    found = measure(("numbers", name, epsilon), draws, simulate, number_rivals(oracle), kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found)), found


def coverage_table(cells, subject):
    """Return the table of how many central 90 % intervals hold the truth, and how wide they are."""
    rows = []
    for cell, found in cells:
        shares = [
            f"{np.nanmean(found[name][INSIDE]):.3f} ({np.nanmedian(found[name][WIDTH]):.3g})"
            for name in (subject, AGAINST, "oracle")
        ]
        rows.append((cell.crowd, noise_name(cell.epsilon), *shares))
    return table(("crowd", "ε", f"{subject}: coverage (median width)", AGAINST, "oracle"), rows)


def number_part(draws, kept, subject, sets=(*SETS, DRAWN), epsilons=EPSILONS):
    """Numbers with Laplace noise."""
    judged = number_subject(subject)
    real = [name for name in sets if name in SETS]
    both = [number_cell(s, e, draws or DRAWS, kept) for s in real for e in epsilons]
    cells = [cell for cell, _ in both]
    section = Section(
        "Numbers",
        "The tables show mean absolute errors with `LaplaceMechanism(fill=None)`; population is in"
        " decimal logarithms. The oracle knows the mean and standard deviation of the truths, and "
        "the standard deviation of each worker's errors. This is estimated from the non-private "
        "answers to tasks with known truths, plus 4 answers that are typical of the crowd. The "
        "oracle assumes normal errors, so it is not a lower bound if errors are not normal. The "
        "constant is the median known truth. A cell is missed if the error exceeds 1.02 times the "
        "error of `MOON(truth_prior='normal')`.",
    )

    def judge(cell):
        return cell.ratio(judged, AGAINST).verdict(1.02)

    large = [cell for cell in cells if cell.epsilon >= LARGE]
    if large:
        ratio = geometric_ratio(large, judged, AGAINST)
        section.bar(f"geometric mean over ε ≥ 5, against {AGAINST}", ratio, 0.97)
    if cells:
        section.tables += [
            mean_table(cells, "geometric mean"),
            cell_table(cells, judged, judge, against=AGAINST),
            "### Central 90 % intervals\n",
            coverage_table(both, judged),
        ]
    if DRAWN in sets:
        crowds = [drawn_cell(DRAWN, {}, e, draws or DRAWS, kept) for e in epsilons]
        for cell, found in crowds:
            covered = share_of(found[judged][INSIDE])
            what = f"{DRAWN}, ε {noise_name(cell.epsilon)}: coverage of 90 % intervals"
            section.bars.append((what, str(covered), "85 to 95 %", covered.between(0.85, 0.95)))
        section.tables.append(coverage_table(crowds, judged))
    return section
