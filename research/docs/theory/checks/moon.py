"""Checks of ``research/docs/theory/moon.md``: prints its blocks, in order."""

import numpy as np
from scipy import optimize

from quietcrowd.inference.numbers.normal_laplace import NormalLaplace

print("sigma/b   information on ln v   reports for a standard error of 1")
for s in (0.1, 0.3, 1.0, 3.0, 10.0):
    errors = np.linspace(-40 - 9 * s, 40 + 9 * s, 200_001)
    distribution = NormalLaplace(s, 1.0)
    density = np.exp(distribution.log_density(errors))
    scores = (distribution.posterior_square(errors) / s**2 - 1) / 2
    information = (density * scores**2).sum() * (errors[1] - errors[0])
    print(f"{s:7} {information:21.5f} {1 / information:35.0f}")


def distribution(errors, variance, beta, alpha=0.5):
    """Return the log posterior of one worker's variance; b is 1."""
    prior = -(alpha + 1) * np.log(variance) - beta / variance
    return NormalLaplace(np.sqrt(variance), 1.0).log_density(errors).sum() + prior


rng = np.random.default_rng(0)
for n in (1, 5, 50):
    for beta in (0.01, 1.0):
        errors = rng.normal(size=n) * rng.choice([0.1, 1.0, 5.0]) + rng.laplace(size=n)
        variance = 4.0
        for _ in range(30):
            squares = NormalLaplace(np.sqrt(variance), 1.0).posterior_square(errors).sum()
            after = (2 * beta + squares) / (2 * 1.5 + n)
            assert distribution(errors, after, beta) >= distribution(errors, variance, beta) - 1e-9
            variance = after
        density = NormalLaplace(np.sqrt(variance), 1.0).log_density(errors)
        assert density.max() <= -np.log(2)  # 1/(2b)


reports = np.array([1.0, 1.5, 2.0, 4.0, 9.0])
sigmas = np.array([0.5, 1.0, 1.0, 2.0, 3.0])


def best(scale, sigmas):
    """Return the truth at which the scores of the reports add up to 0."""
    return optimize.brentq(lambda x: NormalLaplace(sigmas, scale).score(reports - x).sum(), 0, 10)


mean = np.average(reports, weights=1 / sigmas**2)
print(f"b = 0.001: {best(1e-3, sigmas):.4f}, weighted mean {mean:.4f}")
print(f"sigma = 0.001: {best(1.0, np.full(5, 1e-3)):.4f}, median {np.median(reports):.4f}")


import warnings

import pandas as pd

import quietcrowd as qc
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import CRH, MOON, ignores_noise

warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose

DOMAIN = qc.Interval(low=0, high=10)


def reports_and_truths(seed):
    """Return reports of 60 workers on 100 tasks at epsilon 5, and the truths."""
    rng = np.random.default_rng(seed)
    truths = rng.uniform(0, 10, 100)
    sigma = np.repeat([0.3, 3.0], 30)
    answers = np.clip(truths + sigma[:, None] * rng.normal(size=(60, 100)), 0, 10)
    worker, task = np.indices(answers.shape)
    frame = pd.DataFrame({"task": task.ravel(), "worker": worker.ravel(), "label": answers.ravel()})
    mechanism = qc.LaplaceMechanism(domain=DOMAIN, epsilon=5.0, fill=None)
    reports = mechanism.simulate(
        qc.Answers.from_frame(frame, DOMAIN, tasks=range(100), workers=range(60)), random_state=rng
    )
    return reports, truths


methods = {"Mean": qc.Mean(), "Median": qc.Median(), "CRH": CRH()}
for solver in ("em", "lagrange"):
    for variant in ("mixture", "variance", "quadratic"):
        methods[f"MOON, {variant}, {solver}"] = MOON(
            variant=variant, solver=solver, truth_prior=None
        )
crowds = [reports_and_truths(seed) for seed in range(10)]
for name, method in methods.items():
    with ignores_noise():
        found = [
            abs(method.fit(given).estimates.truths - truths).mean() for given, truths in crowds
        ]
    print(f"{name:25} {np.mean(found):.2f}")


from quietcrowd.mechanisms import LaplaceMechanism

for epsilon in (5.0, 1000.0):
    channel = LaplaceMechanism(domain=DOMAIN, epsilon=epsilon, fill=None).channel
    lost = 1 - channel.variance / (2 * channel.scale**2)
    print(f"epsilon {epsilon:4.0f}: g/b = {channel.grid.step / channel.scale:.5f}, {lost:.1e}")
rng = np.random.default_rng(0)
for truth in (5, 0):
    errors = np.clip(truth + 3 * rng.normal(size=200_000), 0, 10) - truth
    print(f"truth {truth}: bias {errors.mean():.1f}, rms {np.sqrt((errors**2).mean()):.1f}")


from quietcrowd.inference import RatioMean

rng = np.random.default_rng(7)
truths = rng.uniform(0, 10, 50)
worker, task = np.nonzero(rng.random((400, 50)) < 0.5)
label = np.clip(truths[task] + rng.normal(size=len(task)), 0, 10)
frame = pd.DataFrame({"task": task, "worker": worker, "label": label})
answers = qc.Answers.from_frame(frame, DOMAIN, tasks=range(50), workers=range(400))
filled = qc.LaplaceMechanism(domain=DOMAIN, epsilon=5.0, participation="released")
reports = filled.simulate(answers, random_state=rng)
for method in (MOON(truth_prior=None), RatioMean()):
    with ignores_noise():
        found = method.fit(reports).estimates.truths
    slope = np.polyfit(truths, found, 1)[0]
    print(f"{type(method).__name__:9} slope {slope:.2f}, MAE {abs(found - truths).mean():.2f}")
