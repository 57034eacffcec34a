"""Checks of ``research/docs/theory/pris-crowd.md``: prints its blocks, in order."""

import math
from fractions import Fraction

from quietcrowd.synthesis.attempt import TOTAL, PrivacyTest
from quietcrowd.synthesis.attempt_loss import Attempt

k, epsilon0, gamma, users = 5, 1.0, 4, 20
one = Attempt(
    passes=PrivacyTest(k=k, epsilon0=epsilon0, drop=0.5).weights.tolist(),
    total=TOTAL,
    gamma=Fraction(gamma),
    most=Fraction(1, users),
    least=Fraction(1, users),
    claims=users,
)
for t in (1, 2, 3, 4):
    epsilon = epsilon0 + math.log1p(gamma / t)
    printed = math.exp(-epsilon0 * (k - t))
    print(t, f"{epsilon:.3f}, delta printed {printed:.4f}, proved {one.delta(epsilon):.6f}")
print(f"no bound below delta = {one.delta(100):.6f}: {one.epsilon(0.0002)}")


from quietcrowd.synthesis import PrisCrowd

for weights in ("uniform", "local", "global"):
    method = PrisCrowd(epsilon0=4.0, bandwidth=0.1, weights=weights)
    loss = method.guarantee(20, tasks=1124, delta=1e-5).epsilon
    print(f"{weights}: {loss:.6g} for {method.attempts} attempts")
