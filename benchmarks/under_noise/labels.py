"""Real sets of labels: one-layer and two-layer reports."""

from functools import cache

import numpy as np

import quietcrowd as qc
from quietcrowd.evaluation.metrics import KnownLabels
from quietcrowd.evaluation.oracles import counted_confusions, label_posterior
from under_noise.cells import Cell
from under_noise.records import measure
from under_noise.rivals import Scene, label_rivals, losses_of

SETS = ("duchenne", "dog", "duck", "web", "wsd", "adult")
EPSILONS = (0.2, 0.5, 1.0, 2.0, 3.0, 5.0)
DRAWS = 12


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
    return qc.TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=answers.domain, epsilon=epsilon
    )


def counting_oracle(laws):
    """Return the posterior with the workers' counted confusions and the law of one report."""
    confusions, prior = laws

    def posterior(scene):
        mechanism = getattr(scene.reports, "mechanism", None)
        channel = None if mechanism is None else mechanism.channel.probabilities
        return label_posterior(scene.table, confusions=confusions, prior=prior, channel=channel)

    return posterior


def real_cell(part, name, epsilon, mechanism_of, draws, kept):
    """Return the cell of a real set under a mechanism, and all records."""
    answers, score, laws = real_set(name)
    mechanism = mechanism_of(answers, epsilon)

    def simulate(rng, _):
        reports = mechanism.randomize(answers, rng=rng, participation_public=True)
        return Scene(reports=reports, score=score)

    rivals = label_rivals(counting_oracle(laws))
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
