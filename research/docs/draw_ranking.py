"""Compute the two tables of ``research/docs/rankings.md`` on simulated crowds.

``python research/docs/draw_ranking.py`` simulates 300 crowds for each row, from fixed seeds, and
writes the tables into the page. It takes some minutes.
"""

from __future__ import annotations

import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.stats import kendalltau

import quietcrowd as qc
from quietcrowd.comparisons import SIDES
from quietcrowd.exceptions import SimulatedNoiseWarning
from quietcrowd.inference import Ranking

PAGE = Path(__file__).with_name("rankings.md")
TABLES = re.compile(r"^\| pairs \| ε .*?\n\n(?=[^|])", re.MULTILINE | re.DOTALL)
SPREADS = re.compile(r"^\| standard deviation of scores .*?\n\n(?=[^|])", re.MULTILINE | re.DOTALL)

ITEMS, REPORTS, DRAWS = 20, 2000, 300
EPSILONS = (0.5, 1.0, 2.0, None)
PAIRS = ("any two", "near in a rough order")
DIFFER, PRIORS = (0.5, 1.0, 2.5), (1.25, 2.5, 5.0)


def crowd(pairs: str, differ: float, rng: np.random.Generator) -> tuple[np.ndarray, qc.Answers]:
    """Simulate scores of items, and one comparison per worker, according to the model."""
    scores = rng.normal(0, differ, ITEMS)
    if pairs == "any two":
        left = rng.integers(0, ITEMS, REPORTS)
        right = (left + rng.integers(1, ITEMS, REPORTS)) % ITEMS
    else:  # up to three places apart in a rough order
        order = np.argsort(scores + rng.normal(0, differ, ITEMS))
        first = rng.integers(0, ITEMS - 3, REPORTS)
        left, right = order[first], order[first + rng.integers(1, 4, REPORTS)]
    wins = rng.random(REPORTS) < 1 / (1 + np.exp(scores[right] - scores[left]))
    columns = {
        "worker": np.arange(REPORTS),
        "left": left,
        "right": right,
        "label": np.where(wins, left, right),
    }
    return scores, qc.Answers.from_comparisons(pd.DataFrame(columns))


def reports_of(answers: qc.Answers, epsilon: float | None, rng: np.random.Generator):
    """Return the reports of the devices, or the answers if there is no privacy."""
    if epsilon is None:
        return answers
    return qc.RandomizedResponse(domain=SIDES, epsilon=epsilon).simulate(answers, random_state=rng)


def fraction_of_wins(data) -> dict[str, float]:
    """Return the fraction of wins per item, corrected for the noise."""
    non_private = isinstance(data, qc.Answers)
    table = data if non_private else data.table
    distribution = np.eye(2) if non_private else data.mechanism.channel.probabilities
    frame = table.to_frame()
    pairs = frame["task"].str.split(" | ", regex=False, expand=True)
    for_left = ((frame["label"] == "left") - distribution[1, 0]) / (
        distribution[0, 0] - distribution[1, 0]
    )
    won = pd.concat([for_left, 1 - for_left]).astype(float)
    return won.groupby(pd.concat([pairs[0], pairs[1]])).mean().to_dict()


def agreement(found: dict[str, float], scores: np.ndarray) -> float:
    """Return Kendall's tau of two orders of the items."""
    return float(kendalltau([found[str(item)] for item in range(ITEMS)], scores).statistic)


def of_ranking(ranking: Ranking, scores: np.ndarray) -> tuple[float, float]:
    """Return Kendall's tau and the coverage of the intervals."""
    frame = ranking.to_frame().astype({"item": int}).set_index("item").sort_index()
    true = scores - scores.mean()
    inside = (frame["low"] <= true) & (true <= frame["high"])
    return float(kendalltau(frame["score"], true).statistic), float(inside.mean())


def shown(values: list[float]) -> str:
    """Format a mean over draws and its standard error."""
    return f"{np.mean(values):.3f} ± {np.std(values, ddof=1) / np.sqrt(len(values)):.3f}"


def accuracies(draws: int = DRAWS) -> str:
    """Return the table of accuracies in Markdown."""
    lines = [
        "| pairs | ε | `BradleyTerry` | fraction of wins | random order | interval coverage |",
        "|---|---|---|---|---|---|",
    ]
    for pairs in PAIRS:
        for epsilon in EPSILONS:
            cells: list[list[float]] = [[], [], [], []]
            for draw in range(draws):
                rng = np.random.default_rng([draw, PAIRS.index(pairs)])
                scores, answers = crowd(pairs, 1.0, rng)
                data = reports_of(answers, epsilon, rng)
                tau, covered = of_ranking(qc.BradleyTerry().fit(data), scores)
                wins = agreement(fraction_of_wins(data), scores)
                guess = float(kendalltau(rng.permutation(ITEMS), scores).statistic)
                for cell, value in zip(cells, (tau, wins, guess, covered), strict=True):
                    cell.append(value)
            label = "no privacy" if epsilon is None else f"{epsilon:g}"
            lines.append(f"| {pairs} | {label} | {' | '.join(map(shown, cells))} |")
    return "\n".join(lines) + "\n\n"


def priors(draws: int = DRAWS) -> str:
    """Return the table of the effect of the prior at epsilon 1."""
    columns = [f"{what}, {prior:g}" for prior in PRIORS for what in ("tau", "coverage")]
    lines = [
        f"| standard deviation of scores | {' | '.join(columns)} |",
        "|---" * (len(columns) + 1) + "|",
    ]
    for differ in DIFFER:
        cells: list[list[float]] = [[] for _ in columns]
        for draw in range(draws):
            rng = np.random.default_rng([draw, 2])
            scores, answers = crowd("any two", differ, rng)
            data = reports_of(answers, 1.0, rng)
            found = [
                of_ranking(qc.BradleyTerry(spread=prior).fit(data), scores) for prior in PRIORS
            ]
            for cell, value in zip(cells, np.reshape(found, -1).tolist(), strict=True):
                cell.append(value)
        lines.append(f"| {differ:g} | {' | '.join(map(shown, cells))} |")
    return "\n".join(lines) + "\n\n"


if __name__ == "__main__":
    warnings.simplefilter("ignore", SimulatedNoiseWarning)  # simulated on purpose
    ranked, spreads = accuracies(), priors()
    page = TABLES.sub(lambda _: ranked, PAGE.read_text())
    PAGE.write_text(SPREADS.sub(lambda _: spreads, page))
