"""Tables and bars as Markdown: losing cells first."""

from dataclasses import dataclass, field

import numpy as np

from under_noise.cells import (
    CONSTANT,
    ORACLE,
    VERDICTS,
    Figure,
    best,
    best_single,
    geometric_mean,
    geometric_ratio,
    variance_of_mean,
)


@dataclass
class Section:
    """One part of the page.

    Attributes
    ----------
    title, words : str
        What it is about.
    bars : list of (str, str, float, str)
        What is wanted, what came out, the bar, the verdict.
    tables : list of str
        Markdown.
    """

    title: str
    words: str
    bars: list = field(default_factory=list)
    tables: list = field(default_factory=list)

    def bar(self, what, figure, most):
        """Add a bar that a figure may reach at most."""
        self.bars.append((what, str(figure), f"at most {most:g}", figure.verdict(most)))

    def markdown(self):
        """Return the part as text."""
        head = f"## {self.title}\n\n{self.words}\n"
        bars = sorted(self.bars, key=lambda row: VERDICTS.index(row[-1]))
        listed = [table(("criterion", "measured", "limit", "verdict"), bars)] if bars else []
        return "\n".join([head, *listed, *self.tables])


def table(columns, rows):
    """Return a Markdown table."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def noise_name(epsilon):
    """Return an epsilon as the tables have it."""
    return "none" if np.isinf(epsilon) else f"{epsilon:g}"


def unjudged(_):
    """Return no verdict: of cells that only a mean is judged by."""
    return ""


def cell_table(cells, subject, judge=unjudged, against=None):
    """Return the table of all cells, losing ones first.

    Parameters
    ----------
    cells : sequence of Cell
        Each with the oracle and the constant.
    subject : str
        Which method is judged.
    judge : function of Cell
        Gives the verdict.
    against : str, optional
        What the ratio is to; by default the best other method of each cell.
    """
    rows = []
    for cell in cells:
        other = against or cell.best_other(subject)
        verdict, ratio = judge(cell), cell.ratio(subject, other)
        row = (
            cell.crowd,
            noise_name(cell.epsilon),
            cell.mean(subject),
            other,
            cell.mean(other),
            ratio,
            *(_reference(cell, subject, name) for name in (ORACLE, CONSTANT)),
            verdict,
        )
        rows.append((VERDICTS.index(verdict), -ratio.value, row))
    rows.sort(key=lambda row: row[:2])
    columns = ("crowd", "ε", subject, "other method", "its error", "ratio", "oracle", "constant")
    lines = [row for _, _, row in rows]
    return counted(lines) + table((*columns, "verdict"), lines)


def counted(lines):
    """Return a sentence that says how many lines have each verdict, their last column."""
    verdicts = [line[-1] for line in lines]
    counts = [f"{verdicts.count(v)} {v}" for v in VERDICTS if v and v in verdicts]
    return f"Verdicts of {len(lines)} cells: {', '.join(counts)}.\n\n" if counts else ""


def _reference(cell, subject, name):
    """Return a reference's error, and in brackets the ratio to it."""
    if name not in cell.losses:
        return "-"
    return f"{cell.losses[name].mean():.3g} ({cell.ratio(subject, name).value:.2f})"


def mean_table(cells, what):
    """Return the table of geometric means over cells, of every rival, the least first."""
    names = set.intersection(*(set(cell.losses) for cell in cells))
    rows = sorted((geometric_mean(cells, name), name) for name in names)
    return table(("method", what), [(name, f"{value:.3f}") for value, name in rows])


def mean_bar(section, what, cells, subject, most, other=None):
    """Add a bar of the geometric mean of ratios, to one rival or the best single other method."""
    name = other or best_single(cells, subject)
    against = f"geometric mean over {what}, against {name}"
    figure = geometric_ratio(cells, subject, name)
    section.bar(against if other else f"{against}, the best single other method", figure, most)
    return figure


def worse_of(ratio, difference, most, margin):
    """Return the verdict where both a ratio and a difference have to pass a bar to miss it."""
    return best((ratio.verdict(most), _above(difference, margin)))


def not_above(ratio):
    """Return "missed" where a ratio is above 1 by more than two standard errors; else "met"."""
    return "missed" if ratio.value - 2 * ratio.error > 1 else "met"


def _above(difference, margin):
    low = difference.value - 2 * difference.error
    if difference.value + 2 * difference.error <= margin:
        return "met"
    return "missed" if low > margin else "undecided"


def difference(cell, name, other):
    """Return the difference of two mean losses."""
    apart = cell.losses[name] - cell.losses[other]
    return Figure(float(apart.mean()), variance_of_mean(apart, fresh=cell.fresh) ** 0.5)
