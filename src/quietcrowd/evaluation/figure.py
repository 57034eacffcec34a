"""A published figure as experiments, with a constant guess and a non-private result beside it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

import pandas as pd
from attrs import frozen

from quietcrowd.evaluation.experiment import Experiment
from quietcrowd.evaluation.plots import plot_methods, plot_panels

__all__ = ["Axis", "Figure", "FigureResult", "Part"]

Axis: TypeAlias = Literal["claimed_epsilon", "sparsity", "dataset"]


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


@frozen(kw_only=True)
class Figure:
    """A figure of a paper.

    Attributes
    ----------
    title : str
        What it shows.
    across : {"claimed_epsilon", "sparsity", "dataset"}
        Column along the x axis.
    panel : {"claimed_epsilon", "sparsity", "dataset"}
        Column that tells its panels apart.
    lines : {"mechanism", "method"}
        What its lines are.
    score : str
        Column that it shows.
    parts : callable
        Takes the number of trials and a seed; returns the experiments.
    """

    title: str
    across: Axis
    panel: Axis
    lines: Literal["mechanism", "method"] = "mechanism"
    score: str = "change"
    parts: Callable[[int, int], Sequence[Part]]

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
        skipped: list[str] = []
        for part in self.parts(trials, seed):
            result = part.experiment().run(progress=progress)
            frames.append(result.frame.assign(**part.columns))
            skipped += result.skipped
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
        Columns of `ExperimentResult.frame`, and those that mark the parts.
    skipped : tuple of str
        Why a mechanism was not run at a claimed epsilon, one sentence each.
    """

    figure: Figure
    frame: pd.DataFrame
    skipped: tuple[str, ...] = ()

    def plot(self, path: str | Path) -> None:
        """Draw the figure into a PNG file; see `plot_panels` and `plot_methods`.

        Raises
        ------
        ParameterError
            Where the name does not end in ``.png``.
        MissingExtraError
            Where Matplotlib is not installed.
        """
        if self.figure.lines == "method":
            plot_methods(
                self.frame,
                Path(path),
                title=self.figure.title,
                panel=self.figure.panel,
                score=self.figure.score,
            )
            return
        plot_panels(
            self.frame,
            Path(path),
            title=self.figure.title,
            across=self.figure.across,
            panel=self.figure.panel,
        )
