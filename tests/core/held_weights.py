"""What the reports of one task of numbers count."""

import numpy as np

from quietcrowd._core import infer_by_bins

BINS = 32
HEIGHT = 2.0**20


def held_weights(weights, borne):
    """Return what each report counts, after one of them was capped."""
    return weights * [_factor(weights, borne, place) for place in range(len(weights))]


def _factor(weights, borne, place):
    """Return how often a report counts: of all it alone is likely at the known truth, 0."""
    reports, nothing, likely = len(weights), np.zeros(0), np.zeros(1, np.int64)
    by_distribution = np.zeros((1, 2 * BINS))
    by_distribution[0, BINS] = HEIGHT
    places = np.zeros(reports, np.int64)
    places[place] = BINS
    infer_by_bins(
        (
            np.array([0, reports]),
            np.arange(reports, dtype=np.uint32),
            np.zeros(reports),
            np.zeros(1),
        ),
        (
            places,
            np.full(reports, -1),
            np.zeros(reports),
            nothing,
            np.zeros(1),
            np.zeros(0, np.int64),
        ),
        (np.zeros((1, BINS)), np.zeros((0, BINS))),
        (
            np.ones((reports, 1)),
            by_distribution,
            by_distribution.reshape(-1, 1),
            np.full(reports, -1),
            np.zeros((0, 2 * BINS), np.int32),
        ),
        (np.ones((1, 1)), 0.0, np.zeros(1)),
        (0.0, 1.0, np.zeros((0, 2))),
        np.zeros((0, 0)),
        weights[:, np.newaxis],
        borne[:, np.newaxis],
        nothing,
        np.zeros(2),
        (HEIGHT,) * 5,
        (
            np.zeros((0, 2 * BINS), np.int64),
            np.zeros(BINS, np.int64),
            np.zeros(0, np.int64),
            np.zeros((reports, 1), np.int64),
            np.zeros((0, 0), np.int64),
            likely,
            np.zeros(0, np.int64),
            np.zeros(reports, np.int64),
        ),
        np.zeros((0, BINS)),
        np.zeros((0, 0)),
        (nothing, nothing, nothing),
    )
    return likely[0] / HEIGHT**2
