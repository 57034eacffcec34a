"""Run one of the large sparse cases in a process of its own; print seconds and peak memory."""

import json
import sys
import time
import warnings

import numpy as np

import quietcrowd as qc
from peak_memory import peak_gigabytes
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import WeightedMean, ignores_noise
from quietcrowd.mechanisms import MatrixFactorization, TwoLayerRandomizedResponse

warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose


def many_workers():
    """10^6 workers and 10^4 tasks at sparsity 0.999, reports of answers alone."""
    crowd = qc.make_crowd(kind="sparse", workers=10**6, tasks=10**4, sparsity=0.999, random_state=0)
    mechanism = qc.LaplaceMechanism(domain=crowd.answers.domain, epsilon=1.0, fill=None)
    mechanism.simulate(crowd.answers, random_state=0)


def every_mechanism():
    """10,000 workers and 1,000 tasks through every mechanism, and Algorithm 1 after each."""
    crowd = qc.make_crowd(kind="sparse", workers=10_000, tasks=1_000, sparsity=0.9, random_state=0)
    rng = np.random.default_rng(0)
    at = {"domain": crowd.answers.domain, "epsilon": 1.0}
    variants = ("fill", "ridge", "statistics")
    for mechanism in (
        qc.RandomizedResponse(**at, missing="category"),
        TwoLayerRandomizedResponse(**at, distribution="epsilon", missing="category"),
        qc.LaplaceMechanism(**at),
        qc.LaplaceMechanism(**at, participation="released"),
        qc.LaplaceMechanism(**at, fill=None),
        *(MatrixFactorization(**at, rank=20, variant=variant) for variant in variants),
    ):
        with ignores_noise():
            WeightedMean().fit(mechanism.simulate(crowd.answers, random_state=rng))


if __name__ == "__main__":
    start = time.perf_counter()
    {"many": many_workers, "every": every_mechanism}[sys.argv[1]]()
    peak = peak_gigabytes()
    print(json.dumps({"seconds": time.perf_counter() - start, "gigabytes": peak}))
