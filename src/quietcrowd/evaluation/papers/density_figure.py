"""A published table or figure about densities of tasks, as experiments."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
from attrs import frozen

from quietcrowd.evaluation.papers.density_plots import plot_across, plot_errors

__all__ = ["Across", "DensityFigure", "DensityFigureResult", "DensityPart"]

Across: TypeAlias = Literal["method", "claims", "bandwidth"]


@frozen(kw_only=True)
class DensityPart:
    """One experiment of a figure.

    Attributes
    ----------
    columns : mapping
        What its rows are marked with: ``dataset`` at least.
    measure : callable
        Takes whether to show progress; returns a frame.
    """

    columns: Mapping[str, Any]
    measure: Callable[[bool], pd.DataFrame]


@frozen(kw_only=True)
class DensityFigure:
    """A table or figure of a paper.

    Attributes
    ----------
    title : str
        What it shows.
    across : {"method", "claims", "bandwidth"}
        "method": a table with a row per method. Else the column along the x axis.
    scores : tuple of str
        Columns that a figure shows: of "ise", "sise" and "milliseconds".
    parts : callable
        Takes the number of trials and a seed; returns the experiments.
    skipped : tuple of str
        What was left out on purpose, one sentence each.
    """

    title: str
    across: Across
    scores: tuple[str, ...]
    parts: Callable[[int, int], Sequence[DensityPart]]
    skipped: tuple[str, ...] = ()

    def run(self, *, trials: int = 3, seed: int = 0, progress: bool = False) -> DensityFigureResult:
        """Run all experiments of the figure.

        Parameters
        ----------
        trials : int
            Crowds, or releases of a real one, per row; at least 2.
        seed : int
            Of crowds and releases.
        progress : bool
            Whether to show bars on standard error.

        Raises
        ------
        FormatError
            Where a real data set is needed and not there.
        """
        frames = []
        for part in self.parts(trials, seed):
            frame = part.measure(progress)
            for place, (name, value) in enumerate(part.columns.items()):
                frame.insert(place, name, value)
            frames.append(frame)
        return DensityFigureResult(
            figure=self, frame=pd.concat(frames, ignore_index=True), skipped=self.skipped
        )


@frozen(kw_only=True, eq=False)
class DensityFigureResult:
    """What a figure shows.

    Attributes
    ----------
    figure : DensityFigure
        What was run.
    frame : pandas.DataFrame
        Columns of `DensityExperiment.run` or `release_times`, and those that mark the parts.
    skipped : tuple of str
        What was left out, one sentence each.
    """

    figure: DensityFigure
    frame: pd.DataFrame
    skipped: tuple[str, ...] = ()

    def plot(self, path: str | Path) -> None:
        """Draw the figure into a PNG file; see `plot_errors` and `plot_across`.

        Raises
        ------
        ParameterError
            Where the name does not end in ``.png``.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        title = self.figure.title
        if self.figure.across == "method":
            plot_errors(self.frame, Path(path), title=title, score=self.figure.scores[0])
            return
        plot_across(
            self.frame,
            Path(path),
            title=title,
            across=self.figure.across,
            scores=self.figure.scores,
        )
