"""A folder of figures that were run again: Markdown, CSV, PNG and SVG, and a page that lists them.

Every file is there whole or not at all. A figure that is there, of the same version, trials and
seed, is not run again.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from io import StringIO
from pathlib import Path
from typing import Any

from attrs import evolve
from rich.console import Console

from quietcrowd import __version__
from quietcrowd.commands.experiment_tables import print_figure
from quietcrowd.evaluation import Figure, FigureResult
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.formats import write_table
from quietcrowd.formats.files import replacing

__all__ = ["INDEX", "write_figures"]

INDEX = "index.md"


def write_figures(
    figures: Mapping[str, Figure],
    folder: Path,
    *,
    trials: int,
    seed: int,
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
    trials, seed : int
        As of `Figure.run`.
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
        if _is_there(folder, name, made):
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
        _write(name, evolve(ran, figure=figure), folder, made)
        states[name] = ""
        _write_index(figures, states, folder)
    _write_index(figures, states, folder)


def _files(name: str, *, picture: bool) -> list[str]:
    return [f"{name}{suffix}" for suffix in (".md", ".csv", *(".png", ".svg") * picture)]


def _is_there(folder: Path, name: str, made: Mapping[str, Any]) -> bool:
    """Return whether a figure is there, made alike; its note is written last."""
    try:
        note = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    except (FileNotFoundError, ValueError):
        return False
    if not isinstance(note, dict) or any(note.get(key) != value for key, value in made.items()):
        return False
    files = note.get("files", [])
    return bool(files) and all((folder / str(file)).is_file() for file in files)


def _write(name: str, result: FigureResult, folder: Path, made: Mapping[str, Any]) -> None:
    """Write the files of a figure, its note last."""
    note = folder / f"{name}.json"
    note.unlink(missing_ok=True)
    pictured = result.figure.has_picture
    write_table(result.frame, folder / f"{name}.csv")
    if pictured:
        for suffix in (".png", ".svg"):
            result.plot(folder / f"{name}{suffix}")
    page = _page(name, result, made, pictured)
    with replacing(folder / f"{name}.md") as temporary:
        temporary.write_text(page, encoding="utf-8")
    files = _files(name, picture=pictured)
    with replacing(note) as temporary:
        text = json.dumps({**made, "title": result.figure.title, "files": files}, indent=1)
        temporary.write_text(text + "\n", encoding="utf-8")


def _page(name: str, result: FigureResult, made: Mapping[str, Any], pictured: bool) -> str:
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
    if pictured:
        lines += ["", f"![{result.figure.title}]({name}.png)", "", f"The same: [SVG]({name}.svg)"]
    return "\n".join(lines) + "\n"


def _write_index(figures: Mapping[str, Figure], states: Mapping[str, str], folder: Path) -> None:
    """Write the page that lists what was made, and what was not, by paper."""
    lines = ["# Figures and tables, run again", "", "| name | what it is | |", "|---|---|---|"]
    for name, figure in figures.items():
        state = states.get(name, "not run yet")
        link = f"[{name}]({name}.md)" if not state else name
        lines.append(f"| {link} | {figure.title} | {state} |")
    with replacing(folder / INDEX) as temporary:
        temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")
