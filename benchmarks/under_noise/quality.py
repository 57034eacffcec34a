"""What the methods say of the workers: accuracy, intervals, and who does not answer honestly."""

import numpy as np

import quietcrowd as qc
from quietcrowd.evaluation.metrics import KnownLabels
from under_noise.cells import ORACLE, Cell, Figure, mean_of, share_of
from under_noise.families import label_reports
from under_noise.hostile import SHARE, turn
from under_noise.records import LOSS, measure
from under_noise.rivals import INSIDE, LABEL_METHODS, WIDTH, Scene, fit, losses_of
from under_noise.tables import Section, cell_table, mean_table, noise_name, table

DRAWS = 12
EPSILONS = (1.0, 3.0)
ACCURACY = (0.55, 0.95)
DRAWN = {
    "2 labels": {"accuracy": ACCURACY},
    "5 labels": {"accuracy": ACCURACY, "labels": ("a", "b", "c", "d", "e")},
}
"""What `make_crowd(kind="guessing")` is given: 100 workers of 100 reports each."""

COLUMNS = ("accuracy_low", "accuracy_high")
"""Ends of the 90 % intervals in `TruthEstimate.workers`, of a method that has them."""

FLAG = "flag"
"""The column that names what a worker seems to do in place of answering."""

FLAGGED = "flagged"
FLAG_EPSILON = 3.0


def worker_record(method):
    """Return a function that gives what a method says of the workers."""

    def record(scene):
        workers = fit(method, scene).workers_as("pandas")
        nothing = np.full(len(workers), np.nan)
        low, high = (workers[c].to_numpy(float) if c in workers else nothing for c in COLUMNS)
        flagged = workers[FLAG].notna().to_numpy(float) if FLAG in workers else nothing
        return judged_workers(scene, workers["accuracy"].to_numpy(float), low, high, flagged)

    return record


def judged_workers(scene, quality, low, high, flagged):
    """Return the record of the workers; one of whom nothing is said counts as of the middle."""
    known = scene.about[0].accuracy
    said = np.where(np.isnan(quality), np.mean(ACCURACY), quality)
    inside = np.where(np.isnan(low + high), np.nan, (low <= known) & (known <= high))
    return {LOSS: np.abs(said - known), INSIDE: inside, WIDTH: high - low, FLAGGED: flagged}


def oracle(scene):
    """Return the record of who knows the truths, and that accuracies are uniform."""
    table_, known = scene.table, scene.score.known
    right = np.bincount(table_.worker_codes, table_.values == known[table_.task_codes])
    counts = table_.answers_per_worker
    chances = np.linspace(*ACCURACY, 801)
    channel = scene.reports.mechanism.channel.probabilities
    kept, other = channel[0, 0], channel[0, 1]
    report = chances * kept + (1 - chances) * other
    wrong = counts - right
    logs = right[:, None] * np.log(report) + wrong[:, None] * np.log1p(-report)
    distribution = np.exp(logs - logs.max(axis=1, keepdims=True))
    sums = distribution.cumsum(axis=1) / distribution.sum(axis=1, keepdims=True)
    low, middle, high = (chances[(sums < share).sum(axis=1)] for share in (0.05, 0.5, 0.95))
    return judged_workers(scene, middle, low, high, np.full(len(low), np.nan))


def quality_cell(name, epsilon, draws, kept):
    """Return the cell of honest crowds, and all records."""

    def simulate(rng, draw):
        crowd = qc.make_crowd(kind="guessing", **DRAWN[name], random_state=draw)
        score = KnownLabels(crowd.answers, crowd.truths)
        return Scene(
            reports=label_reports(crowd, epsilon, rng), score=score, about=(crowd.distribution,)
        )

    rivals = {n: worker_record(method) for n, method in LABEL_METHODS.items()}
    found = measure(("accuracy", name, epsilon), draws, simulate, rivals | {ORACLE: oracle}, kept)
    return Cell(crowd=name, epsilon=epsilon, losses=losses_of(found), fresh=True), found


def flagged_shares(name, kind, draws, kept, subject):
    """Return the shares of hostile and of honest workers that a method flags."""

    def simulate(rng, draw):
        crowd = qc.make_crowd(kind="guessing", **DRAWN[name], random_state=draw)
        score = KnownLabels(crowd.answers, crowd.truths)
        turned, bad, _ = turn(crowd.answers, kind, rng)
        mechanism = qc.RandomizedResponse(domain=turned.domain, epsilon=FLAG_EPSILON)
        reports = mechanism.simulate(turned, random_state=rng, participation_is_public=True)
        return Scene(reports=reports, score=score, about=(crowd.distribution, bad))

    def record(scene):
        return worker_record(LABEL_METHODS[subject])(scene) | {"bad": scene.about[1]}

    found = measure(("flags", name, kind), draws, simulate, {subject: record}, kept)[subject]
    return [share_of(found[FLAGGED], found["bad"] == which) for which in (True, False)]


def quality_part(draws, kept, subject, sets=tuple(DRAWN), epsilons=EPSILONS):
    """What is said of the workers."""
    draws = draws or DRAWS
    both = [quality_cell(s, e, draws, kept) for s in sets for e in epsilons]
    section = Section(
        "The workers",
        "The tables show mean absolute differences between `accuracy` and the true accuracy of "
        "simulated workers. Crowds have 100 workers with 100 reports each, and accuracies are "
        "uniform between .55 and .95. The oracle knows the truths and this distribution, and "
        "returns the median. A missing estimate counts as .75.",
    )
    for cell, found in both:
        at = f"{cell.crowd}, ε = {noise_name(cell.epsilon)}"
        section.bar(f"{at}: error / oracle's", cell.ratio(subject, ORACLE), 1.15)
        record = found[subject]
        if np.isnan(record[WIDTH]).all():
            section.bars.append((f"{at}: 90 % intervals", "none", "87 to 93 %", "missed"))
            continue
        covered = share_of(record[INSIDE])
        section.bars.append(
            (
                f"{at}: coverage of the {np.isfinite(record[WIDTH]).mean():.0%} with an interval",
                str(covered),
                "87 to 93 %",
                covered.between(0.87, 0.93),
            )
        )
        wider = np.nanmedian(record[WIDTH], axis=1) / np.median(found[ORACLE][WIDTH], axis=1)
        section.bar(f"{at}: median width / oracle's", mean_of(wider), 1.2)
    cells = [cell for cell, _ in both]
    section.tables += [mean_table(cells, "geometric mean")]
    section.tables += [cell_table(cells, subject, against=ORACLE)]
    section.tables += ["### Flags at ε = 3\n", flag_table(section, sets, draws, kept, subject)]
    return section


def flag_table(section, sets, draws, kept, subject):
    """Return the table of flags, and add their bars."""
    rows = []
    for name in sets:
        found = {
            kind: flagged_shares(name, kind, draws, kept, subject)
            for kind in ("constant", "random")
        }
        honest = share_of(quality_cell(name, FLAG_EPSILON, draws, kept)[1][subject][FLAGGED])
        section.bar(f"{name}: false positives in honest crowds", honest, 0.05)
        for kind, least in (("constant", 0.88), ("random", 0.6)):
            shares = found[kind][0]
            verdict = Figure(-shares.value, shares.error).verdict(-least)
            what = f"{name}: {kind} workers detected"
            section.bars.append((what, str(shares), f"at least {least:g}", verdict))
            rows.append((name, kind, f"{SHARE:.0%}", shares, found[kind][1]))
        rows.append((name, "honest", "0%", "-", honest))
    return table(("crowd", "kind", "fraction", "detected", "false positives"), rows)
