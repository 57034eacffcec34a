"""The parts of the page, each a function of draws, kept records and the method that is judged."""

from under_noise import families, labels
from under_noise.cells import CONSTANT, ORACLE, best, geometric_ratio, worst
from under_noise.rivals import number_subject
from under_noise.tables import (
    Section,
    cell_table,
    difference,
    mean_bar,
    mean_table,
    worse_of,
)

SMALL = 3.0
"""Geometric means are over epsilons up to this."""


def small(cells):
    """Return the cells whose epsilon is small."""
    return [cell for cell in cells if cell.epsilon <= SMALL]


def judge_label_cell(subject):
    """Return the judge of one-layer cells: the best other method, and the constant."""

    def judge(cell):
        other = cell.best_other(subject)
        verdicts = [
            worse_of(cell.ratio(subject, other), difference(cell, subject, other), 1.06, 0.003)
        ]
        if cell.losses[ORACLE].mean() < 0.95 * cell.losses[CONSTANT].mean():
            verdicts.append(cell.ratio(subject, CONSTANT).verdict(1.02))
        return worst(verdicts)

    return judge


def label_part(draws, kept, subject, **choice):
    """One-layer reports on real sets."""
    cells = labels.one_layer_cells(draws or labels.DRAWS, kept, **choice)
    section = Section(
        "Labels, randomised once each",
        "Error rates under `RandomizedResponse`. The oracle knows the workers' confusions, counted "
        "from their plain answers to the tasks with known truths (plus 4 answers shared out as the "
        "crowd answers), and the shares of the truths; the constant is the most frequent known "
        "truth. A cell is missed beyond 1.06 times the best other method's error and .003 above "
        "it, or beyond 1.02 times the constant's where the oracle is below .95 of that.",
    )
    few = small(cells)
    if few:
        mean_bar(section, "ε ≤ 3", few, subject, 0.84)
        section.bar(
            "geometric mean over ε ≤ 3, against the oracle",
            geometric_ratio(few, subject, ORACLE),
            1.12,
        )
        others = [cell.best_other(subject) for cell in few]
        against_best = geometric_ratio(few, subject, others)
        section.words += f" Against the best other method of each cell: {against_best}."
        section.tables.append(mean_table(few, "geometric mean, ε ≤ 3"))
    section.tables.append(cell_table(cells, subject, judge_label_cell(subject)))
    return section


def two_layer_part(draws, kept, subject, **choice):
    """Two-layer reports on real sets."""
    cells = labels.two_layer_cells(draws or labels.DRAWS, kept, **choice)
    section = Section(
        "Labels, each worker with a secret flip probability",
        "Error rates under `TwoLayerRandomizedResponse.from_claimed_epsilon`; ε is what the paper "
        "claims, and a cell is left out where the paper has no such mechanism. The oracle knows "
        "the drawn flip probabilities, too.",
    )
    mean_bar(section, "ε ≤ 3", small(cells), subject, 0.88, "dawid-skene")
    section.tables.append(mean_table(small(cells), "geometric mean, ε ≤ 3"))
    section.tables.append(cell_table(cells, subject))
    return section


def judge_drawn_cell(subject):
    """Return the judge of drawn cells: near the oracle, or near the best other method."""

    def judge(cell):
        verdicts = (
            cell.ratio(subject, ORACLE).verdict(1.1),
            cell.ratio(subject, cell.best_other(subject)).verdict(1.05),
        )
        return best(verdicts)

    return judge


def family_part(draws, kept, subject, sets=None, **choice):
    """Drawn crowds, whose law the oracle knows."""
    by_labels, by_numbers, helped = families.family_cells(
        draws or families.DRAWS, kept, sets, **choice
    )
    section = Section(
        "Drawn families",
        "Every draw is a crowd of its own; the oracle knows the law that it was drawn by. A cell "
        "is met within 1.1 times the oracle's error, or within 1.05 times the best other method's. "
        "Debiasing moves the histogram of a task's reports along one rising line for all labels, "
        "so that its plurality is the majority vote, which is among the others; so is the plain "
        "mean of numbers.",
    )
    for title, cells, judged in (
        ("Labels: error rates", by_labels, subject),
        ("Numbers: mean absolute errors, of a range of 10", by_numbers, number_subject(subject)),
        (
            "Skewed truths and skewed guesses, ε ≤ 1, where 5 % of the truths are known to all "
            f"methods and not scored, or the shares of the truths are told to {subject} alone",
            helped,
            subject,
        ),
    ):
        if cells:
            cells_judged = cell_table(cells, judged, judge_drawn_cell(judged))
            section.tables += [f"### {title}\n", cells_judged]
    return section


PARTS = {"labels": label_part, "two-layer": two_layer_part, "families": family_part}
