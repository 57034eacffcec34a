"""How fast reports are drawn."""

import os

import numpy as np
import pytest

from quietcrowd.mechanisms.channels import TableChannel
from quietcrowd.mechanisms.channels.base import other_weight_for
from quietcrowd.mechanisms.randomness import system_words
from timing import least_seconds

ANSWERS = 4_000_000


@pytest.mark.parametrize("labels", [2, 4, 8])
def test_sampling_from_the_systems_randomness(benchmark, labels, compare):
    """Reports per second, against reading the random words that they take."""
    channel = TableChannel.randomized_response(labels, other_weight_for(labels, 1.0))
    answers = np.random.default_rng(0).integers(0, labels, ANSWERS).astype(np.uint8)
    reading = least_seconds(lambda: os.urandom(4 * ANSWERS))
    benchmark.pedantic(channel.sample, (answers, system_words), rounds=7, warmup_rounds=1)
    compare(
        f"{ANSWERS:,} reports of {labels} labels with the system's random numbers",
        benchmark.stats.stats.min,
        "reading these random numbers",
        reading,
        0.5,
    )
