"""Figure 2 of Li et al., KDD 2018: weights from plain and from perturbed answers, and the leak.

The weights that help truth discovery under the two-layer mechanism tell who drew a small flip
probability, and that worker's reports are as good as plain answers.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

from quietcrowd.answers import Answers
from quietcrowd.datasets.dataset import Dataset
from quietcrowd.evaluation.plots import check_picture, save_with_legend
from quietcrowd.figures import new_figure
from quietcrowd.inference.labels.voting import WeightedVote
from quietcrowd.mechanisms.channels.base import TOTAL
from quietcrowd.mechanisms.two_layer import TwoLayerRandomizedResponse
from quietcrowd.privacy.guarantee import show_loss

SHOWN = 5
"""So many users are drawn at random into the picture."""

TOP = 0.2
"""The share of the workers, of largest weight, that the notes are about."""

BUSY = 5
"""Fewest answers of a worker that counts there."""


def drawn_weights(dataset: Dataset, *, epsilon: float, trials: int, seed: int) -> pd.DataFrame:
    """Draw flip probabilities, perturb, and weigh the workers before and after.

    Parameters
    ----------
    dataset : Dataset
        With two labels.
    epsilon : float
        What Theorem 6.3 claims.
    trials : int
        Draws of the mechanism.
    seed : int
        Of the noise, and of who is shown.

    Returns
    -------
    pandas.DataFrame
        A row per trial and worker: ``trial``, ``worker``, ``answers``, ``flip`` (the drawn
        probability), ``plain`` and ``private`` (weights), ``shown``, ``claimed_epsilon``,
        ``exact_epsilon`` (of the worker's answers), ``trials``.
    """
    answers = dataset.answers.canonical
    domain = answers.domain
    mechanism = TwoLayerRandomizedResponse.from_claimed_epsilon(
        domain=domain,
        epsilon=epsilon,
    )
    method = WeightedVote()
    plain = log_odds_weights(answers, method)
    counts = answers.answers_per_worker
    busy = np.flatnonzero(counts >= BUSY)
    rng = np.random.default_rng(np.random.SeedSequence((seed, len(counts))))
    shown = np.isin(np.arange(len(counts)), rng.choice(busy, SHOWN, replace=False))
    losses = {
        count: mechanism.guarantee(int(count)).epsilon for count in np.unique(counts) if count
    }
    frames = []
    for trial in range(trials):
        drawn = mechanism.draw_workers(len(counts), rng)
        reports = mechanism.randomize_tasks(answers, drawn, rng)
        columns = {
            "trial": trial,
            "worker": [str(worker) for worker in answers.workers.to_pylist()],
            "answers": counts,
            "flip": drawn[0] / TOTAL,
            "plain": plain,
            "private": log_odds_weights(reports.table, method),
            "shown": shown,
            "claimed_epsilon": epsilon,
            "exact_epsilon": [losses.get(count, 0.0) for count in counts],
        }
        frames.append(pd.DataFrame(columns))
    return pd.concat(frames, ignore_index=True).assign(trials=trials)


def log_odds_weights(answers: Answers, method: WeightedVote) -> npt.NDArray[np.float64]:
    """Return the weights at the found truths, in the order of `answers.workers`."""
    found = method.fit(answers, n_jobs=1).workers.set_index("worker")
    found = found.reindex(answers.workers.to_pylist())
    count = found["answers"].to_numpy(np.float64)
    agree = found["agreement"].to_numpy(np.float64) * count + method.smoothing
    differ = count + 2 * method.smoothing - agree
    return np.asarray(np.log(agree / differ))


def tell_weights(frame: pd.DataFrame) -> Sequence[pd.DataFrame | str]:
    """Return the users of the picture in numbers, and what weights tell of all."""
    first = frame[(frame["trial"] == 0) & frame["shown"]]
    table = pd.DataFrame(
        {
            "data set": first["dataset"],
            "user": first["worker"],
            "answers": first["answers"],
            "drawn_flip": first["flip"],
            "weight_plain": first["plain"],
            "weight_private": first["private"],
            "loss if_flip known": [_loss_of(flip) for flip in first["flip"]],
            "exact_epsilon": first["exact_epsilon"],
        }
    )
    claimed = float(frame["claimed_epsilon"].iloc[0])
    sure = 1 / (1 + math.exp(-claimed))
    parts: list[pd.DataFrame | str] = [
        table,
        f"Of every answer epsilon = {show_loss(claimed)} is claimed: who thought both labels "
        f"equally likely were at most {sure:.1%} sure of it after. exact epsilon: what one answer "
        "loses at most, at the user's number of answers. loss if flip known: what one answer loses "
        "once the drawn probability is known.",
    ]
    return [
        *parts,
        *(_leak(str(name), rows) for name, rows in frame.groupby("dataset", sort=False)),
    ]


def _loss_of(flip: float) -> float:
    return abs(math.log((1 - flip) / flip)) if 0 < flip < 1 else math.inf


def _leak(name: str, rows: pd.DataFrame) -> str:
    """Return what weights tell of the draws, as a sentence: means of the trials."""
    ranks, tops, all_ = [], [], []
    for _, draw in rows[rows["answers"] >= BUSY].groupby("trial"):
        ranks.append((draw["private"] - draw["plain"]).rank().corr(draw["flip"].rank()))
        top = draw.nlargest(max(1, round(TOP * len(draw))), "private")
        tops.append(1 - top["flip"].mean())
        all_.append(1 - draw["flip"].mean())
    error = np.std(ranks, ddof=1) / math.sqrt(len(ranks))
    return (
        f"{name}: the rank correlation of what perturbing does to a weight with the drawn flip "
        f"probability is {np.mean(ranks):+.2f} (standard error {error:.2f}, {len(ranks)} draws, "
        f"workers with {BUSY} answers or more). A report of the fifth of the workers with the "
        f"largest private weights is the answer with probability {np.mean(tops):.3f}, of all "
        f"workers {np.mean(all_):.3f}."
    )


def draw_weights(frame: pd.DataFrame, path: Path, title: str) -> None:
    """Draw weights of a few users with what they drew, and below what weights tell of all."""
    check_picture(path)
    figure = new_figure()
    names = list(frame["dataset"].drop_duplicates())
    figure.set_size_inches(1.9 + 3.9 * len(names), 6.6)
    every = figure.subplots(2, len(names), squeeze=False)
    for column, name in enumerate(names):
        rows = frame[(frame["dataset"] == name) & (frame["trial"] == 0)]
        _draw_users(every[0, column], rows[rows["shown"]])
        _draw_leak(every[1, column], rows[rows["answers"] >= BUSY])
        every[0, column].set_title(name, fontsize="medium")
    every[0, 0].set_ylabel("weight")
    every[1, 0].set_ylabel("weight, private less plain")
    figure.suptitle(title)
    save_with_legend(figure, every.ravel(), path)


def _draw_users(axes: Any, rows: pd.DataFrame) -> None:
    places = np.arange(1, len(rows) + 1)
    axes.plot(places, rows["plain"], "-o", color="C0", label="weight, plain answers")
    axes.plot(places, rows["private"], "--s", color="C3", label="weight, perturbed answers")
    beside = axes.twinx()
    beside.bar(places, rows["flip"], width=0.25, color="grey", alpha=0.35)
    beside.set_ylim(0, 1)
    for place, flip in zip(places, rows["flip"], strict=True):
        beside.annotate(f"{flip:.2f}", (place, flip), ha="center", va="bottom", fontsize="x-small")
    axes.fill_between([], [], color="grey", alpha=0.35, label="drawn p_u")
    beside.set_ylabel("drawn p_u", color="grey")
    axes.set_xticks(places)
    axes.set_xlabel("user")
    axes.grid(alpha=0.3)


def _draw_leak(axes: Any, rows: pd.DataFrame) -> None:
    change = rows["private"] - rows["plain"]
    size = 6 + 30 * np.sqrt(rows["answers"] / rows["answers"].max())
    label = "a worker; larger: more answers"
    axes.scatter(rows["flip"], change, s=size, color="C2", alpha=0.6, label=label)
    axes.set_xlabel("drawn p_u")
    axes.grid(alpha=0.3)
