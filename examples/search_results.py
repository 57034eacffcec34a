"""Search results: raters score a few pages each from 0 to 9, and which ones is private, too.

Nine of ten cells are empty. Matrix factorisation sends a few noisy numbers for all of them;
a noisy number and a noisy bit per page, read by a method that knows the noise, tell more. All
raters here are simulated.
"""

import numpy as np

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import RatioMean, WeightedMean, ignores_noise
from quietcrowd.mechanisms import MatrixFactorization

RATERS, PAGES, EPSILON = 1_000, 60, 4.0


def main() -> None:
    """Simulate the raters, randomise by both mechanisms, and print what is found."""
    crowd = qc.make_crowd(
        kind="sparse", tasks=PAGES, workers=RATERS, sparsity=0.9, truths="uniform", random_state=3
    )
    domain = crowd.answers.domain
    factors = MatrixFactorization(domain=domain, epsilon=EPSILON, variant="fill", rank=30)
    bits = qc.LaplaceMechanism(domain=domain, epsilon=EPSILON, participation="released")
    noise = {
        name: mechanism.simulate(crowd.answers, random_state=0)
        for name, mechanism in (("factors", factors), ("bits", bits))
    }
    with ignores_noise():
        found = {
            "no privacy, weighted mean": WeightedMean().fit(crowd.answers),
            "matrix factorisation, weighted mean": WeightedMean().fit(noise["factors"]),
            "numbers with bits, ratio mean": RatioMean().fit(noise["bits"]),
            "numbers with bits, noise-aware": qc.NoiseAware().fit(noise["bits"]),
        }
    truths = np.array(crowd.truths["label"].to_numpy(), dtype=float)
    guess = np.abs(truths - np.median(truths)).mean()
    print(f"{RATERS} simulated raters, {PAGES} pages, nine of ten cells empty, epsilon {EPSILON:g}")
    print("\nMean error of a score from 0 to 9:")
    for name, estimate in found.items():
        print(f"  {name:38} {qc.mean_absolute_error(estimate, crowd.truths):.2f}")
    print(f"  {'always the same score, the best one':38} {guess:.2f}")


if __name__ == "__main__":
    import warnings

    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    main()
