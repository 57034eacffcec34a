"""A published table or figure: the experiments behind it, or the rows of a table."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
from attrs import frozen

from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.exceptions import ParameterError
from quietcrowd_research.density_plots import plot_across, plot_errors
from quietcrowd_research.score_plots import plot_methods, plot_panels

Across: TypeAlias = Literal[
    "claimed_epsilon", "sparsity", "dataset", "method", "claims", "bandwidth"
]


@frozen(kw_only=True)
class Part:
    """One experiment of a figure.

    Attributes
    ----------
    columns : mapping
        What its rows are marked with.
    experiment : callable
        Makes the experiment, with its data.
    """

    columns: Mapping[str, Any]
    experiment: Callable[[], Experiment]

    def run(self, *, progress: bool) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the marked rows, and what was left out."""
        result = self.experiment().run(progress=progress)
        return result.frame.assign(**self.columns), result.skipped


@frozen(kw_only=True)
class TablePart:
    """Rows of a figure that are no `Experiment`: densities, times, formulas, plain counts.

    Attributes
    ----------
    columns : mapping
        What its rows are marked with, in front of the columns of the frame.
    measure : callable
        Takes whether to show progress; returns a frame.
    """

    columns: Mapping[str, Any]
    measure: Callable[[bool], pd.DataFrame]

    def run(self, *, progress: bool) -> tuple[pd.DataFrame, tuple[str, ...]]:
        """Return the marked rows, and what was left out: nothing."""
        frame = self.measure(progress)
        for place, (name, value) in enumerate(self.columns.items()):
            frame.insert(place, name, value)
        return frame, ()


Parts: TypeAlias = Callable[[int, int], Sequence[Part | TablePart]]
"""Takes the number of trials and a seed; returns the parts of a figure."""


@frozen(kw_only=True)
class Figure:
    """A table or figure of a paper.

    Attributes
    ----------
    title : str
        What it shows.
    lines : {"mechanism", "method", "density", "table"}
        What its lines are: mechanisms, methods, methods that find densities, or the rows of a table
        that is printed as it is.
    across : str
        Column along the x axis; "method": a table with a row per method.
    panel : str
        Column that tells its panels apart.
    scores : tuple of str
        Columns that it shows.
    parts : callable
        Takes the number of trials and a seed; returns the experiments.
    sets : tuple of str
        Folders of real answers that it reads: names for `load_dataset`.
    skipped : tuple of str
        What was left out on purpose, one sentence each.
    draw : callable, optional
        Of a table: takes the frame, a path and the title. Without it there is no picture.
    tell : callable, optional
        Of a table with more rows than can be read, or of which there is something to say: takes the
        frame, returns the tables and sentences that are printed of it.
    quick : callable, optional
        As `parts`, in seconds: fewer and smaller crowds, or fewer points.
    """

    title: str
    lines: Literal["mechanism", "method", "density", "table"] = "mechanism"
    across: Across = "claimed_epsilon"
    panel: Across = "dataset"
    scores: tuple[str, ...] = ("change",)
    parts: Parts
    sets: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    draw: Callable[[pd.DataFrame, Path, str], None] | None = None
    tell: Callable[[pd.DataFrame], Sequence[pd.DataFrame | str]] | None = None
    quick: Parts | None = None

    @property
    def has_picture(self) -> bool:
        """Whether it can be drawn."""
        return self.lines != "table" or self.draw is not None

    def run(self, *, trials: int = 3, seed: int = 0, progress: bool = False) -> FigureResult:
        """Run all experiments of the figure.

        Parameters
        ----------
        trials : int
            Crowds, or randomisations of a real one, per point; at least 2.
        seed : int
            Of crowds and noise.
        progress : bool
            Whether to show bars on standard error.

        Raises
        ------
        FormatError
            Where a real data set is needed and not there.
        """
        frames: list[pd.DataFrame] = []
        skipped = [*self.skipped]
        for part in self.parts(trials, seed):
            frame, left_out = part.run(progress=progress)
            frames.append(frame)
            skipped += left_out
        return FigureResult(
            figure=self,
            frame=pd.concat(frames, ignore_index=True),
            skipped=tuple(dict.fromkeys(skipped)),
        )


@frozen(kw_only=True, eq=False)
class FigureResult:
    """What a figure shows.

    Attributes
    ----------
    figure : Figure
        What was run.
    frame : pandas.DataFrame
        Columns of `ExperimentResult.frame`, or of what `TablePart.measure` returns, and those that
        mark the parts.
    skipped : tuple of str
        What was left out, one sentence each.
    """

    figure: Figure
    frame: pd.DataFrame
    skipped: tuple[str, ...] = ()

    def plot(self, path: str | Path) -> None:
        """Draw the figure into a PNG or SVG file.

        Raises
        ------
        ParameterError
            Where the name ends neither in ``.png`` nor in ``.svg``, or the figure is a table alone.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        shown, path = self.figure, Path(path)
        title, across, panel, scores = shown.title, shown.across, shown.panel, shown.scores
        if shown.lines == "table":
            if shown.draw is None:
                raise ParameterError(f"{title} is a table, of which there is no picture")
            shown.draw(self.frame, path, title)
        elif shown.lines == "method":
            plot_methods(self.frame, path, title=title, panel=panel, score=scores[0])
        elif shown.lines == "mechanism":
            plot_panels(self.frame, path, title=title, across=across, panel=panel)
        elif across == "method":
            plot_errors(self.frame, path, title=title, score=scores[0])
        else:
            plot_across(self.frame, path, title=title, across=across, scores=scores)
