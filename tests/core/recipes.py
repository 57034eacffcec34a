"""Valid arguments of every kernel, for tests that break them.

A recipe takes a generator of random numbers and returns the positional arguments. `make sanitize`
fails if a kernel has none.
"""

import numpy as np
from tests.core import (
    test_accuracies,
    test_attempt,
    test_binned_numbers,
    test_cavity,
    test_claim_weights,
    test_confusion,
    test_glad,
    test_gtm,
    test_kde,
    test_kdem,
    test_label_crowd,
    test_label_sets,
    test_moon,
    test_noisy_labels,
    test_number_reports,
    test_numeric,
    test_set_cavities,
    test_set_crowd,
    test_voting,
)

RECIPES = {}
LENGTHS = {"weigh_locally": (7,)}
"""Places of arguments that say how long a kernel runs, which no caller takes from a file."""


def recipe(function):
    """Register a function as the recipe of the kernel of its name."""
    RECIPES[function.__name__] = function
    return function


def kernels_of(module):
    """Return the kernels by name: all functions but those that choose a variant."""
    apart = {"instruction_sets", "instruction_set", "choose"}
    return {
        name: value
        for name, value in vars(module).items()
        if callable(value) and not name.startswith("_") and name not in apart
    }


def width(rng):
    return rng.choice([np.uint8, np.uint16, np.uint32])


@recipe
def hash_texts(rng):
    payload = rng.integers(0, 256, 200, dtype=np.uint8)
    return np.sort(rng.integers(0, 201, 9)), payload, np.zeros(8, np.uint64)


@recipe
def vote(rng):
    nats, last = rng.choice([0.0, 2.0**-20]), bool(rng.integers(2))
    return test_voting.arguments_of(rng, 3, nats=nats, last=last, dtype=width(rng))


@recipe
def infer_by_confusion(rng):
    kind = {"one_coin": bool(rng.integers(2)), "last": bool(rng.integers(2))}
    labels = int(rng.choice([1, 2, 4, 9]))
    voting = bool(rng.integers(4) == 0)
    return test_confusion.arguments_of(rng, labels, voting=voting, dtype=width(rng), **kind)


@recipe
def learn_confusions(rng):
    labels, workers = int(rng.integers(1, 6)), 7
    counts = rng.integers(0, 2**40, workers * labels**2)
    log_odds = np.zeros(counts.shape, np.int32)
    return counts, labels, 2**30, 2**38, 2**33, 2.0**26, 2.0**-4, log_odds


@recipe
def learn_coins(rng):
    answers = rng.integers(0, 2**10, 9)
    counts = (answers * 2.0**30 * rng.choice([0.0, 0.3, 1.0], 9)).astype(np.int64)
    added = 2**27, 2**30, 2**20
    return counts, answers, 2.0**30, 3, *added, 2.0**26, 2.0**-4, np.zeros(9, np.int32)


@recipe
def infer_noisy_labels(rng):
    labels, reports = int(rng.integers(1, 6)), int(rng.integers(1, 6))
    last = bool(rng.integers(2))
    return test_noisy_labels.arguments_of(rng, labels, reports, last=last, dtype=width(rng))


@recipe
def infer_sets(rng):
    labels, members = [(1, 1), (5, 2), (6, 3), (9, 9)][rng.integers(4)]
    kind = {"last": bool(rng.integers(2)), "mistakes": bool(rng.integers(2))}
    return test_label_sets.arguments_of(rng, labels, members, posterior=kind["last"], **kind)


@recipe
def set_cavities(rng):
    labels, members = [(1, 1), (5, 2), (6, 3), (9, 9)][rng.integers(4)]
    return test_set_cavities.arguments_of(rng, labels, members)


@recipe
def weigh_workers(rng):
    channels, labels, places, reports, communities = map(int, rng.integers(1, 5, 5))
    labels = int(rng.choice([labels, 17]))
    workers = int(rng.integers(0, 70))
    crowd = test_label_crowd.draw_crowd(rng, channels, labels, places, reports, communities)
    counts = test_label_crowd.draw_counts(rng, workers, reports, labels)
    members = rng.permutation(workers)
    asked, all_rows = map(bool, rng.integers(2, size=2))
    return test_label_crowd.arguments_of(members, counts, crowd, asked, all_rows=all_rows)


@recipe
def bound_votes(rng):
    votes = rng.integers(-(2**31), 2**31, (7, 3, int(rng.integers(1, 5)))).astype(np.int32)
    return votes, rng.choice([0.0, 700.0, 1e9, np.inf], 7)


@recipe
def weigh_set_workers(rng):
    shape = map(int, rng.integers(1, 5, 4))
    return test_set_crowd.draw_arguments(rng, int(rng.integers(0, 70)), *shape)


@recipe
def infer_with_easiness(rng):
    labels = int(rng.choice([1, 2, 4, 40]))
    return test_glad.arguments_of(rng, labels, last=bool(rng.integers(2)), dtype=width(rng))


@recipe
def infer_means(rng):
    return test_numeric.means(test_numeric.numbers_of(rng), last=bool(rng.integers(2)))


@recipe
def infer_medians(rng):
    return test_numeric.medians(test_numeric.numbers_of(rng), last=bool(rng.integers(2)))


@recipe
def infer_least_losses(rng):
    kind = {"absolute": bool(rng.integers(2)), "power": int(rng.integers(3))}
    return test_numeric.least_losses(test_numeric.numbers_of(rng), last=True, **kind)


@recipe
def sum_per_task(rng):
    offsets, _, values, *_ = test_numeric.numbers_of(rng)
    return offsets, values, 2.0**30, np.zeros(len(offsets) - 1, np.int64)


@recipe
def coin_cavities(rng):
    answering = None if rng.integers(2) else 1.0
    kind = {"answering": answering, "dtype": width(rng)}
    return test_cavity.arguments_of(rng, int(rng.integers(2, 5)), tables=False, **kind)


@recipe
def table_cavities(rng):
    kind = {"coins": bool(rng.integers(2)), "dtype": width(rng)}
    return test_cavity.arguments_of(rng, int(rng.integers(2, 5)), tables=True, **kind)


def of_accuracies(name, rng):
    channels, grid = (int(rng.integers(1, most)) for most in (4, 40))
    return test_accuracies.arguments_of(rng, 3, channels, 32, grid)[name]


@recipe
def fill_report_logs(rng):
    return of_accuracies("fill_report_logs", rng)


@recipe
def add_evidences(rng):
    return of_accuracies("add_evidences", rng)


@recipe
def add_crowd_counts(rng):
    return of_accuracies("add_crowd_counts", rng)


@recipe
def estimate_accuracies(rng):
    return test_accuracies.arguments_of(rng, 3)["estimate_accuracies"]


@recipe
def infer_by_mixture(rng):
    last, prior = bool(rng.integers(2)), float(rng.integers(2))
    return test_moon.given_of(test_numeric.numbers_of(rng), last=last, prior_precision=prior)


@recipe
def evaluate_normal_laplace(rng):
    return rng.normal(0, 5, 9), rng.random(9), rng.uniform(0.1, 2, 9), np.zeros((5, 9))


@recipe
def evaluate_information(rng):
    return rng.random(9), rng.uniform(0.1, 2, 9), np.zeros(9)


@recipe
def fill_exp_minus(rng):
    return rng.uniform(0, 700, 9), np.zeros(9)


@recipe
def fill_functions(rng):
    return rng.normal(size=9), np.zeros((5, 9))


@recipe
def fill_log(rng):
    return rng.uniform(0.1, 9, 9), np.zeros(9)


@recipe
def fill_integers(rng):
    return rng.normal(0, 1e9, 9), np.zeros(9, np.int64)


@recipe
def fill_fraction_tails(rng):
    return rng.uniform(0, 30, 9), rng.uniform(0, 30, 9), np.zeros(9), np.zeros(9)


def at_numbers(rng, widths):
    return bool(rng.integers(2)), *test_kde.between(rng, 9)[: 1 + widths], np.zeros(9)


@recipe
def kernel_densities(rng):
    return at_numbers(rng, 1)


@recipe
def feature_inners(rng):
    return at_numbers(rng, 1)


@recipe
def kernel_overlaps(rng):
    return at_numbers(rng, 2)


@recipe
def claim_distances(rng):
    densities = test_kde.densities_of(rng, rng.integers(0, 70, 5))
    return bool(rng.integers(2)), densities, np.zeros(len(densities[1]))


@recipe
def squared_errors(rng):
    densities, others = (test_kde.densities_of(rng, rng.integers(0, 70, 5)) for _ in range(2))
    return bool(rng.integers(2)), 1, 4, densities, others, np.zeros(5)


def at_residuals(rng):
    return rng.uniform(0, 5, 9), (0.5, 1.0, 3.0), np.zeros(9)


@recipe
def hampel_psis(rng):
    return at_residuals(rng)


@recipe
def hampel_losses(rng):
    return at_residuals(rng)


@recipe
def tally_distances(rng):
    offsets, codes, values, widths = test_claim_weights.claims_of(rng, rng.integers(0, 70, 5))
    workers = test_claim_weights.WORKERS
    weights, tally = rng.random(workers), np.zeros(workers, np.int64)
    return True, 0, 5, offsets, codes, values, widths, weights, 2.0**30, tally


@recipe
def weigh_locally(rng):
    offsets, _, values, widths = test_claim_weights.claims_of(rng, rng.integers(0, 70, 5))
    found = np.zeros(len(values))
    return True, 0, 5, offsets, values, widths, (0.5, 0.75, 0.85), 5, 1e-3, False, found


@recipe
def fill_seed_edges(rng):
    sizes = rng.integers(0, 9, 5)
    offsets, weights = test_attempt.weights_of(rng, sizes)
    return offsets, weights, np.full(5, 1000), 2**32, np.zeros(len(weights), np.uint64)


@recipe
def make_attempts(rng):
    return test_attempt.arguments_of(rng, rng.integers(1, 30, 5), attempts=200)


@recipe
def blend_distributions(rng):
    return test_number_reports.tables(rng, 5, int(rng.integers(1, 25)), int(rng.integers(1, 100)))


@recipe
def weigh_distributions(rng):
    distributions, columns = int(rng.integers(1, 45)), int(rng.integers(1, 100))
    residuals = rng.integers(0, 2**40, (5, columns)) * rng.integers(0, 2, (5, columns))
    return residuals, 2.0**30, -rng.random((columns, distributions)), np.zeros((5, distributions))


@recipe
def infer_by_bins(rng):
    return test_binned_numbers.given_of(
        rng,
        bins=32,
        distributions=int(rng.integers(1, 25)),
        filling=bool(rng.integers(2)),
        supporting=bool(rng.integers(2)),
        capping=bool(rng.integers(2)),
        priors=int(rng.integers(0, 6)),
        last=bool(rng.integers(2)),
        measuring=bool(rng.integers(2)),
        comparing=bool(rng.integers(2)),
        predicting=bool(rng.integers(2)),
    )


@recipe
def infer_gaussian(rng):
    return test_gtm.arguments_of(test_numeric.numbers_of(rng), last=bool(rng.integers(2)))


@recipe
def infer_densities(rng):
    kind = {"last": bool(rng.integers(2)), "at_mode": bool(rng.integers(2))}
    return test_kdem.arguments_of(test_numeric.numbers_of(rng), **kind)
