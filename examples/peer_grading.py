"""Peer grading: students grade each other, and nobody is to learn who gave which grade.

One layer flips every grade with one public probability; with two layers each student draws a
secret one. Both claim the same epsilon, but one grade, given the student's others, loses more
with two layers. All students here are simulated.
"""

import numpy as np

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import ignores_noise
from quietcrowd.mechanisms import TwoLayerRandomizedResponse

GRADES = ("poor", "fair", "good", "excellent")
EPSILON, GRADED = 2.0, 8


def main() -> None:
    """Simulate the class, randomise its grades by both mechanisms, and print what is found."""
    crowd = qc.make_crowd(
        tasks=60,
        workers=120,
        answers_per_task=16,
        labels=GRADES,
        accuracy=(0.4, 0.9),
        random_state=2,
    )
    domain = crowd.answers.domain
    layers = {
        "one layer": qc.RandomizedResponse(domain=domain, epsilon=EPSILON),
        "two layers": TwoLayerRandomizedResponse.from_claimed_epsilon(
            domain=domain, epsilon=EPSILON
        ),
    }
    print(f"120 simulated students grade {GRADED} of 60 essays each; claimed epsilon {EPSILON:g}\n")
    print("             what a grade   wrong grades   wrong grades")
    print("             really loses   weighted vote  noise-aware")
    for name, mechanism in layers.items():
        loss = mechanism.guarantee(answers=GRADED).epsilon
        votes, aware = [], []
        for seed in range(5):  # five simulated draws of the noise
            reports = mechanism.simulate(crowd.answers, random_state=seed)
            with ignores_noise():
                votes.append(qc.error_rate(qc.WeightedVote().fit(reports), crowd.truths))
            aware.append(qc.error_rate(qc.NoiseAware().fit(reports), crowd.truths))
        print(f"{name:12} {loss:12.2f} {np.mean(votes):14.1%} {np.mean(aware):14.1%}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    main()
