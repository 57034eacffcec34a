"""Checks of ``research/docs/theory/normal-laplace.md``: prints its blocks, in order."""

import numpy as np

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

for sigma, b, error in [(0.5, 1.0, 0.8), (2.0, 1.0, -1.5), (3.0, 2.0, 12.0)]:
    distribution = NormalLaplace(sigma, b)
    noise = np.linspace(-90, 90, 360_001)  # a point at the cusp, L = 0
    own = error - noise
    joint = np.exp(-0.5 * (own / sigma) ** 2 - abs(noise) / b)
    joint /= sigma * np.sqrt(2 * np.pi) * 2 * b
    density = joint.sum() * 5e-4
    assert abs(np.log(density) - distribution.log_density(error)) < 1e-6
    for value, of in [(own, distribution.posterior_mean), (own**2, distribution.posterior_square)]:
        assert abs(np.average(value, weights=joint) - of(error)) < 1e-6
    t = np.average(np.sign(noise), weights=joint)
    normal = np.exp(-0.5 * (error / sigma) ** 2) / (sigma * np.sqrt(2 * np.pi))
    ratio = normal / density
    assert abs(distribution.score(error) + t / b) < 1e-6
    assert abs(distribution.curvature(error) - (t**2 - 1 + ratio) / b**2) < 1e-6
    step = 1e-4  # in sigma squared
    wider, narrower = (
        NormalLaplace(np.sqrt(sigma**2 + d), b).log_density(error) for d in (step, -step)
    )
    assert abs((wider - narrower) / (2 * step) - (1 - ratio) / (2 * b**2)) < 1e-6


s, x = 1e5, 1.0
distribution = NormalLaplace(s, 1.0)
ratio = np.exp(-0.5 * (x / s) ** 2 - distribution.log_density(x)) / (s * np.sqrt(2 * np.pi))
plain = s**2 + s**4 * (1 - ratio)
assert abs(plain - 3) > 1
print(f"without cancellation {distribution.posterior_square(x):.6f}")
for s in (1e-6, 1e-3, 1.0, 1e3, 1e6):
    for x in (0.0, 1e-6, 1.0, s, s**2, 1e6):
        distribution = NormalLaplace(s, 1.0)
        assert -1 <= distribution.score(x) <= 0
        assert distribution.curvature(x) >= 0
        assert distribution.posterior_mean(x) ** 2 <= distribution.posterior_square(x) * (1 + 1e-12)
        assert np.isfinite(distribution.log_density(x))


from decimal import Decimal, getcontext

from quietcrowd._core import fill_fraction_tails

getcontext().prec = 60
PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494459")


def tail(x):
    """Return g(x), from the series of erf or the continued fraction."""
    if x < 5:
        term = total = x
        for n in range(1, 300):
            term *= 2 * x * x / (2 * n + 1)
            total += term
        scaled = (x * x).exp() - 2 / PI.sqrt() * total
        return 1 / (2 * (1 / (PI.sqrt() * scaled) - x)) - x
    rest = Decimal(0)
    for n in range(1500, 1, -1):
        rest = Decimal(n) / 2 / (x + rest)
    return rest


def solved(rows):
    """Return the solution of linear equations, the right side being the last column."""
    rows, size = [list(row) for row in rows], len(rows)
    for i in range(size):
        best = max(range(i, size), key=lambda k: abs(rows[k][i]))
        rows[i], rows[best] = rows[best], rows[i]
        rows[i] = [value / rows[i][i] for value in rows[i]]
        for k in range(size):
            if k != i:
                rows[k] = [a - rows[k][i] * b for a, b in zip(rows[k], rows[i], strict=True)]
    return [row[-1] for row in rows]


equations = []
for place in range(21):
    w = Decimal(float(np.cos((place + 0.5) * np.pi / 21)))
    y = (w + 1) / 2
    ratio = tail(3 / y - 3) / y
    equations.append([w**k for k in range(11)] + [-ratio * w**k for k in range(1, 11)] + [ratio])
found = solved(equations)
assert min(found) > 0

worst = 0
points, tails = [], []
for y in [Decimal(2 * k - 1) / 200 for k in range(1, 101)]:
    w = 2 * y - 1
    top = sum(a * w**k for k, a in enumerate(found[:11]))
    bottom = 1 + sum(a * w**k for k, a in enumerate(found[11:], 1))
    worst = max(worst, abs(top / bottom / (tail(3 / y - 3) / y) - 1))
    points.append(float(3 / y - 3))
    tails.append(float(y * top / bottom))
filled = np.empty((2, 100))
fill_fraction_tails(np.array(points), np.array(points), *filled)
np.testing.assert_allclose(filled, [tails, tails], rtol=1e-14)
print(f"off by {worst:.0e} at most")


for ratio in (0.01, 0.1, 0.3, 1.0, 3.0):
    information = NormalLaplace(ratio, 1.0).fisher_information
    saved = 1 - 1 / np.sqrt(information * (ratio**2 + 2))
    print(f"sigma/b = {ratio:4.2f}: information {information:.4f}, saves {saved:6.2%}")

grid = np.linspace(-60, 60, 240_001)
for ratio in (0.1, 1.0, 3.0):
    distribution = NormalLaplace(ratio, 1.0)
    density = np.exp(distribution.log_density(grid))
    squares = (density * distribution.score(grid) ** 2).sum() * 5e-4
    assert abs(squares - distribution.fisher_information) < 1e-9

ratios = np.geomspace(1e-6, 1e6, 1000)
saved = 1 - 1 / np.sqrt(NormalLaplace(ratios, 1.0).fisher_information * (ratios**2 + 2))
assert saved.max() <= 1 - 1 / np.sqrt(2)
print(f"at most {saved.max():.2%}")
