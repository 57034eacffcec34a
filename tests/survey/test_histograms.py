"""Histograms, as research/docs/theory/surveys.md has them: of levels, and none of numbers."""

import math

import numpy as np
import pytest

import quietcrowd as qc
from quietcrowd.survey.shares import Decoder


def noise(scale, reach):
    """Return the probabilities of discrete Laplace noise from -reach to reach."""
    steps = np.abs(np.arange(-reach, reach + 1))
    q = math.exp(-1 / scale)
    return (1 - q) / (1 + q) * q**steps


def unbiased(marked, scale):
    """Return what a report adds to the estimated share of marked answers."""
    q = math.exp(-1 / scale)
    second = np.convolve(marked, [1, -2, 1], "same")
    return marked - q / (1 - q) ** 2 * second


def test_an_unbiased_share_of_numbers_takes_more_people_than_there_are():
    mechanism = qc.LaplaceMechanism.from_claimed_epsilon(
        domain=qc.Interval(low=0.0, high=10.0), epsilon=2.2, fill=None
    )
    shift = mechanism.channel.shift
    scale, steps = shift.noise.scale, shift.grid.steps
    assert (round(scale), steps) == (582, 1280)
    reach, edge = 30 * 582, steps // 2
    reports = np.arange(-reach, steps + reach + 1)
    added = unbiased((reports <= edge).astype(float), scale)
    for answer in (edge - 100, edge, edge + 1, steps):
        chances = np.interp(
            reports - answer, np.arange(-reach, reach + 1), noise(scale, reach), 0, 0
        )
        mean = chances @ added
        assert mean == pytest.approx(float(answer <= edge), abs=1e-6)
        deviation = math.sqrt(chances @ added**2 - mean**2)
        if answer in (edge, edge + 1):
            assert deviation == pytest.approx(scale**1.5, rel=0.01)
            assert (deviation / 0.05) ** 2 == pytest.approx(8e10, rel=0.03)


def test_two_populations_on_both_sides_of_an_edge_have_nearly_equal_reports():
    scale, d = 582.0, 1
    chances = noise(scale, 30 * 582)
    apart = 0.5 * np.abs(chances[d:] - chances[:-d]).sum()
    assert apart <= d / (2 * scale) * 1.01


def test_bars_of_levels_hold_their_share_in_19_of_20_surveys():
    """With one seed: nothing here depends on chance."""
    domain, people, surveys = qc.Ordinal([1, 2, 3, 4, 5]), 60, 20_000
    decoder = Decoder.of(qc.RandomizedResponse(domain=domain, epsilon=2.2).channel)
    shares, source = np.array([0.45, 0.3, 0.15, 0.07, 0.03]), np.random.default_rng(20261129)
    counts = source.multinomial(people, shares @ decoder.chances, size=surveys)
    low, high = decoder.intervals(counts, 0.95)
    held = ((low <= shares) & (shares <= high)).mean(axis=0)
    assert held.min() > 0.93 - 5 * math.sqrt(0.07 * 0.93 / surveys)
    assert abs(held.mean() - 0.95) < 0.015
    error = decoder.shares(counts).std(axis=0).max()
    assert error * math.sqrt(people / 1_000) < 0.026
