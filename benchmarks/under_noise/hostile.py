"""Real sets in which a fifth of the workers answer at random, one label, or the opposite."""

import numpy as np

from quietcrowd_research.label_oracle import label_posterior
from under_noise.cells import Cell, worst
from under_noise.labels import DRAWS, SETS, one_layer, real_set
from under_noise.records import measure
from under_noise.rivals import Scene, label_rivals, losses_of
from under_noise.tables import Section, cell_table, mean_table, not_above

SHARE = 0.2
KINDS = ("random", "constant", "opposite")
EPSILONS = (1.0, 3.0)


def turn(answers, kind, rng, distributions=None):
    """Return the answers with a fifth of the workers turned, who, and all workers' distributions.

    Parameters
    ----------
    answers : Answers
        Of labels.
    kind : str
        One of `KINDS`: uniform labels; one label that the worker drew; the next label in turn,
        with two the other one.
    rng : Generator
        Of the draw.
    distributions : ndarray, shape (workers, labels, labels), optional
        Distributions of the answers of honest workers.
    """
    labels, workers = answers.domain.size, len(answers.workers)
    bad = np.zeros(workers, bool)
    bad[rng.permutation(workers)[: round(SHARE * workers)]] = True
    values = answers.values.astype(np.int64)
    own = rng.integers(0, labels, workers)
    at_random = rng.integers(0, labels, len(values))
    turned, distribution = {
        "random": lambda: (at_random, np.full((workers, labels, labels), 1 / labels)),
        "constant": lambda: (
            own[answers.worker_codes],
            np.broadcast_to(np.eye(labels)[own][:, np.newaxis], (workers, labels, labels)),
        ),
        "opposite": lambda: (
            (values + 1) % labels,
            None if distributions is None else np.roll(distributions, 1, axis=2),
        ),
    }[kind]()
    values = np.where(bad[answers.worker_codes], turned, values).astype(answers.values.dtype)
    if distributions is not None:
        distributions = np.where(bad[:, np.newaxis, np.newaxis], distribution, distributions)
    return answers.with_values(answers.domain, values), bad, distributions


def hostile_cell(name, kind, epsilon, draws, kept):
    """Return the cell of a real set; its oracle knows who is hostile, and how."""
    answers, score, (confusions, prior) = real_set(name)
    mechanism = one_layer(answers, epsilon)

    def simulate(rng, _):
        turned, _, distributions = turn(answers, kind, rng, confusions)
        reports = mechanism.simulate(turned, random_state=rng, participation_is_public=True)
        return Scene(reports=reports, score=score, about=distributions)

    def posterior(scene):
        table = mechanism.channel.probabilities
        return label_posterior(scene.table, confusions=scene.about, prior=prior, channel=table)

    key = ("hostile", name, kind, epsilon)
    found = measure(key, draws, simulate, label_rivals(posterior), kept)
    return Cell(crowd=f"{name}, {kind}", epsilon=epsilon, losses=losses_of(found))


def hostile_cells(draws, kept, sets=SETS, epsilons=EPSILONS):
    """Return the cells of all sets and kinds."""
    return [hostile_cell(s, kind, e, draws, kept) for s in sets for kind in KINDS for e in epsilons]


def hostile_part(draws, kept, subject, **choice):
    """A fifth of the workers is"""
    cells = hostile_cells(draws or DRAWS, kept, **choice)
    section = Section(
        "A fifth of the workers is hostile",
        "The tables show error rates if 20 % of the workers are hostile, chosen at random in every"
        " run. They answer at random, always with one label, or always with the next label (the "
        "other one of two), and use the mechanism like all others. The oracle knows who they are. "
        "A cell is missed if the error exceeds 1.05 times the error of the best other method, or "
        "is above that of the majority vote.",
    )

    def judge(cell):
        near = cell.ratio(subject, cell.best_other(subject)).verdict(1.05)
        return worst((near, not_above(cell.ratio(subject, "majority"))))

    section.tables += [mean_table(cells, "geometric mean"), cell_table(cells, subject, judge)]
    return section
