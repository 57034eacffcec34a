"""Families of sampled crowds with known distributions: every draw is another crowd."""

import numpy as np

import quietcrowd as qc
from quietcrowd.datasets import make_crowd
from quietcrowd.evaluation.metrics import KnownLabels, KnownNumbers
from quietcrowd_research.label_oracle import label_posterior
from quietcrowd_research.number_oracle import number_posterior, quantiles
from under_noise.cells import ORACLE, Cell, best
from under_noise.records import measure
from under_noise.rivals import (
    LABEL_METHODS,
    SUBJECT,
    TOLD,
    Scene,
    label_record,
    label_rivals,
    losses_of,
    number_rivals,
    number_subject,
)
from under_noise.tables import Section, cell_table

DRAWS = 20
EPSILONS = (0.5, 1.0, 2.0, 3.0, np.inf)

FIVE = ("a", "b", "c", "d", "e")

LABEL_FAMILIES = {
    "88 % of truths alike": {"truths": (0.88, 0.12), "answers_per_task": 3},
    "95 % of truths alike": {"truths": (0.95, 0.05), "answers_per_task": 3},
    "guesses alike": {"guesses": (0.8, 0.2)},
    "5 classes, 2 answers per worker": {"labels": FIVE, "tasks": 400, "workers": 2000},
    "weak crowd": {"accuracy": (0.35, 0.9)},
    "weak crowd, 5 classes": {"accuracy": (0.35, 0.9), "labels": FIVE},
    "shared errors": {"misled": 0.2, "labels": FIVE[:3]},
}
"""What `make_crowd(kind="guessing")` is given, by family."""

NUMBER_FAMILIES = {
    "heavy tails": {"outliers": 0.1},
    "shared bias": {"bias": 1.0},
    "compressed scales": {"scales": (0.4, 1.0)},
}
"""What `make_crowd(kind="numbers")` is given: 40 workers each."""

SKEWED = ("88 % of truths alike", "95 % of truths alike", "guesses alike")
"""Families that the prior, or some known truths, tell apart."""

POINTS = 128
"""Fineness of the oracle's grids: a step is a quarter of the least sigma."""

HELPED_EPSILONS = (0.5, 1.0)
GOLD = 0.05


def label_reports(crowd, epsilon, rng):
    """Return one-layer reports of a crowd; the answers themselves without noise."""
    if np.isinf(epsilon):
        return crowd.answers
    mechanism = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon)
    return mechanism.simulate(crowd.answers, random_state=rng, participation_is_public=True)


def number_reports(crowd, epsilon, rng):
    """Return reports with Laplace noise of a crowd; the answers themselves without noise."""
    if np.isinf(epsilon):
        return crowd.answers
    mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=epsilon, fill=None)
    return mechanism.simulate(crowd.answers, random_state=rng, participation_is_public=True)


def channel_of(scene):
    """Return the channel of the reports; None of plain answers."""
    mechanism = getattr(scene.reports, "mechanism", None)
    return None if mechanism is None else mechanism.channel


def known_distribution_posterior(scene):
    """Return the posterior with the distribution that a crowd of labels was drawn by."""
    distribution, channel = scene.about, channel_of(scene)
    return label_posterior(
        scene.table,
        confusions=distribution.confusions,
        prior=distribution.prior,
        channel=None if channel is None else channel.probabilities,
        misled=distribution.misled,
        pull=distribution.pull,
    )


def known_distribution_numbers(scene):
    """Return the medians and central 90 % intervals with the distribution of a crowd of numbers."""
    channel = channel_of(scene)
    shift = None if channel is None else channel.shift
    truths, posterior = number_posterior(scene.table, scene.about, shift, points=POINTS)
    low, middle, high = quantiles(truths, posterior, (0.05, 0.5, 0.95)).T
    return middle, low, high


def known_share(rng, truths, share):
    """Return truths that the methods are told, and the others."""
    told = np.zeros(len(truths), bool)
    told[rng.permutation(len(truths))[: round(share * len(truths))]] = True
    return truths.filter(told), truths.filter(~told)


def label_cell(family, options, epsilon, draws, kept, *, gold=0.0):
    """Return the cell of a family of labels, and all records."""
    name = f"{family} with {gold:.0%} gold" if gold else family

    def simulate(rng, draw):
        crowd = make_crowd(kind="guessing", **options, random_state=draw)
        told, rest = known_share(rng, crowd.truths, gold) if gold else (None, crowd.truths)
        score = KnownLabels(crowd.answers, rest)
        reports = label_reports(crowd, epsilon, rng)
        return Scene(reports=reports, score=score, gold=told, about=crowd.distribution)

    rivals = label_rivals(known_distribution_posterior)
    found = measure(("families", name, epsilon), draws, simulate, rivals, kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found), fresh=True), found


def told_cell(family, options, epsilon, draws, kept):
    """Return the cell of a family where the judged method alone is told the shares of the truths.

    The reports are those of the family's own cell.
    """

    def simulate(rng, draw):
        crowd = make_crowd(kind="guessing", **options, random_state=draw)
        score = KnownLabels(crowd.answers, crowd.truths)
        return Scene(
            reports=label_reports(crowd, epsilon, rng), score=score, about=crowd.distribution
        )

    def told(scene):
        labels = scene.reports.mechanism.domain.labels
        prior = dict(zip(labels, scene.about.prior.tolist(), strict=True))
        return label_record(type(LABEL_METHODS[SUBJECT])(prior=prior))(scene)

    rivals = label_rivals(known_distribution_posterior) | {TOLD: told}
    found = measure(("families", family, epsilon), draws, simulate, rivals, kept)
    losses = losses_of(found)
    losses[SUBJECT] = losses.pop(TOLD)
    return Cell(crowd=f"{family} with prior=", epsilon=epsilon, losses=losses, fresh=True)


def number_cell(family, options, epsilon, draws, kept):
    """Return the cell of a family of numbers, and all records."""

    def simulate(rng, draw):
        crowd = make_crowd(kind="numbers", **options, random_state=draw)
        score = KnownNumbers(crowd.answers, crowd.truths)
        return Scene(
            reports=number_reports(crowd, epsilon, rng), score=score, about=crowd.distribution
        )

    rivals = number_rivals(known_distribution_numbers)
    found = measure(("families", family, epsilon), draws, simulate, rivals, kept)
    return Cell(crowd=family, epsilon=epsilon, losses=losses_of(found), fresh=True), found


def family_cells(draws, kept, families=None, epsilons=EPSILONS):
    """Return the cells of the families, and those of skewed ones with a prior and with gold."""
    label_families, number_families = (
        {f: o for f, o in all_of.items() if families is None or f in families}
        for all_of in (LABEL_FAMILIES, NUMBER_FAMILIES)
    )
    labels = [
        label_cell(f, o, e, draws, kept)[0] for f, o in label_families.items() for e in epsilons
    ]
    numbers = [
        number_cell(f, o, e, draws, kept)[0] for f, o in number_families.items() for e in epsilons
    ]
    helped = []
    for family in SKEWED:
        for epsilon in HELPED_EPSILONS:
            if family in label_families and epsilon in epsilons:
                given = family, LABEL_FAMILIES[family], epsilon, draws, kept
                helped.append(label_cell(*given, gold=GOLD)[0])
                helped += [told_cell(*given)] if SUBJECT in LABEL_METHODS else []
    return labels, numbers, helped


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
    """Drawn crowds, whose distribution the oracle knows."""
    by_labels, by_numbers, helped = family_cells(draws or DRAWS, kept, sets, **choice)
    section = Section(
        "Simulated crowds",
        "Each run simulates a new crowd, and the oracle knows its distribution. A cell is met if "
        "the error is at most 1.1 times the error of the oracle, or at most 1.05 times the error "
        "of the best other method. There is no row for debiased histograms of labels, because "
        "their plurality is the majority vote, or for the debiased mean of numbers, which is the "
        "mean.",
    )
    for title, cells, judged in (
        ("Labels: error rates", by_labels, subject),
        ("Numbers: mean absolute errors, range of 10", by_numbers, number_subject(subject)),
        (
            "Skewed truths and guesses, ε ≤ 1: all methods know 5 % of the truths, which are not "
            f"scored, or only {subject} knows the frequencies of the truths",
            helped,
            subject,
        ),
    ):
        if cells:
            cells_judged = cell_table(cells, judged, judge_drawn_cell(judged))
            section.tables += [f"### {title}\n", cells_judged]
    return section
