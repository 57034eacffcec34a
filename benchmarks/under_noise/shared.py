"""Crowds that err together: copies of one source, and confidence on real sets."""

import numpy as np
import pandas as pd

import quietcrowd as qc
from under_noise import labels
from under_noise.cells import mean_of
from under_noise.rivals import Scene, fit
from under_noise.tables import Section, noise_name, table

DRAWS = 4
COPIES = {"12 copies": (12, 0.95), "12 loose copies": (12, 0.7), "48 copies": (48, 0.95)}
"""Number of accounts, and how often they follow their source."""

EPSILONS = (np.inf, 3.0, 1.0)
HONEST, GROUP = 40, "group"


def error_of(rows, truths, epsilon, seed, **parameters):
    """Return the error of an estimate, and the workers that it names as a group."""
    data = qc.Answers.from_frame(rows, qc.Categorical(range(4)))
    if np.isfinite(epsilon):
        mechanism = qc.RandomizedResponse(domain=data.domain, epsilon=epsilon)
        data = mechanism.simulate(data, random_state=seed)
    estimate = fit(qc.NoiseAware(**parameters), Scene(reports=data, score=None))
    found = estimate.truths.set_index("task")["truth"].to_numpy()
    flags = estimate.workers.set_index("worker")["flag"].astype(str)
    return (found != truths).mean(), flags.index[flags.str.startswith(GROUP)]


def copies_row(name, epsilon, draws):
    """Return errors with and without the search, and without copies, and who is named."""
    from tests.inference.labels.groups.drawn_crowds import with_copies

    copies, following = COPIES[name]
    errors, named = [], []
    for seed in range(draws):
        answers, truths = with_copies(seed, copies, following, honest=HONEST)
        task, worker = np.nonzero(answers.T >= 0)
        label = answers.T[task, worker]
        rows = pd.DataFrame({"task": task, "worker": worker, "label": label})
        error, group = error_of(rows, truths, epsilon, seed)
        deceived, _ = error_of(rows, truths, epsilon, seed, groups=False)
        alone, _ = error_of(rows[worker < HONEST], truths, epsilon, seed)
        errors.append((error, deceived, alone))
        named.append([(group >= HONEST).sum(), (group < HONEST).sum()])
    figures = [mean_of(column) for column in np.transpose(errors)]
    found, accused = np.mean(named, axis=0)
    return (name, noise_name(epsilon), *figures, f"{found / copies:.2f}", f"{accused:.2f}")


def confidence_row(name, epsilon, draws):
    """Return log-loss and calibration error of a real set, by the map and without it."""
    answers, score, _ = labels.real_set(name)
    found = []
    for seed in range(draws):
        data = answers
        if np.isfinite(epsilon):
            mechanism = labels.one_layer(answers, epsilon)
            data = mechanism.simulate(answers, random_state=seed, participation_is_public=True)
        row = []
        for shared in ("learn", False):
            estimate = fit(qc.NoiseAware(shared_errors=shared), Scene(reports=data, score=score))
            right = estimate.estimates.truths[score.tasks] == score.known
            sure = np.clip(estimate.estimates.confidence[score.tasks], 1e-4, 1.0 - 1e-4)
            place = np.minimum((sure * 10).astype(int), 9)
            apart = np.abs(np.bincount(place, right - sure, 10)).sum() / len(right)
            row += [-np.log(np.where(right, sure, 1.0 - sure)).mean(), apart]
        found.append(row)
    mean = np.mean(found, axis=0)
    return (name, noise_name(epsilon), *(f"{number:.3f}" for number in mean[[0, 2, 1, 3]]))


def shared_part(draws, kept, subject, sets=None, epsilons=None):  # noqa: ARG001
    """Copies of a source, found or not, and what confidence is worth on real sets."""
    draws = draws or DRAWS
    section = Section(
        "Crowds that err together",
        "The first table has 40 honest workers, 12 of whom answer each of 300 tasks with 4 labels,"
        " and copies of one source. It shows error rates with the search for groups, without it,"
        " and without copies; the fraction of the copies that is named; and how many honest workers"
        " are named. The second table shows the log-loss of whether the label is right, and the"
        " expected calibration error, with the map from the apparent truth and with independent"
        f" errors assumed. {draws} runs.",
    )
    chosen = list(epsilons or EPSILONS)
    rows = [copies_row(name, e, draws) for name in COPIES for e in chosen]
    columns = ("crowd", "ε", "with search", "without", "without copies", "named", "honest named")
    section.tables += ["### Copies\n", table(columns, sorted(rows, key=lambda row: -row[2].value))]
    real = [confidence_row(s, e, draws) for s in sets or labels.SETS for e in chosen]
    columns = ("crowd", "ε", "log-loss", "independent", "calibration error", "independent")
    real.sort(key=lambda row: float(row[3]) - float(row[2]))
    section.tables += ["### Real sets\n", table(columns, real)]
    return section
