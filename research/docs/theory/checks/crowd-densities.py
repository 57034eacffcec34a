"""Checks of ``research/docs/theory/crowd-densities.md``: prints its blocks, in order."""

import numpy as np

from quietcrowd.synthesis.kde import EPANECHNIKOV, GAUSSIAN, KernelDensities, distances
from quietcrowd.synthesis.weights import (
    combined_weights,
    floored_weights,
    global_weights,
    hampel_loss,
    hampel_psi,
    local_weights,
    uniform_weights,
)
from quietcrowd_research.huai2019.density_errors import integrated_squared_errors, theorem_1_bound

rng = np.random.default_rng(0)
grid = np.linspace(-40, 40, 400_001)
for kernel in (GAUSSIAN, EPANECHNIKOV):
    one, other = (
        KernelDensities(
            offsets=[0, n],
            points=rng.normal(0, 2, n),
            weights=rng.dirichlet(np.ones(n)),
            bandwidths=[h],
            kernel=kernel,
        )
        for n, h in ((7, 0.5), (30, 0.8))
    )
    summed = ((one.pdf(0, grid) - other.pdf(0, grid)) ** 2).sum() * 2e-4
    closed = integrated_squared_errors(one, other)[0]
    assert abs(closed - summed) < 1e-8
    print(f"{kernel.name}: {closed:.6f}")


claims = rng.normal(0, 1, 40)
gram = EPANECHNIKOV.density(claims[:, None] - claims, 1.0)
assert np.linalg.eigvalsh(gram).min() < -0.1  # the density is not an inner product
for kernel in (GAUSSIAN, EPANECHNIKOV):
    gram = kernel.feature_inner(claims[:, None] - claims, 1.0)
    assert np.linalg.eigvalsh(gram).min() > -1e-12
    weights = rng.dirichlet(np.ones(40))
    dense = np.diag(gram) - 2 * gram @ weights + weights @ gram @ weights
    assert abs(distances([0, 40], claims, weights, [1.0], kernel) - dense).max() < 1e-12

close = distances([0, 2], [0.0, 1e-8], [0.5, 0.5], [1.0], GAUSSIAN)[0]
peak, other = GAUSSIAN.density([0.0, 1e-8], 1.0)
direct = peak - (peak + other) + (peak + other) / 2
print(f"1e-8 apart: {close:.4e}, expected {peak * 1e-16 / 4:.4e}; direct formula {direct:.0f}")


def claims_of(workers, tasks=200, each=10):
    """Return offsets, codes and values; one worker in five claims uniformly within -15..15."""
    codes = np.concatenate([rng.choice(workers, each, replace=False) for _ in range(tasks)])
    good = rng.normal(0, 1, len(codes))
    values = np.where(codes % 5 == 0, rng.uniform(-15, 15, len(codes)), good)
    return np.arange(0, len(codes) + 1, each), codes, values


for workers in (20, 500):
    offsets, codes, values = claims_of(workers)
    found = global_weights(
        offsets, codes, values, np.full(200, 0.6), kernel=GAUSSIAN, workers=workers
    )
    unreliable = np.arange(workers) % 5 == 0
    low, high = found.weights[unreliable].mean(), found.weights[~unreliable].mean()
    print(f"{workers} workers: mean weight {low:.2f} of unreliable, {high:.2f} of other workers")


claims = np.array([0.0, 0.2, -0.1, 0.3, 0.1, -0.2, 9.0])
first = np.sqrt(distances([0, 7], claims, uniform_weights([0, 7]), [0.6], GAUSSIAN))
thresholds = np.quantile(first, [0.5, 0.75, 0.85])
printed, prime = hampel_loss(first, *thresholds), hampel_psi(first, *thresholds)
found = local_weights([0, 7], claims, [0.6], kernel=GAUSSIAN)
print("weight of 9.0 in the first printed step", (printed / printed.sum())[-1].round(3))
print("weight of 9.0 here                     ", found[-1])
shares = prime / prime.sum()
print("0.0 and 0.3 with a prime", shares[[0, 3]].round(3), "here", found[[0, 3]].round(3))

normal = rng.normal(0, 1, 20_000)
weights = local_weights(np.arange(0, 20_001, 20), normal, np.full(1000, 0.6), kernel=GAUSSIAN)
print(f"claims of weight 0, without outliers: {(weights == 0).mean():.0%}")


local, reliability = rng.dirichlet(np.ones(8)), rng.uniform(1, 3, 8)


def divergence(c):
    return (c * (2 * np.log(c) - np.log(local * reliability / reliability.sum()))).sum()


geometric, product = (
    combined_weights([0, 8], np.arange(8), local, reliability, how)
    for how in ("geometric", "product")
)
near = geometric * np.exp(rng.normal(0, 0.01, (1000, 8)))
near /= near.sum(axis=1, keepdims=True)
assert all(divergence(c) > divergence(geometric) for c in near)
print(f"{divergence(geometric):.4f} with the geometric mean, {divergence(product):.4f} as printed")


floored = floored_weights([0, 20], np.eye(20)[0], 0.5)
assert np.isclose(floored.max() / floored.min(), 1 + 20 * (1 - 0.5) / 0.5)
print(f"20 claims, floor 1/2: a factor of at most {floored.max() / floored.min():.0f}")


table = {  # ISE and SISE: PrisCrowd, Uniform, Basic with strong, normal and weak noise
    "Population": ([0.479, 0.628, 1.183, 1.119, 0.866], [6.209, 8.502, 12.013, 11.768, 10.149]),
    "Stock": ([1.699, 17.628, 12.799, 9.867, 2.125], [11.430, 47.217, 40.420, 35.391, 15.412]),
    "Indoor": ([1.051, 1.220, 1.943, 1.937, 1.882], [8.405, 11.112, 15.111, 15.046, 14.723]),
}
impossible, tasks = 0, []
for ises, sises in table.values():
    for a, b in zip(ises, sises, strict=True):
        impossible += b > a**2
        assert b >= np.sqrt(a)
        tasks.append(b**2 / a)
print(f"{impossible} of 15 are not sums of squares; sums of roots need {max(tasks):.1f} tasks")


grid = np.linspace(-6, 6, 2401)
triangle = np.maximum(1 - abs(grid), 0)  # of slope 1, on -1..1
for kernel in (GAUSSIAN, EPANECHNIKOV):
    for h in (0.1, 0.4):
        errors = []
        for _ in range(100):
            made = KernelDensities(
                offsets=[0, 30],
                points=rng.triangular(-1, 0, 1, 30),
                weights=uniform_weights([0, 30]),
                bandwidths=[h],
                kernel=kernel,
            )
            errors.append(((made.pdf(0, grid) - triangle) ** 2).sum() * 5e-3)
        bound = theorem_1_bound(slope=1.0, bandwidth=h, draws=30, kernel=kernel, support=2.0)
        assert np.mean(errors) < bound
        print(f"{kernel.name}, h = {h}: {np.mean(errors):.3f}, at most {bound:.3f}")
