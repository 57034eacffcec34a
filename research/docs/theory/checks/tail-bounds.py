"""Checks of ``research/docs/theory/tail-bounds.md``: prints its blocks, in order."""

import math

import quietcrowd as qc


def exact(count, epsilon, exceeds):
    """Return P(loss > exceeds) for rows that differ in `count` answers."""
    p = 1 / (1 + math.exp(-epsilon))
    ways = (
        (math.comb(count, k) * p**k * (1 - p) ** (count - k), (2 * k - count) * epsilon)
        for k in range(count + 1)
    )
    return sum(chance for chance, loss in ways if loss > exceeds + 1e-6)


for epsilon, count, delta in ((0.1, 100, 1e-5), (1.0, 50, 1e-6)):
    yes_no = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=epsilon)
    spent = qc.PrivacyLedger().charge("ann", yes_no, answers=count).spent("ann", delta)
    print(f"{count} answers of {epsilon}: the pair ({spent.total_epsilon:.3f}, {delta:g})")
    print(
        f"  P(loss > {spent.total_epsilon:.3f}) = {exact(count, epsilon, spent.total_epsilon) / delta:.1f} delta"
    )
    print(
        f"  P(loss > {spent.total_tail:.3f}) = {exact(count, epsilon, spent.total_tail) / delta:.2f} delta"
    )


q = (1 - math.exp(-1)) / (math.exp(0.5) - math.exp(-1))  # of the first report, under Q
print(f"{math.exp(0.5) * q:.2f}, and randomized response {1 / (1 + math.exp(-1)):.2f}")


for m in (98, 99, 100):
    print(m, " ".join(f"{exact(m, 0.1, x) / 1e-5:.2f}" for x in (4.5, 4.6, 4.7)))


from attrs import evolve

from quietcrowd.privacy.tails import composed_tail

distribution = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=0.1).loss().each
by_curve = composed_tail([(evolve(distribution, is_of_all_pairs=False), 100)], 1e-5)
print(
    f"{by_curve:.2f} from the curve, {composed_tail([(distribution, 100)], 1e-5):.2f} from the distributions"
)
