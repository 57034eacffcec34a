"""Ratios of errors, their standard errors, and whether a bar is met."""

from dataclasses import dataclass, field

import numpy as np

ORACLE, CONSTANT = "oracle", "constant"
REFERENCES = (ORACLE, CONSTANT)
TOO_WIDE = 0.1
"""Two standard errors above this: the cell is undecided."""


def variance_of_mean(values, *, fresh=False):
    """Return the variance of the mean of `values`, shape (draws, tasks).

    Draws and tasks are both samples. The variance of the means by draw, over the draws, plus that
    of the means by task, over the tasks, less that of what is left, which both of them count. With
    `fresh` tasks in every draw the draws tell of both.
    """
    draws, tasks = values.shape
    rows, columns = values.mean(axis=1), values.mean(axis=0)
    by_draw = rows.var(ddof=1) / draws if draws > 1 else 0.0
    if fresh:
        return float(by_draw)
    by_task = columns.var(ddof=1) / tasks if tasks > 1 else 0.0
    if min(draws, tasks) == 1:
        return float(max(by_draw, by_task))
    left = values - rows[:, None] - columns + values.mean()
    both = (left**2).sum() / ((draws - 1) * (tasks - 1)) / (draws * tasks)
    return float(max(by_draw + by_task - both, by_draw, by_task))


VERDICTS = ("missed", "undecided, above", "undecided", "met", "")
"""The worst first. "above": by more than two standard errors, though they are too wide to count."""


def worst(verdicts):
    """Return the verdict where all have to be met."""
    return min(verdicts, key=VERDICTS.index)


def best(verdicts):
    """Return the verdict where one has to be met."""
    return max(verdicts, key=VERDICTS.index)


@dataclass(frozen=True)
class Figure:
    """A number and its standard error."""

    value: float
    error: float

    def verdict(self, most):
        """Return whether a number that may be so large is met, missed or undecided.

        NaN, of what is not said, is missed.
        """
        if np.isnan(self.value):
            return "missed"
        above = self.value - 2 * self.error > most
        if not np.isfinite(self.value) or 2 * self.error > TOO_WIDE:
            return "undecided, above" if above else "undecided"
        if self.value + 2 * self.error <= most:
            return "met"
        return "missed" if above else "undecided"

    def between(self, least, most):
        """Return whether a number is in a range."""
        return worst((self.verdict(most), Figure(-self.value, self.error).verdict(-least)))

    def __str__(self):
        if np.isnan(self.value):
            return "none"
        return f"{self.value:.3g} ± {self.error:.2g}"


def mean_of(each):
    """Return the mean of one number for each draw, with its standard error."""
    error = np.std(each, ddof=1) / len(each) ** 0.5 if len(each) > 1 else np.nan
    return Figure(float(np.mean(each)), float(error))


def share_of(marked, chosen=None):
    """Return the share of the chosen that are marked, with its standard error over the draws.

    Parameters
    ----------
    marked : ndarray, shape (draws, n)
        0 or 1; NaN where nothing is said.
    chosen : ndarray of bool, shape (draws, n), optional
        By default those of whom something is said.
    """
    chosen = ~np.isnan(marked) if chosen is None else chosen
    if not chosen.any(axis=1).all():
        return Figure(float("nan"), float("nan"))
    return mean_of([row[mask].mean() for row, mask in zip(marked, chosen, strict=True)])


@dataclass(frozen=True)
class Cell:
    """What all rivals got wrong in one set, under one noise.

    Attributes
    ----------
    crowd : str
        The set, or the family of drawn crowds.
    epsilon : float
        Infinite without noise.
    losses : dict of str to ndarray, shape (draws, tasks)
        By rival: methods, and what they are compared with.
    fresh : bool
        Whether every draw has tasks of its own.
    noise : str
        What else there is to say of the noise.
    """

    crowd: str
    epsilon: float
    losses: dict = field(repr=False)
    fresh: bool = False
    noise: str = ""

    def mean(self, name):
        """Return the mean loss of a rival, with its standard error."""
        loss = self.losses[name]
        return Figure(float(loss.mean()), variance_of_mean(loss, fresh=self.fresh) ** 0.5)

    def level(self, name):
        """Return the mean loss, or half of one wrong label where there is none, for logarithms."""
        loss = self.losses[name]
        return max(float(loss.mean()), 0.5 / loss.size)

    def methods(self, *without):
        """Return the names of the methods, but for some."""
        return [n for n in self.losses if n not in REFERENCES and n not in without]

    def best_other(self, subject):
        """Return the name of the best method beside `subject`, chosen by looking at the losses."""
        return min(self.methods(subject), key=lambda name: self.losses[name].mean())

    def relative(self, name, other):
        """Return d of shape (draws, tasks): the log ratio of mean losses moves by its mean."""
        first, second = self.losses[name], self.losses[other]
        return first / self.level(name) - second / self.level(other)

    def ratio(self, name, other):
        """Return the ratio of two mean losses, by the delta method."""
        first, second = self.losses[name].mean(), self.losses[other].mean()
        if not first or not second:
            return Figure(float("inf") if first else 1.0, 0.0 if first == second else float("nan"))
        spread = variance_of_mean(self.relative(name, other), fresh=self.fresh)
        return Figure(float(first / second), float(first / second * spread**0.5))


def geometric_mean(cells, name):
    """Return the geometric mean of a rival's mean losses."""
    return float(np.exp(np.mean([np.log(cell.level(name)) for cell in cells])))


def geometric_ratio(cells, name, others):
    """Return the geometric mean of the ratios to another rival of each cell.

    Cells of one crowd share their tasks, and their draws are independent; crowds are independent.
    `others` is a rival, or one for each cell.
    """
    names = [others] * len(cells) if isinstance(others, str) else others
    logs, spread = [], 0.0
    by_crowd = {}
    for cell, other in zip(cells, names, strict=True):
        logs.append(np.log(cell.level(name) / cell.level(other)))
        by_crowd.setdefault((cell.crowd, cell.fresh), []).append(cell.relative(name, other))
    for (_, fresh), parts in by_crowd.items():
        if fresh:
            spread += sum(variance_of_mean(p, fresh=True) for p in parts)
        else:
            spread += variance_of_mean(np.sum(parts, axis=0))
    value = float(np.exp(np.mean(logs)))
    return Figure(value, value * spread**0.5 / len(cells))


def best_single(cells, subject):
    """Return the method beside `subject` with the least geometric mean over all cells."""
    names = set.intersection(*(set(cell.methods(subject)) for cell in cells))
    return min(sorted(names), key=lambda name: geometric_mean(cells, name))
