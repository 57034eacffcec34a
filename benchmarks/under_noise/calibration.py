"""Whether confidences are the shares of labels that are right."""

import numpy as np

import quietcrowd as qc
from quietcrowd.evaluation.metrics import KnownLabels
from quietcrowd_research.calibration_error import excess_calibration_error
from under_noise import labels
from under_noise.cells import ORACLE, Figure, mean_of
from under_noise.families import known_distribution_posterior, known_share, label_reports
from under_noise.records import LOSS, measure
from under_noise.rivals import CONFIDENCE, Scene, label_rivals
from under_noise.tables import Section, noise_name, table

EPSILONS = (0.5, 1.0, 2.0, 3.0, np.inf)
FIVE = ("a", "b", "c", "d", "e")
DRAWN = {
    "accuracy .55 to .95, 2 labels": ({}, 0.03),
    "accuracy .55 to .95, 5 labels": ({"labels": FIVE}, 0.03),
    "accuracy .55 to .95, 3 answers per task": ({"answers_per_task": 3}, 0.03),
    "weak, 2 labels": ({"accuracy": (0.35, 0.9)}, 0.05),
    "weak, 5 labels": ({"accuracy": (0.35, 0.9), "labels": FIVE}, 0.05),
}
"""What `make_crowd(kind="guessing")` is given, and the bar."""

GOLD = 0.1
GROUPS = 10
"""Of tasks, each left out in turn, for the standard error on real sets."""


def excess(record, draw, tasks=slice(None)):
    """Return the excess of one draw, over some tasks."""
    right = record[LOSS][draw][tasks] == 0
    return excess_calibration_error(np.clip(record[CONFIDENCE][draw][tasks], 0, 1), right)


def over_draws(record):
    """Return the mean excess, with its standard error, of crowds that are new in every draw."""
    return mean_of([excess(record, draw) for draw in range(len(record[LOSS]))])


def over_draws_and_tasks(record):
    """Return the mean excess of a real set; its error is of draws, and of tasks by a jackknife."""
    draws, tasks = record[LOSS].shape
    each = [excess(record, draw) for draw in range(draws)]
    by_draw = np.var(each, ddof=1) / draws if draws > 1 else 0.0
    group = np.random.default_rng(0).permutation(tasks) % GROUPS
    without = [
        np.mean([excess(record, draw, group != left_out) for draw in range(draws)])
        for left_out in range(GROUPS)
    ]
    by_task = np.var(without) * (GROUPS - 1)
    return Figure(float(np.mean(each)), float((by_draw + by_task) ** 0.5))


def drawn_records(name, epsilon, draws, kept):
    """Return the records of drawn crowds."""

    def simulate(rng, draw):
        crowd = qc.make_crowd(kind="guessing", **DRAWN[name][0], random_state=draw)
        score = KnownLabels(crowd.answers, crowd.truths)
        return Scene(
            reports=label_reports(crowd, epsilon, rng), score=score, about=crowd.distribution
        )

    rivals = label_rivals(known_distribution_posterior)
    return measure(("calibration", name, epsilon), draws, simulate, rivals, kept)


def gold_records(name, epsilon, draws, kept):
    """Return the records of a real set of whose known truths a tenth is told, drawn anew."""
    answers, _, distributions = labels.real_set(name)
    truths = qc.load_dataset(name).truths
    mechanism = labels.one_layer(answers, epsilon)

    def simulate(rng, _):
        told, rest = known_share(rng, truths, GOLD)
        reports = mechanism.simulate(answers, random_state=rng, participation_is_public=True)
        return Scene(reports=reports, score=KnownLabels(answers, rest), gold=told)

    rivals = label_rivals(labels.counting_oracle(distributions))
    return measure(("calibration-gold", name, epsilon), draws, simulate, rivals, kept)


def figures_table(rows, subject):
    """Return the table of excesses, the worst of the judged method first.

    Parameters
    ----------
    rows : list of (str, float, dict of str to Figure)
        Crowd, epsilon, and figures by rival.
    subject : str
        Which method is judged.
    """
    others = [n for n in rows[0][2] if n not in (subject, ORACLE, "constant")]
    rows = sorted(rows, key=lambda row: -row[2][subject].value)
    lines = [
        (name, noise_name(e), found[subject], *(f"{found[n].value:.3f}" for n in (*others, ORACLE)))
        for name, e, found in rows
    ]
    return table(("crowd", "ε", subject, *others, ORACLE), lines)


def excess_of(found, error, subject):
    """Return figures by rival: with a standard error of the judged one alone, which takes time."""
    figures = {subject: error(found[subject])}
    for name in found:
        if name != subject:
            each = [excess(found[name], draw) for draw in range(len(found[name][LOSS]))]
            figures[name] = Figure(float(np.mean(each)), np.nan)
    return figures


def calibration_part(draws, kept, subject, sets=None, epsilons=None):
    """Expected calibration errors, less their expectation under perfect calibration."""
    draws = draws or labels.DRAWS
    section = Section(
        "Confidence",
        "The tables show the mean over runs of the expected calibration error in ten bins of equal"
        " width from 0 to 1, minus its exact expectation under perfect calibration. Gold tasks are"
        " excluded. Standard errors on real sets include runs and tasks, the latter by a jackknife"
        " over tenths.",
    )
    rows = []
    for name, (_, bar) in DRAWN.items():
        if sets and name not in sets:
            continue
        for epsilon in epsilons or EPSILONS:
            found = excess_of(drawn_records(name, epsilon, draws, kept), over_draws, subject)
            rows.append((name, epsilon, found))
            section.bar(f"{name}, ε {noise_name(epsilon)}", found[subject], bar)
    if rows:
        section.tables += ["### Simulated crowds\n", figures_table(rows, subject)]
    for title, records, bar in (
        ("Real sets", _without_gold, 0.07),
        ("Real sets, all methods know a tenth of the truths", gold_records, 0.03),
    ):
        rows = [
            (s, e, excess_of(records(s, e, draws, kept), over_draws_and_tasks, subject))
            for s in labels.SETS
            if not sets or s in sets
            for e in epsilons or labels.EPSILONS
            if np.isfinite(e)
        ]
        if rows:
            section.bar(f"{title}: mean", mean_of_sets(rows, subject), bar)
            means = [
                (name, f"{np.mean([found[name].value for _, _, found in rows]):.3f}")
                for name in rows[0][2]
            ]
            section.tables += [
                f"### {title}\n",
                table(("method", "mean"), sorted(means, key=lambda row: float(row[1]))),
                figures_table(rows, subject),
            ]
    return section


def mean_of_sets(rows, subject):
    """Return the mean over all cells; those of one set share tasks, so their errors add up."""
    by_set = {}
    for name, _, found in rows:
        by_set.setdefault(name, []).append(found[subject])
    sums = [sum(figure.error for figure in figures) for figures in by_set.values()]
    value = np.mean([found[subject].value for _, _, found in rows])
    return Figure(float(value), float(np.sqrt(np.sum(np.square(sums))) / len(rows)))


def _without_gold(name, epsilon, draws, kept):
    """Return the records of the first part."""
    return labels.real_cell("labels", name, epsilon, labels.one_layer, draws, kept)[1]
