"""A folder of figures that were run again: Markdown, CSV, PNG and SVG, and a page that lists them.

Every file is there whole or not at all. A figure that is there, of the same version, trials and
seed, is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path
from typing import Any

import pandas as pd
from attrs import evolve
from rich.console import Console

from quietcrowd import __version__
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import write_table
from quietcrowd.formats.files import replacing
from quietcrowd_research.figure import Figure, FigureResult
from quietcrowd_research.tables import print_figure

INDEX = "index.md"

DIGITS = 7
"""Of the numbers in a CSV file: more than any of them is sure of."""


def write_figures(
    figures: Mapping[str, Figure],
    folder: Path,
    *,
    listed: Mapping[str, Figure],
    trials: int,
    seed: int,
    svg: bool,
    progress: bool,
    say: Callable[[str], None],
) -> None:
    """Run figures, and write each as soon as it is done.

    Parameters
    ----------
    figures : mapping of str to Figure
        By the names of their files.
    folder : Path
        Is made if it is not there; what else lies in it stays.
    listed : mapping of str to Figure
        All that the page lists, made now, before or not at all.
    trials, seed : int
        As of `Figure.run`.
    svg : bool
        Whether pictures are written as SVG, too.
    progress : bool
        Whether to show bars on standard error.
    say : callable
        Takes a sentence for each figure.
    """
    if folder.exists() and not folder.is_dir():
        raise ParameterError(f"{folder} is a file: several figures need a folder")
    folder.mkdir(parents=True, exist_ok=True)
    made = {"version": __version__, "trials": trials, "seed": seed}
    states: dict[str, str] = {}
    runs: dict[Any, FigureResult] = {}
    for place, (name, figure) in enumerate(figures.items(), start=1):
        head = f"{name} ({place} of {len(figures)})"
        if _is_there(folder, name, made, _files(name, figure, svg=svg)):
            states[name] = ""
            say(f"{head}: is there already.")
            continue
        if figure.parts not in runs:  # some figures show other scores of the same experiments
            say(f"{head}: {figure.title}")
            try:
                runs[figure.parts] = figure.run(trials=trials, seed=seed, progress=progress)
            except FormatError as error:
                states[name] = f"left out: {error}"
                say(f"{head}: {states[name]}")
                continue
        ran = runs[figure.parts]
        _write(name, evolve(ran, figure=figure), folder, made, svg=svg)
        states[name] = ""
        _write_index(listed, states, folder)
    _write_index(listed, states, folder)


def _files(name: str, figure: Figure, *, svg: bool) -> list[str]:
    pictures = (".png", *(".svg",) * svg) if figure.has_picture else ()
    return [f"{name}{suffix}" for suffix in (".md", ".csv", *pictures)]


def _note(folder: Path, name: str) -> dict[str, Any]:
    """Return what is noted of a figure, empty where nothing is; it is written last."""
    try:
        note = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return {}
    return note if isinstance(note, dict) else {}


def _is_there(folder: Path, name: str, made: Mapping[str, Any], files: Sequence[str]) -> bool:
    """Return whether a figure is there, made alike."""
    note = _note(folder, name)
    return all(note.get(key) == value for key, value in made.items()) and all(
        (folder / file).is_file() for file in files
    )


def _write(
    name: str, result: FigureResult, folder: Path, made: Mapping[str, Any], *, svg: bool
) -> None:
    """Write the files of a figure, its note last."""
    note = folder / f"{name}.json"
    note.unlink(missing_ok=True)
    files = _files(name, result.figure, svg=svg)
    write_table(_rounded(result.frame), folder / f"{name}.csv")
    for file in files:
        if file.endswith((".png", ".svg")):
            result.plot(folder / file)
    page = _page(name, result, made, files)
    with replacing(folder / f"{name}.md") as temporary:
        temporary.write_text(page, encoding="utf-8")
    today = datetime.now(UTC).date().isoformat()
    noted = {**made, "date": today, "title": result.figure.title, "files": files}
    with replacing(note) as temporary:
        temporary.write_text(json.dumps(noted, indent=1) + "\n", encoding="utf-8")


def _rounded(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the numbers with `DIGITS` digits."""
    real = frame.select_dtypes("float").columns
    return frame.assign(
        **{name: [float(f"{each:.{DIGITS}g}") for each in frame[name]] for name in real}
    )


def _page(name: str, result: FigureResult, made: Mapping[str, Any], files: Sequence[str]) -> str:
    """Return the Markdown of a figure: what it is, its table as it is printed, its picture."""
    sheet = StringIO()
    print_figure(result, Console(file=sheet, width=80, highlight=False, markup=False))
    lines = [
        f"# {result.figure.title}",
        "",
        f"Made by `quietcrowd reproduce {name} --trials {made['trials']} --seed {made['seed']}`, "
        f"version {made['version']}. All numbers: [{name}.csv]({name}.csv).",
        "",
        "```plain",
        *(line.rstrip() for line in sheet.getvalue().splitlines()),
        "```",
    ]
    if result.skipped:
        lines += ["", *(f"- {sentence}" for sentence in result.skipped)]
    if f"{name}.png" in files:
        lines += ["", f"![{result.figure.title}]({name}.png)"]
    if f"{name}.svg" in files:
        lines += ["", f"The same: [SVG]({name}.svg)"]
    return "\n".join(lines) + "\n"


def _write_index(figures: Mapping[str, Figure], states: Mapping[str, str], folder: Path) -> None:
    """Write the page that lists what is there, how it was made, and what is not there."""
    lines = [
        "# Figures and tables, run again",
        "",
        "| name | what it is | trials | seed | made on | version |",
        "|---|---|---|---|---|---|",
    ]
    for name, figure in figures.items():
        note = _note(folder, name)
        state = states.get(name, "" if note else "not run yet")
        link = name if state else f"[{name}]({name}.md)"
        how = [str(note.get(key, "")) for key in ("trials", "seed", "date", "version")]
        cells = [state, "", "", ""] if state else how
        lines.append(f"| {' | '.join([link, figure.title, *cells])} |")
    with replacing(folder / INDEX) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
