"""Pictures of the pages on privacy loss, drawn from what the library computes."""

from __future__ import annotations

import math

import numpy as np
from chart import line_chart

import quietcrowd as qc
from quietcrowd.accounting.spending import filter_used
from quietcrowd.mechanisms import (
    DuchiMechanism,
    HybridMechanism,
    OptimalMechanism,
    TwoLayerRandomizedResponse,
)
from quietcrowd.privacy.loss import pure_distribution
from quietcrowd.privacy.loss_grid import compose_losses
from quietcrowd.privacy.shuffling import KeepOrReplace, shuffled_loss
from quietcrowd.synthesis import PrisCrowd

YES_NO = qc.Categorical(["no", "yes"])


def two_layer() -> str:
    counts = [1, 2, 3, 5, 8, 13, 20, 32, 50, 80, 130, 277, 500, 1000, 1834]
    series = {}
    for claimed in (1.0, 0.5, 0.0):
        mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(domain=YES_NO, epsilon=claimed)
        exact = [mechanism.guarantee(answers=n).epsilon for n in counts]
        series[f"exact, claimed {claimed:g}"] = counts, exact
    series["claimed 1"] = [1, 1834], [1.0, 1.0]
    return line_chart(
        series, x="answers of a worker", y="privacy loss ε", log="x", x_range=(1, 2000)
    )


def accounting() -> str:
    counts = [1, 2, 5, 10, 20, 35, 50, 75, 100]
    series = {"sum of the losses": (counts, [float(n) for n in counts])}
    for delta in (1e-9, 1e-6, 1e-3):
        spent = []
        for n in counts:
            mechanism = qc.RandomizedResponse(domain=qc.Ordinal(range(4)), epsilon=1.0)
            ledger = qc.PrivacyLedger().charge("ann", mechanism, answers=n)
            spent.append(ledger.spent("ann", delta=delta).total_epsilon)
        series[f"ledger, δ = {delta:.0e}".replace("e-0", "e-")] = counts, spent
    return line_chart(series, x="answers at ε = 1 (four labels)", y="total ε")


def budgets() -> str:
    counts = [1, 2, 5, 10, 20, 40, 60, 80, 100]
    each = pure_distribution(0.25)
    found: dict[str, list[float]] = {
        "sum": [],
        "filter, for any choice": [],
        "exact, for a fixed plan": [],
    }
    for n in counts:
        found["sum"].append(0.25 * n)
        found["filter, for any choice"].append(filter_used([(each, n)], 25.0, 1e-6))
        found["exact, for a fixed plan"].append(compose_losses([(each, n)], 1e-6))
    series = {name: (counts, values) for name, values in found.items()}
    return line_chart(series, x="answers at ε = 0.25", y="used of a budget, δ = 1e-6")


def bounded_reports() -> str:
    domain = qc.Interval(low=-1, high=1)
    epsilons = np.geomspace(0.25, 8, 16)
    kinds = {"Duchi": DuchiMechanism, "piecewise": qc.PiecewiseMechanism, "hybrid": HybridMechanism}
    series = {"Laplace": (epsilons, 8 / epsilons**2)}
    for name, kind in kinds.items():
        found = [
            kind(domain=domain, epsilon=float(e), step=2**-7).channel.variance for e in epsilons
        ]
        series[name] = epsilons, found
    return line_chart(
        series,
        x="privacy loss ε of a report",
        y="largest variance of a report",
        log="xy",
        x_range=(0.25, 8),
        y_range=(0.01, 200),
    )


def exact_noise() -> str:
    scale, z = 2.0, list(range(-10, 11))
    q = math.exp(-1 / scale)
    exact = [(1 - q) / (1 + q) * q ** abs(v) for v in z]
    digits = 7
    geometric = []
    for g in range(2**digits):
        chance = 1.0
        for place in range(digits):
            one = 1 / (1 + math.exp(2**place / scale))
            chance *= one if g >> place & 1 else 1 - one
        geometric.append(chance)
    by_digits = [
        sum(
            geometric[g] * geometric[g - v] for g in range(max(v, 0), min(2**digits, 2**digits + v))
        )
        for v in z
    ]
    return line_chart(
        {"formula": (z, exact)},
        dots={"by independent binary digits": (z, by_digits)},
        x="noise z, scale 2",
        y="probability",
    )


def facts() -> str:
    epsilons = np.linspace(0, 6, 61)
    series = {
        f"{before:.0%} sure before": (
            epsilons,
            before / (before + (1 - before) * np.exp(-epsilons)),
        )
        for before in (0.5, 0.1, 0.01)
    }
    return line_chart(series, x="privacy loss ε", y="at most this sure afterwards", y_range=(0, 1))


def finite_channels() -> str:
    epsilons = np.linspace(0, 8, 33)
    series = {}
    for k in (2, 4, 16, 64):
        kept = []
        for epsilon in epsilons:
            channel = qc.RandomizedResponse(domain=qc.Ordinal(range(k)), epsilon=epsilon).channel
            kept.append(channel.probabilities[0, 0])
        series[f"{k} labels"] = epsilons, kept
    return line_chart(
        series,
        x="privacy loss ε of a report",
        y="probability that the answer is sent",
        y_range=(0, 1),
    )


def memo() -> str:
    counts = list(range(1, 42, 2))
    keep = math.e / (1 + math.e)
    fresh = [
        sum(math.comb(m, a) * keep**a * (1 - keep) ** (m - a) for a in range(m // 2 + 1, m + 1))
        for m in counts
    ]
    series = {"fresh noise": (counts, fresh), "memo": (counts, [keep] * len(counts))}
    return line_chart(
        series,
        x="reports of the same answer, ε = 1 each",
        y="majority is the answer",
        y_range=(0.5, 1),
    )


def optimal_channel() -> str:
    domain = qc.Categorical(["none", "one", "several"])
    prior = {"none": 0.8, "one": 0.1, "several": 0.1}
    epsilons = [0.25, 0.5, 0.75, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
    gains: dict[str, list[float]] = {"best table": [], "best table that keeps labels apart": []}
    for epsilon in epsilons:
        response = qc.RandomizedResponse(domain=domain, epsilon=epsilon).channel.weights
        single, *found = (
            OptimalMechanism(domain=domain, epsilon=epsilon, prior=prior, **options)
            for options in ({"weights": response}, {"apart": 0.0}, {"apart": 0.5})
        )
        for values, one in zip(gains.values(), found, strict=True):
            values.append(one.information_kept / single.information_kept)
    series = {name: (epsilons, values) for name, values in gains.items()}
    return line_chart(
        series,
        x="privacy loss ε (frequencies .8, .1, .1)",
        y="information, relative",
        y_range=(0.9, 1.3),
    )


def pris_crowd() -> str:
    claims = [1, 2, 5, 10, 20, 30]
    series = {}
    for weights in ("uniform", "local", "global"):
        losses = []
        for count in claims:
            method = PrisCrowd(epsilon0=4.0, bandwidth=0.1, weights=weights, claims=count)
            losses.append(method.guarantee(20, tasks=1124, delta=1e-5).epsilon)
        series[f"{weights} weights"] = claims, losses
    return line_chart(
        series,
        x="released claims per task (20 users, δ = 1e-5)",
        y="privacy loss ε",
        log="xy",
        x_range=(1, 30),
    )


def shuffling() -> str:
    others = [10, 30, 100, 300, 1000, 10_000, 100_000]
    series = {}
    for local in (1.0, 3.0):
        other = 1 / (math.exp(local) + 1)
        response = KeepOrReplace(size=2, keep=math.exp(local) * other, other=other)
        for name, mechanism in (("two labels", response), ("any mechanism", None)):
            found = [shuffled_loss(local, n, 1e-7, mechanism).epsilon for n in others]
            series[f"ε = {local:g}, {name}"] = others, found
    return line_chart(
        series, x="other honest workers, δ = 1e-7", y="loss after shuffling", log="xy"
    )


def sparse() -> str:
    epsilons = np.linspace(0.1, 8, 40)
    series = {
        f"{k} labels": (epsilons, [k / (k + math.exp(e)) for e in epsilons]) for k in (2, 5, 10, 50)
    }
    return line_chart(
        series,
        x="privacy loss ε of a cell, also about participation",
        y="empty cells reported as answers",
        y_range=(0, 1),
    )


def subset_selection() -> str:
    """Squared distance of the two rows of sets, over that of randomized response."""
    epsilons = [0.25, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0]
    series = {}
    for k in (4, 10, 20, 50):
        needed = []
        for epsilon in epsilons:
            domain = qc.Ordinal(range(k))
            sets = qc.SubsetSelection(domain=domain, epsilon=epsilon).channel.sets
            one = float(sets.parted[0]), float(sets.parted[1])
            channel = qc.RandomizedResponse(domain=domain, epsilon=epsilon).channel
            keep, other = channel.keep_and_other
            single = math.sqrt(keep) - math.sqrt(other)
            needed.append((single / (math.sqrt(one[0]) - math.sqrt(one[1]))) ** 2)
        series[f"{k} labels"] = epsilons, needed
    return line_chart(
        series, x="privacy loss ε", y="reports needed, single label = 1", y_range=(0, 1.02)
    )


def tails() -> str:
    count, epsilon = 50, 1.0
    p = 1 / (1 + math.exp(-epsilon))
    ways = [
        (math.comb(count, k) * p**k * (1 - p) ** (count - k), (2 * k - count) * epsilon)
        for k in range(count + 1)
    ]
    x = np.linspace(30, 49.9, 200)
    tail = [sum(c for c, loss in ways if loss > v) for v in x]
    pair = [sum(c * -math.expm1(v - loss) for c, loss in ways if loss > v) for v in x]
    return line_chart(
        {"P(loss > x)": (x, tail), "δ(x)": (x, pair)},
        x="x: loss of 50 answers at ε = 1",
        y="probability",
        log="y",
    )


PICTURES = {
    "theory-accounting": accounting,
    "theory-bounded-numbers": bounded_reports,
    "theory-budgets": budgets,
    "theory-exact-noise": exact_noise,
    "theory-facts": facts,
    "theory-finite-channels": finite_channels,
    "theory-memo": memo,
    "theory-optimal-channel": optimal_channel,
    "theory-pris-crowd": pris_crowd,
    "theory-shuffling": shuffling,
    "theory-sparse-answers": sparse,
    "theory-subset-selection": subset_selection,
    "theory-tail-bounds": tails,
    "theory-two-layer": two_layer,
}
