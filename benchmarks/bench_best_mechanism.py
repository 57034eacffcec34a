"""How near the mechanism that public facts choose comes to the best one in hindsight.

``python benchmarks/bench_best_mechanism.py [NAMES]`` prints a table, losing cells first. Real sets
and drawn crowds: the facts are round numbers that a requester may know, to the nearest 0.05 or one
digit, or none at all. What is measured here has no part in the choice. Every mechanism sees the
same answers; "least" is the least mean of all, which chance makes a little too small.
"""

import sys
import warnings

import numpy as np
import pytest
from attrs import evolve

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.planning import best_mechanism, simulate
from quietcrowd.planning.best_mechanism import candidates
from quietcrowd_research.transforms import log10_dataset

EPSILONS = (0.5, 1.0, 2.0, 5.0)
BAR = 1.03
DRAWS = {"adult": 6, "weather_temperature": 4}
USUAL_DRAWS = 12
SURE = 0.01
"""Draws go on until the standard error of the ratio is no larger, or"""
MOST_TIMES = 8
"""there are so many times as many."""


def rounded(value):
    """Return a number with one digit."""
    return float(f"{value:.1g}")


def facts_of(crowd):
    """Return what a requester may know of a real set, roughly."""
    answers, truths = crowd.answers, crowd.truths.to_pandas().set_axis(["task", "truth"], axis=1)
    if isinstance(answers.domain, qc.Interval):
        truths["truth"] = truths["truth"].astype(float)
    else:  # what a file holds are texts
        codes = {str(label): label for label in answers.domain.labels}
        truths["truth"] = truths["truth"].astype(str).map(codes)
    frame = answers.to_frame()
    both = frame.assign(task=frame["task"].astype(str)).merge(
        truths.assign(task=truths["task"].astype(str)), on="task"
    )
    assert len(both)
    facts = {
        "domain": answers.domain,
        "tasks": len(answers.tasks),
        "workers": len(answers.workers),
        "answers_per_task": len(answers) / len(answers.tasks),
    }
    if not isinstance(answers.domain, qc.Interval):
        right = round(20 * float((both["label"] == both["truth"]).mean())) / 20
        shares = truths["truth"].value_counts(normalize=True)
        prior = {
            label: max(0.05, round(20 * float(shares.get(label, 0))) / 20)
            for label in answers.domain.labels
        }
        whole = sum(prior.values())
        prior = {label: share / whole for label, share in prior.items()}
        return {**facts, "quality": {"accuracy": right, "guessers": 0.0}, "prior": prior}
    usual = float((both["label"] - both["truth"]).abs().median()) / 0.67
    error = rounded(max(usual, answers.domain.width / 1000))  # most may be exact
    low, high = truths["truth"].quantile([0.16, 0.84])
    quality = {
        "error": error,
        "spread": rounded((high - low) / 2),
        "middle": rounded(low + high) / 2,
    }
    return {**facts, "quality": quality}


def drawn(labels=None, seed=0, **parameters):
    """Return a drawn crowd, and the facts of its size alone: quality and prior are not told."""
    if labels is None:
        crowd = qc.make_crowd(kind="numbers", random_state=seed, **parameters)
    else:
        crowd = qc.make_crowd(labels=list(range(labels)), random_state=seed, **parameters)
    answers = crowd.answers
    return crowd, {
        "domain": answers.domain,
        "tasks": len(answers.tasks),
        "workers": len(answers.workers),
        "answers_per_task": len(answers) / len(answers.tasks),
    }


SIZE = {"tasks": 400, "workers": 80}
DRAWN = {
    "4 labels": {"labels": 4, "answers_per_task": 20, **SIZE},
    "8 labels": {"labels": 8, "answers_per_task": 30, **SIZE},
    "20 labels": {"labels": 20, "answers_per_task": 60, **SIZE},
    "numbers": {},
}
REAL = (
    "web",
    "dog",
    "duck",
    "duchenne",
    "wsd",
    "adult",
    "emotion",
    "population",
    "flight_20111201",
    "weather_temperature",
)


def crowd_and_facts(name):
    """Return the answers, and what is known beforehand."""
    if name in DRAWN:
        return drawn(**DRAWN[name])
    crowd = qc.load_dataset(name)
    crowd = log10_dataset(crowd) if name == "population" else crowd
    crowd = evolve(crowd, answers=crowd.answers.canonical)
    return crowd, facts_of(crowd)


def cell(name, epsilon):
    """Return the choice, and the mean errors of all mechanisms on the crowd itself."""
    crowd, facts = crowd_and_facts(name)
    ranking = best_mechanism(epsilon=epsilon, **facts)
    mechanisms, _ = candidates(ranking.facts)
    found = measured_errors(crowd, mechanisms, ranking.name, DRAWS.get(name, USUAL_DRAWS))
    plain = simulate(crowd, None, 0)
    return {
        "name": name,
        "epsilon": epsilon,
        "chosen": ranking.name,
        "errors": {other: float(errors.mean()) for other, errors in found.items()},
        "ratio": ratio(found, ranking.name),
        "plain": plain.error,
        "constant": plain.constant,
    }


def measured_errors(crowd, mechanisms, chosen, draws):
    """Return the errors of each mechanism on the same draws, so many that the ratio is known."""
    errors = {name: [] for name in mechanisms}
    for draw in range(draws * MOST_TIMES):
        for name, mechanism in mechanisms.items():
            errors[name].append(simulate(crowd, mechanism, (7, draw)).error)
        if (draw + 1) % draws == 0:
            found = {name: np.array(values) for name, values in errors.items()}
            if ratio(found, chosen)[1] <= SURE:
                break
    return found


def ratio(found, chosen):
    """Return the error of the chosen one over the least, and the standard error of that."""
    least = min(found.values(), key=np.mean)
    if not least.mean():
        return (np.inf if found[chosen].mean() else 1.0), 0.0
    apart = found[chosen] - least
    error = float(apart.std(ddof=1) / np.sqrt(len(apart)))
    return float(found[chosen].mean() / least.mean()), error / float(least.mean())


def line(found):
    """Return a row of the table."""
    times, error = found["ratio"]
    errors = ", ".join(
        f"{name.partition('=')[0]} {value:.4g}"
        for name, value in sorted(found["errors"].items(), key=lambda item: item[1])
    )
    chosen = found["chosen"].partition("=")[0]
    return (
        f"| {found['name']} | {found['epsilon']:g} | {times:.3f} ± {error:.3f} | {chosen} "
        f"| {errors} "
        f"| {found['plain']:.4g} | {found['constant']:.4g} |"
    )


def measured(names):
    """Return all cells, those beyond the bar first."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        found = []
        for name in names:
            for epsilon in EPSILONS:
                found.append(cell(name, epsilon))
                print(line(found[-1]), file=sys.stderr, flush=True)
    return sorted(found, key=lambda one: -one["ratio"][0])


@pytest.mark.parametrize("name", [*REAL, *DRAWN])
def test_the_choice_is_near_the_best(name):
    """Beyond the bar where that is chance: by 3 standard errors."""
    for one in measured([name]):
        assert one["ratio"][0] <= BAR + 3 * one["ratio"][1], line(one)


def main():
    """Print the table."""
    found = measured(sys.argv[1:] or [*DRAWN, *REAL])
    print("| crowd | epsilon | times the least | chosen | errors | not private | constant guess |")
    print("|---|---|---|---|---|---|---|")
    for one in found:
        print(line(one))
    within = sum(one["ratio"][0] <= BAR for one in found)
    print(f"\n{within} of {len(found)} within {BAR}.")


if __name__ == "__main__":
    main()
