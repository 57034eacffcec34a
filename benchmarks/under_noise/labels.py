"""Real sets of labels: one-layer and two-layer reports."""

from functools import cache

import numpy as np

import quietcrowd as qc
from quietcrowd.evaluation.metrics import KnownLabels
from quietcrowd.mechanisms import TwoLayerRandomizedResponse
from quietcrowd_research.label_oracle import counted_confusions, label_posterior
from under_noise.cells import CONSTANT, ORACLE, Cell, geometric_ratio, worst
from under_noise.records import measure
from under_noise.rivals import Scene, label_rivals, losses_of
from under_noise.tables import Section, cell_table, difference, mean_bar, mean_table, worse_of

SETS = ("duchenne", "dog", "duck", "web", "wsd", "adult")
EPSILONS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
DRAWS = 12

SMALL = 3.0
"""Geometric means are over epsilons up to this."""


@cache
def real_set(name):
    """Return plain answers in the order of reports, their score, confusions and prior."""
    dataset = qc.load_dataset(name)
    answers = dataset.answers.canonical
    return (
        answers,
        KnownLabels(answers, dataset.truths),
        counted_confusions(answers, dataset.truths),
    )


def one_layer(answers, epsilon):
    """Return the one-layer mechanism at an epsilon."""
    return qc.RandomizedResponse(domain=answers.domain, epsilon=epsilon)


def two_layer(answers, epsilon):
    """Return the two-layer mechanism for which the paper claims an epsilon."""
    return TwoLayerRandomizedResponse.from_claimed_epsilon(domain=answers.domain, epsilon=epsilon)


def counting_oracle(distributions):
    """Return the posterior given counted confusions and the distribution of one report."""
    confusions, prior = distributions

    def posterior(scene):
        mechanism = getattr(scene.reports, "mechanism", None)
        channel = None if mechanism is None else mechanism.channel.probabilities
        return label_posterior(scene.table, confusions=confusions, prior=prior, channel=channel)

    return posterior


def real_cell(part, name, epsilon, mechanism_of, draws, kept):
    """Return the cell of a real set under a mechanism, and all records."""
    answers, score, distributions = real_set(name)
    mechanism = mechanism_of(answers, epsilon)

    def simulate(rng, _):
        reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
        return Scene(reports=reports, score=score)

    rivals = label_rivals(counting_oracle(distributions))
    found = measure((part, name, epsilon), draws, simulate, rivals, kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found)), found


def one_layer_cells(draws, kept, sets=SETS, epsilons=EPSILONS):
    """Return the cells of the one-layer mechanism."""
    return [
        real_cell("labels", name, epsilon, one_layer, draws, kept)[0]
        for name in sets
        for epsilon in epsilons
    ]


def two_layer_cells(draws, kept, sets=SETS, epsilons=EPSILONS[:-1]):
    """Return the cells of the two-layer mechanism, where the paper has one at an epsilon."""
    cells = []
    for name in sets:
        labels = real_set(name)[0].domain.size
        possible = [epsilon for epsilon in epsilons if np.exp(epsilon) >= labels - 1]
        cells += [two_layer_cell(name, epsilon, draws, kept) for epsilon in possible]
    return cells


def two_layer_cell(name, epsilon, draws, kept):
    """Return the cell of a real set; its oracle knows each worker's flip probability, too."""
    answers, score, (confusions, prior) = real_set(name)
    mechanism = two_layer(answers, epsilon)
    size = answers.domain.size

    def simulate(rng, _):
        weights = mechanism.draw_workers(len(answers.workers), rng)
        reports = mechanism.randomize_tasks(answers, weights, rng)
        other = weights[0].astype(np.float64)[:, None, None] / 2**32
        channels = other + (1 - size * other) * np.eye(size)
        return Scene(reports=reports, score=score, about=channels)

    def posterior(scene):
        return label_posterior(scene.table, confusions=confusions, prior=prior, channel=scene.about)

    found = measure(("two-layer", name, epsilon), draws, simulate, label_rivals(posterior), kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found))


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
    cells = one_layer_cells(draws or DRAWS, kept, **choice)
    section = Section(
        "Labels, one-layer randomized response",
        "The tables show error rates with `RandomizedResponse`. The oracle knows the frequencies "
        "of the truths and the workers' confusion matrices. These are counts of the non-private "
        "answers to tasks with known truths, plus 4 answers with the frequencies of the crowd. The"
        " constant is the most frequent known truth. A cell is missed if the error exceeds 1.06 "
        "times the error of the best other method and is .003 above it. It is also missed if it "
        "exceeds 1.02 times the error of the constant, unless the oracle is above .95 times the "
        "constant.",
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
        section.words += (
            " The geometric mean of the ratios to the best other method of each cell is "
            f"{against_best}."
        )
        section.tables.append(mean_table(few, "geometric mean, ε ≤ 3"))
    section.tables.append(cell_table(cells, subject, judge_label_cell(subject)))
    return section


def two_layer_part(draws, kept, subject, **choice):
    """Two-layer reports on real sets."""
    cells = two_layer_cells(draws or DRAWS, kept, **choice)
    section = Section(
        "Labels, two-layer randomized response",
        "The tables show error rates with `TwoLayerRandomizedResponse.from_claimed_epsilon`. ε is "
        "the claim of the paper. Cells without such a mechanism are omitted. The oracle also knows"
        " the secret flip probabilities.",
    )
    mean_bar(section, "ε ≤ 3", small(cells), subject, 0.88, "dawid-skene")
    section.tables.append(mean_table(small(cells), "geometric mean, ε ≤ 3"))
    section.tables.append(cell_table(cells, subject))
    return section
