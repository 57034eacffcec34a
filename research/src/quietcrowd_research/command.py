"""``quietcrowd reproduce``: published figures and tables, run again."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import check_targets
from quietcrowd.commands.lab.evaluate import hand_over
from quietcrowd.commands.printing import note, plain_table, print_message
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.validation import did_you_mean
from quietcrowd_research import names

if TYPE_CHECKING:
    from quietcrowd_research.figure import Figure

ALL = "all"


@command()
class Reproduce:
    """Run the experiments behind published figures and tables.

    With --quick what can be run in small is compared with stored values, and the exit status is 1
    where one is off.

    Example: quietcrowd reproduce sun2018-3 --plot figure3.png

    Example: quietcrowd reproduce huai2019 -o figures

    Example: quietcrowd reproduce all --quick
    """

    figure: str | None = argument(
        metavar="[FIGURE | PAPER | all]",
        help="Which; without it they are listed.",
        autocompletion=lambda: [ALL, *names.PAPERS, *names.FIGURES],
        default=None,
    )
    quick: bool = option(help="In small, within minutes, against stored values.", default=False)
    trials: int | None = option(
        min=2,
        metavar="NUMBER",
        help="Crowds or randomisations per point. Default: 3.",
        default=None,
    )
    seed: int = option(min=0, metavar="NUMBER", help="Of crowds and noise.", default=0)
    output: Path | None = option(
        "--output",
        "-o",
        metavar="FILE|FOLDER",
        help="Of one figure a table, as x.csv, or a folder that is there; of a paper or all a "
        "folder, where what is there already is not run again.",
        default=None,
    )
    plot: Path | None = option(
        metavar="FILE.png", help="A picture of one figure, .png or .svg.", default=None
    )
    svg: bool = option(
        "--svg/--no-svg", help="Of a paper or all: pictures as SVG, too.", default=True
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """List figures, run them, or compare them with stored values."""
        from quietcrowd_research.figures import FIGURES

        outputs = {"--output": self.output, "--plot": self.plot, "--json": self.as_json}
        if self.figure is None and not self.quick:
            _refuse("a FIGURE, a PAPER or all", outputs)
            _list(FIGURES)
            return
        if self.quick:
            _refuse("full figures, not with --quick", outputs | {"--trials": self.trials})
            raise typer.Exit(_compare(_chosen(self.figure or ALL, FIGURES), self.seed))
        folder = self.output is not None and self.output.is_dir()
        if self.figure is not None and self.figure in FIGURES and not folder:
            self._run_one(FIGURES[self.figure])
            return
        figures = _chosen(str(self.figure), FIGURES)
        _refuse("one figure", {"--plot": self.plot, "--json": self.as_json})
        if self.output is None:
            raise ParameterError(
                f"{self.figure} is {len(figures)} figures: name a folder for them with -o FOLDER"
            )
        _write_all(figures, self.output, self.trials or 3, self.seed, svg=self.svg)

    def _run_one(self, figure: Figure) -> None:
        from quietcrowd_research.tables import print_figure

        if self.plot is not None and not figure.has_picture:
            raise ParameterError(f"{figure.title} is a table: leave --plot out")
        check_targets(self.output, self.plot)
        result = figure.run(trials=self.trials or 3, seed=self.seed, progress=sys.stderr.isatty())
        hand_over(result, print_figure, result.plot, self.output, self.plot, self.as_json)


def _refuse(what: str, said: Mapping[str, Any]) -> None:
    """Raise where an option was given that goes with something else."""
    for flag, value in said.items():
        if value:
            raise ParameterError(f"{flag} goes with {what}")


def _chosen(name: str, figures: Mapping[str, Figure]) -> dict[str, Figure]:
    """Return the figures that a word stands for: one, a paper's or all."""
    if name == ALL:
        return dict(figures)
    of_paper = {key: figure for key, figure in figures.items() if key.split("-")[0] == name}
    if of_paper:
        return of_paper
    if name not in figures:
        known = [ALL, *dict.fromkeys(key.split("-")[0] for key in figures), *figures]
        raise ParameterError(
            "FIGURE must be a name that `quietcrowd reproduce` lists, a paper's or all; got "
            f"{name!r}{did_you_mean(name, known)}"
        )
    return {name: figures[name]}


def _list(figures: Mapping[str, Figure]) -> None:
    """Print what there is, by paper; a star marks what --quick runs, and sets what it reads."""
    from quietcrowd.commands.printing import console

    table = plain_table("name", "what it is", numeric_from=2)
    table.columns[0].no_wrap = True
    for name, figure in figures.items():
        needs = f"; reads {', '.join(figure.sets)}" if figure.sets else ""
        table.add_row(f"{name}{' *' if figure.quick else ''}", figure.title + needs)
    console(None if sys.stdout.isatty() else 80).print(table)
    papers = ", ".join(dict.fromkeys(name.split("-")[0] for name in figures))
    print(
        f"\n{ALL}, or a paper: {papers}. *: with --quick, too.\n"
        "research/docs/data-sets.md describes the real answers that a figure reads.\n"
        "research/docs/reproduction.md says which have no name here, and why."
    )


def _write_all(
    figures: Mapping[str, Figure], folder: Path, trials: int, seed: int, *, svg: bool
) -> None:
    from quietcrowd.evaluation.plots import check_picture
    from quietcrowd_research.figure_folder import INDEX, write_figures
    from quietcrowd_research.figures import FIGURES

    check_picture(folder / "x.png" if folder.is_dir() else Path("x.png"))
    write_figures(
        figures,
        folder,
        listed=FIGURES,
        trials=trials,
        seed=seed,
        svg=svg,
        progress=sys.stderr.isatty(),
        say=print_message,
    )
    note(f"All of it is listed in {folder / INDEX}.")


def _compare(figures: Mapping[str, Figure], seed: int) -> int:
    """Compare what can be run in small with what is stored; return the exit status."""
    import pandas as pd

    from quietcrowd_research.quick import ERRORS, STORED, compared, quick_values

    small = {name: figure for name, figure in figures.items() if figure.quick is not None}
    if not small:
        raise ParameterError(f"{', '.join(figures)} cannot be run in small: leave --quick out")
    stored = pd.read_csv(STORED)
    wrong = 0
    for name, figure in small.items():
        try:
            found = quick_values(name, figure, seed=seed)
        except FormatError as error:
            print_message(f"note: {name} was left out: {error}")
            continue
        result = compared(found, stored[stored["figure"] == name])
        wrong += len(result.off)
        for sentence in result.off:
            print(f"{name}: {sentence}")
        print(
            f"{name}: {result.values} values, {len(result.off)} off; the farthest of the others "
            f"{result.farthest:.1f} standard errors"
            if result.off
            else f"{name}: {result.values} values agree, within {result.farthest:.1f} standard "
            f"errors of {ERRORS:g}",
            flush=True,
        )
    return 1 if wrong else 0
