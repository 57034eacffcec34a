"""From what reports told of the workers to the law of their accuracies, worker by worker.

Each worker is looked at on its own, and what is added over workers is rounded to whole numbers
first: no order of workers changes a bit.
"""

from __future__ import annotations

import numba
import numpy as np
import numpy.typing as npt

from tests.reference.cavity import REPORT_ONE
from tests.reference.vector_math import exp_minus, log, to_integer

__all__ = ["GRID", "crowd_counts", "estimate_accuracies", "evidences", "report_logs"]

GRID = 64
"""How many accuracies are told apart at a time."""

EVIDENCE_ONE = 2.0**20
COUNT_ONE = 2.0**32

_FEWEST_PLACES = 24
"""Fewer places than this that can be true are looked at through a finer grid."""

_MOST_LOOKS = 5
_NEVER = 25.0
"""An accuracy whose log-likelihood is so much below the best one cannot be true."""


@numba.njit(nogil=True, cache=True, error_model="numpy")
def report_logs(
    nodes: npt.NDArray[np.float64], accuracies: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return ``ln(1 + w (exp(v) - 1))`` at place [v, w]."""
    logs = np.empty((len(nodes), len(accuracies)))
    for place in range(len(nodes)):
        odds = np.exp(nodes[place])
        for at in range(len(accuracies)):
            logs[place, at] = log((1.0 - accuracies[at]) + accuracies[at] * odds)
    return logs


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _fill_likelihood(
    histograms: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    log_weights: npt.NDArray[np.float64],
    room: npt.NDArray[np.float64],
    likelihood: npt.NDArray[np.float64],
) -> float:
    """Fill in a worker's likelihood over its greatest, and return the logarithm of that.

    The channels are mixed with their weights; `room` is of shape (channels, grid).
    """
    places = len(logs)
    most = -np.inf
    for channel in range(len(histograms)):
        base = histograms[channel, places] / REPORT_ONE + log_weights[channel]
        room[channel] = base
        for place in range(places):
            count = histograms[channel, place] / REPORT_ONE
            if count != 0.0:
                for at in range(logs.shape[1]):
                    room[channel, at] += count * logs[place, at]
        for at in range(logs.shape[1]):
            most = max(most, room[channel, at])
    likelihood[:] = 0.0
    for channel in range(len(histograms)):
        for at in range(logs.shape[1]):
            likelihood[at] += exp_minus(most - room[channel, at])
    return most


@numba.njit(nogil=True, cache=True, error_model="numpy")
def evidences(
    histograms: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    log_weights: npt.NDArray[np.float64],
    crowds: npt.NDArray[np.float64],
) -> npt.NDArray[np.int64]:
    """Return the log-probability of what was told of all workers under laws of their accuracies.

    Parameters
    ----------
    histograms : ndarray of int64, shape (workers, channels, places + 1)
        What `coin_cavities` tells.
    logs : ndarray of float64, shape (places, grid)
        `report_logs` of the accuracies of the grid.
    log_weights : ndarray of float64, shape (channels,)
        Of each channel.
    crowds : ndarray of float64, shape (laws, grid)
        The probability of each accuracy under each law.

    Returns
    -------
    ndarray of int64, shape (laws,)
        In units of `EVIDENCE_ONE`.
    """
    room, likelihood = np.empty((histograms.shape[1], logs.shape[1])), np.empty(logs.shape[1])
    sums = np.zeros(len(crowds), np.int64)
    for worker in range(len(histograms)):
        most = _fill_likelihood(histograms[worker], logs, log_weights, room, likelihood)
        for law in range(len(crowds)):
            total = 0.0
            for at in range(logs.shape[1]):
                total += crowds[law, at] * likelihood[at]
            sums[law] += to_integer((most + log(max(total, 1e-300))) * EVIDENCE_ONE)
    return sums


@numba.njit(nogil=True, cache=True, error_model="numpy")
def crowd_counts(
    histograms: npt.NDArray[np.int64],
    logs: npt.NDArray[np.float64],
    log_weights: npt.NDArray[np.float64],
    crowd: npt.NDArray[np.float64],
) -> npt.NDArray[np.int64]:
    """Return how many workers are expected at each accuracy under one law, in units of 2^-32.

    Parameters as of `evidences`; `crowd` is of shape (grid,).
    """
    room, likelihood = np.empty((histograms.shape[1], logs.shape[1])), np.empty(logs.shape[1])
    sums = np.zeros(logs.shape[1], np.int64)
    for worker in range(len(histograms)):
        _fill_likelihood(histograms[worker], logs, log_weights, room, likelihood)
        total = 0.0
        for at in range(logs.shape[1]):
            total += crowd[at] * likelihood[at]
        for at in range(logs.shape[1]):
            sums[at] += to_integer(crowd[at] * likelihood[at] / total * COUNT_ONE)
    return sums


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _grid(low: float, high: float) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Return edges and middles of even steps between two angles; an angle t is ``sin(t/2)^2``."""
    edges = np.empty(GRID + 1)
    middles = np.empty(GRID)
    for at in range(GRID + 1):
        edges[at] = (1.0 - np.cos(low + (high - low) * at / GRID)) / 2.0
    for at in range(GRID):
        middles[at] = (1.0 - np.cos(low + (high - low) * (at + 0.5) / GRID)) / 2.0
    return edges, middles


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _quantile(
    edges: npt.NDArray[np.float64], masses: npt.NDArray[np.float64], share: float
) -> float:
    """Return below what a share of the mass lies; it is spread evenly between edges."""
    left = share * masses.sum()
    for at in range(len(masses)):
        if left <= masses[at] and masses[at] > 0.0:
            return float(edges[at] + (edges[at + 1] - edges[at]) * left / masses[at])
        left -= masses[at]
    return float(edges[len(masses)])


@numba.njit(nogil=True, cache=True, error_model="numpy")
def _density(crowd: npt.NDArray[np.float64], angle: float) -> float:
    """Return the law's density at an angle, between the middles of the whole range's grid."""
    at = angle / np.pi * GRID - 0.5
    place = min(max(int(np.floor(at)), 0), GRID - 2)
    above = min(max(at - place, 0.0), 1.0)
    return float(crowd[place] * (1.0 - above) + crowd[place + 1] * above)


@numba.njit(nogil=True, cache=True, error_model="numpy")
def estimate_accuracies(
    histograms: npt.NDArray[np.int64],
    nodes: npt.NDArray[np.float64],
    log_weights: npt.NDArray[np.float64],
    crowd: npt.NDArray[np.float64],
    tail: float,
) -> npt.NDArray[np.float64]:
    """Return each worker's accuracy: mean and two quantiles of its posterior.

    The grid is looked at again, finer, around what can be true, until that fills enough of it.

    Parameters
    ----------
    histograms, log_weights : ndarray
        As of `evidences`.
    nodes : ndarray of float64, shape (places,)
        As of `ReportLaws`.
    crowd : ndarray of float64, shape (grid,)
        The law of accuracies at even steps of the angle.
    tail : float
        How much of the posterior lies below the lower quantile, and above the upper one.

    Returns
    -------
    ndarray of float64, shape (3, workers)
        Mean, lower and upper quantile.
    """
    room, masses = np.empty((histograms.shape[1], GRID)), np.empty(GRID)
    found = np.empty((3, len(histograms)))
    whole_edges, whole_middles = _grid(0.0, np.pi)
    whole_logs = report_logs(nodes, whole_middles)
    for worker in range(len(histograms)):
        low, high = 0.0, np.pi
        edges, middles, logs = whole_edges, whole_middles, whole_logs
        for look in range(_MOST_LOOKS):
            _fill_likelihood(histograms[worker], logs, log_weights, room, masses)
            first, last, step = GRID, 0, (high - low) / GRID
            for at in range(GRID):
                masses[at] *= _density(crowd, low + step * (at + 0.5))
            least = masses.max() * np.exp(-_NEVER)
            for at in range(GRID):
                if masses[at] > least:
                    first, last = min(first, at), max(last, at)
            if last - first + 1 >= _FEWEST_PLACES or look == _MOST_LOOKS - 1:
                break
            low, high = low + step * max(first - 1, 0), low + step * min(last + 2, GRID)
            edges, middles = _grid(low, high)
            logs = report_logs(nodes, middles)
        found[0, worker] = (masses * middles).sum() / masses.sum()
        found[1, worker] = _quantile(edges, masses, tail)
        found[2, worker] = _quantile(edges, masses, 1.0 - tail)
    return found
