"""Checks of ``research/docs/theory/budgets.md``: prints its blocks, in order."""

import math
from functools import cache

from quietcrowd.accounting.spending import filter_used
from quietcrowd.privacy.loss import pure_distribution
from quietcrowd.privacy.loss_grid import compose_losses


def worst_delta(budget, delta, step, kinds, used):
    """Return the largest delta at the budget over all devices; losses are `kinds` times `step`."""
    distributions = [pure_distribution(kind * step) for kind in kinds]
    right = [1 / (1 + math.exp(-distribution.epsilon)) for distribution in distributions]

    @cache
    def fits(counts):
        return (
            used(
                [(distribution, n) for distribution, n in zip(distributions, counts) if n],
                budget,
                delta,
            )
            <= budget
        )

    @cache
    def worst(counts, loss):
        most = max(0.0, 1 - math.exp(budget - loss * step))
        for place, kind in enumerate(kinds):
            after = tuple(n + (place == own) for own, n in enumerate(counts))
            if fits(after):
                p = right[place]
                most = max(
                    most, p * worst(after, loss + kind) + (1 - p) * worst(after, loss - kind)
                )
        return most

    return worst((0,) * len(kinds), 0)


def composed(parts, budget, delta):
    return compose_losses(parts, delta)


for budget, delta, step, kinds in ((3.0, 0.01, 0.25, (1, 4)), (2.5, 0.01, 0.1, (1, 10))):
    losses = [kind * step for kind in kinds]
    found = [worst_delta(budget, delta, step, kinds, rule) for rule in (composed, filter_used)]
    print(
        f"losses {losses}, budget ({budget}, {delta}): "
        f"{found[0]:.4f} by exact composition, {found[1]:.4f} by the filter"
    )


def least_budget(parts, delta):
    low, high = 0.0, sum(distribution.epsilon * n for distribution, n in parts)
    while high - low > 1e-6:
        middle = (low + high) / 2
        low, high = (low, middle) if filter_used(parts, middle, delta) <= middle else (middle, high)
    return high


for epsilon, count, delta in (
    (0.01, 10_000, 1e-6),
    (0.1, 100, 1e-5),
    (0.5, 50, 1e-6),
    (1.0, 50, 1e-6),
):
    parts = [(pure_distribution(epsilon), count)]
    squares = count * epsilon**2
    print(
        f"{count} of {epsilon}: exact {compose_losses(parts, delta):.2f}, "
        f"filter {least_budget(parts, delta):.2f}, "
        f"by squares {math.sqrt(2 * math.log(1 / delta) * squares) + squares / 2:.2f}, "
        f"sum {count * epsilon:g}"
    )


def worst_chooser(budget, delta, epsilon):
    """Return the delta at the budget for the worst choice of questions, and the number of answers."""
    distribution, right = pure_distribution(epsilon), 1 / (1 + math.exp(-epsilon))

    @cache
    def worst(answers, loss):
        most = max(0.0, 1 - math.exp(budget - loss * epsilon))
        if filter_used([(distribution, answers + 1)], budget, delta) > budget:
            return most, answers
        up, down, alike = (worst(answers + 1, loss + step) for step in (1, -1, 0))
        differing = right * up[0] + (1 - right) * down[0]
        return max(most, differing, alike[0]), up[1]

    return worst(0, 0)


for budget, delta, epsilon in ((5.0, 0.01, 0.25), (8.0, 0.01, 0.5)):
    found, answers = worst_chooser(budget, delta, epsilon)
    assert found <= delta
    print(f"budget ({budget}, {delta}), {answers} answers at {epsilon}: delta at most {found:.5f}")
