"""How often the interval of a plan holds the error of a campaign: on drawn crowds, on real ones.

``python benchmarks/plan_coverage.py drawn 200``, ``... pilot 1``, ``... few 1``, ``... unlike 60``
and ``... inverse 10`` print tables. ``few`` has pilots of 50 tasks. The last one compares the least
epsilon for an error with the one that brute force finds.
"""

import sys
import warnings

import numpy as np
from scipy.optimize import isotonic_regression

import quietcrowd as qc
from quietcrowd.planning import (
    CrowdSize,
    LabelCrowd,
    NumberCrowd,
    assumption_of_pilot,
    least_epsilon,
    simulate,
)
from quietcrowd.planning.error_interval import expected_errors
from quietcrowd.planning.simulation import simulate_size
from unlike_crowds import unlike_crowd

DRAWS = {True: 12, False: 8}
"""As those of a plan, of labels and of numbers."""


def drawn_setting(number):
    """Return an assumption, a size and an epsilon, drawn: even numbers are of labels."""
    rng = np.random.default_rng((number, 22))
    tasks = int(rng.integers(50, 300))
    workers = int(rng.integers(10, 80))
    answers = int(rng.integers(5, min(tasks, 60)))
    epsilon = float(rng.choice([0.5, 1.0, 2.0, 3.0, 5.0]))
    shares = {"guessers": float(rng.uniform(0, 0.4))}
    if number % 2 == 0:
        labels = range(int(rng.choice([2, 3, 5])))
        assumed = LabelCrowd(
            domain=qc.Categorical(labels),
            accuracy=float(rng.uniform(0.6, 0.95)),
            misled=float(rng.choice([0.0, 0.15])),
            **shares,
        )
    else:
        assumed = NumberCrowd(
            domain=qc.Interval(low=0, high=10),
            error=float(rng.uniform(0.3, 2.0)),
            shared=float(rng.choice([0.0, 0.5])),
            **shares,
        )
    return assumed, CrowdSize(tasks=tasks, workers=workers, answers=answers), epsilon


def mechanism_for(domain, epsilon):
    """Return the mechanism that a plan takes by default."""
    if isinstance(domain, qc.Interval):
        return qc.LaplaceMechanism(domain=domain, epsilon=epsilon, fill=None)
    return qc.RandomizedResponse(domain=domain, epsilon=epsilon)


def drawn_coverage(crowds):
    """Return one row for each crowd: whether it is of labels, its error, and the interval."""
    rows = []
    for number in range(crowds):
        assumed, size, epsilon = drawn_setting(number)
        labels = isinstance(assumed, LabelCrowd)
        mechanism = mechanism_for(assumed.domain, epsilon)
        draws = [
            simulate(assumed.draw(size, draw, number), mechanism, (number, draw, 1))
            for draw in range(DRAWS[labels])
        ]
        (found,) = expected_errors([draws], size.tasks, labels=labels, uncertain=False)
        outcome = simulate(assumed.draw(size, 10**6, number), mechanism, (number, 10**6, 1))
        rows.append((labels, epsilon, outcome.error, found.low, found.high))
    return rows


def print_coverage(rows):
    """Print the shares of errors that lie in their intervals, with standard errors."""
    table = np.array(rows, float)
    held = (table[:, 3] <= table[:, 2]) & (table[:, 2] <= table[:, 4])
    for name, chosen in (
        ("numbers", table[:, 0] == 0),
        ("labels", table[:, 0] == 1),
        ("all", table[:, 0] >= 0),
    ):
        share = held[chosen].mean()
        error = (share * (1 - share) / chosen.sum()) ** 0.5
        width = (table[chosen, 4] - table[chosen, 3]).mean()
        print(
            f"{name:8s} {chosen.sum():4d} crowds  held {share:.3f} ± {error:.3f}  width {width:.3f}"
        )


SETS = ("duchenne", "dog", "web", "adult", "emotion", "weather_temperature")
EPSILONS = (0.5, 1.0, 2.0, 5.0)
PILOT, FEW, WORLDS = 0.1, 50, 20


def part_of(answers, tasks):
    """Return the answers to some tasks, of the workers who gave any."""
    frame = answers.to_frame()
    return qc.Answers.from_frame(frame[frame["task"].isin(tasks)], answers.domain)


def pilot_rows(name, draws, tasks=None):
    """Return one row per draw, epsilon and kind of pilot: the error, and the plan's interval."""
    crowd = qc.load_dataset(name)
    for draw in range(draws):
        for epsilon in EPSILONS:
            for kind in ("plain", "reports"):
                yield name, kind, epsilon, *by_pilot(crowd, draw, epsilon, kind, tasks)


def unlike_rows(crowds):
    """Return the same by pilots of reports of drawn crowds that are not as a plan assumes."""
    for number in range(crowds):
        for labels in (True, False):
            epsilon = EPSILONS[number % len(EPSILONS)]
            found = by_pilot(unlike_crowd(number, labels=labels), number, epsilon, "reports")
            yield "labels" if labels else "numbers", "reports", epsilon, *found


def by_pilot(crowd, seed, epsilon, kind, tasks=None):
    """Return the error of a crowd, and the plan's interval by a pilot: low, expected, high.

    A pilot is all answers to a tenth of the tasks, unless their number is given; its truths are not
    used. The error is that of all tasks with known truths.
    """
    answers, known = crowd.answers, len(crowd.truths)
    labels = not isinstance(answers.domain, qc.Interval)
    ids = np.array(answers.tasks.to_pylist(), dtype=object)
    workers = int((answers.answers_per_worker > 0).sum())
    each = min(max(1, round(len(answers) / workers)), len(ids))
    size = CrowdSize(tasks=len(ids), workers=workers, answers=each)
    rng = np.random.default_rng((seed, 1))
    tasks = tasks or max(10, int(PILOT * len(ids)))
    pilot = part_of(answers, rng.choice(ids, tasks, replace=False))
    mechanism = mechanism_for(answers.domain, epsilon)
    outcome = simulate(crowd, mechanism, (seed, 2))
    if kind == "reports":
        pilot = mechanism.simulate(pilot, random_state=np.random.default_rng((seed, 3)))
    distribution = assumption_of_pilot(pilot, worlds=WORLDS, random_state=seed)
    (cell,) = simulate_size(distribution, size, [mechanism], WORLDS, seed, plain=False)
    (found,) = expected_errors(
        [cell],
        max(known, cell[0].tasks),
        labels=labels,
        uncertain=True,
        widening=distribution.widening,
    )
    return outcome.error, found.low, found.error, found.high


TARGET_DRAWS, BATCH, MOST_DRAWS = 400, 120, 800
"""Crowds of the target's mean, and of each batch and at most of brute force, at each epsilon."""

ENOUGH = 0.025
"""A standard error of the logarithm that brute force is content with."""


def inverse_rows(settings):
    """Return one row for each drawn setting: the least epsilon that is found, and by brute force.

    The target is the mean error of 400 crowds at the setting's epsilon. Brute force knows no
    theory: other crowds at five epsilons, a falling curve through their means (isotonic
    regression), straight between them in logarithms. Its standard error is that of a jackknife.
    """
    for number in range(settings):
        assumed, size, epsilon = drawn_setting(2 * number)  # of labels
        mechanism = mechanism_for(assumed.domain, epsilon)
        (cell,) = simulate_size(assumed, size, [mechanism], TARGET_DRAWS, number + 1, plain=False)
        target = float(np.mean([one.error for one in cell]))
        found = least_epsilon(target, assumed, type(mechanism).from_claimed_epsilon, size)
        forced, doubt, crowds = brute_force(assumed, size, epsilon, target, 10**6 + 1_000 * number)
        yield (
            number,
            target,
            found.value,
            found.standard_error,
            found.crowds,
            forced,
            doubt,
            crowds,
            found.value / forced,
        )


def brute_force(assumed, size, epsilon, target, seed):
    """Return the least epsilon, the standard error of its logarithm, and crowds at each point."""
    grid = epsilon * 1.15 ** np.arange(-2, 3)
    tried = [mechanism_for(assumed.domain, float(place)) for place in grid]
    errors, doubt = np.empty((len(grid), 0)), np.inf
    while errors.shape[1] < 2 * BATCH or (doubt > ENOUGH and errors.shape[1] < MOST_DRAWS):
        batch = seed + errors.shape[1] // BATCH
        cells = simulate_size(assumed, size, tried, BATCH, batch, plain=False)
        more = [[one.error for one in cell] for cell in cells]
        errors = np.concatenate([errors, more], axis=1)
        blocks = np.array_split(np.arange(errors.shape[1]), 20)
        without = [forced_crossing(np.delete(errors, b, axis=1), grid, target) for b in blocks]
        doubt = np.sqrt(19 * np.var(without))
    return float(np.exp(forced_crossing(errors, grid, target))), float(doubt), errors.shape[1]


def forced_crossing(errors, grid, target):
    """Return the logarithm of the least epsilon on the falling curve through mean errors."""
    falling = isotonic_regression(errors.mean(axis=1), increasing=False).x
    return float(np.interp(-np.log(target), -np.log(np.maximum(falling, 1e-9)), np.log(grid)))


if __name__ == "__main__":
    warnings.simplefilter("ignore", qc.exceptions.QuietcrowdWarning)
    if sys.argv[1] == "drawn":
        print_coverage(drawn_coverage(int(sys.argv[2])))
    elif sys.argv[1] == "inverse":
        for row in inverse_rows(int(sys.argv[2])):
            print(*(f"{x:.3f}" if isinstance(x, float) else x for x in row), flush=True)
    elif sys.argv[1] == "unlike":
        for row in unlike_rows(int(sys.argv[2])):
            print(*(f"{x:.3f}" if isinstance(x, float) else x for x in row), flush=True)
    else:
        for each in sys.argv[3:] or SETS:
            for row in pilot_rows(each, int(sys.argv[2]), FEW if sys.argv[1] == "few" else None):
                print(*(f"{x:.3f}" if isinstance(x, float) else x for x in row), flush=True)
