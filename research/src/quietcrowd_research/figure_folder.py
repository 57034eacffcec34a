"""A folder of figures that were run again: Markdown, CSV, PNG and SVG, and a page that lists them.

Every file is there whole or not at all. A figure that is there, of the same version, trials and
seed, is not run again.
"""

from __future__ import annotations

import json
import re
from collections import Counter
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
from quietcrowd_research.claim_records import VERDICTS, Claim, load_documents
from quietcrowd_research.figure import Figure, FigureResult
from quietcrowd_research.tables import print_figure

INDEX = "index.md"

FAILED = ("not reproduced", "cannot be tried")
"""Verdicts of the claims on the first page of a document; others are on the second."""

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
    """Return the Markdown of a figure: what was found, its picture, its table as it is printed."""
    sheet = StringIO()
    print_figure(result, Console(file=sheet, width=80, highlight=False, markup=False))
    lines = [line.rstrip() for line in sheet.getvalue().splitlines()]
    head = _head(name, result.figure, made, files)
    return "\n".join([*head, *_body(lines, result.skipped)]) + "\n"


def _head(
    name: str, figure: Figure, made: Mapping[str, Any], files: Sequence[str]
) -> Sequence[str]:
    lines = ["---", "orphan: true", "---", "", f"# {figure.title}", "", finding(name), ""]
    picture = name if f"{name}.png" in files else same_results(name)
    if picture is not None:
        lines += [f"![{figure.title}]({picture}.png)", ""]
    if f"{name}.svg" in files:
        lines += [f"The same: [SVG]({name}.svg)", ""]
    made_by = f"quietcrowd reproduce {name} --trials {made['trials']} --seed {made['seed']}"
    numbers = f"All numbers: [{name}.csv]({name}.csv)."
    return [*lines, f"Made by `{made_by}`, version {made['version']}. {numbers}"]


def _body(sheet: Sequence[str], skipped: Sequence[str]) -> Sequence[str]:
    lines = ["", "```plain", *sheet, "```"]
    return [*lines, "", *(f"- {sentence}" for sentence in skipped)] if skipped else lines


def finding(name: str) -> str:
    """Return what the records of claims say of a figure: verdicts, and the claim about it."""
    document, claims = claims_of(name)
    if not claims:
        return "No claim of the records depends on this figure."
    verdicts = Counter(str(claim.verdict) for claim in claims)
    main = next((claim for claim in claims if claim.kind in ("figure", "table")), claims[0])
    said = f"**{str(main.verdict).capitalize()}:** {main.claim}"
    counts = ", ".join(f"{verdicts[one]} {one}" for one in VERDICTS if verdicts[one])
    number = "claim" if len(claims) == 1 else "claims"
    page = document if main.verdict in FAILED else f"{document}-reproduced"
    link = f"[what we found](../claims/{page}.md#{main.id})"
    return f"{said} Of {len(claims)} {number} about this figure: {counts} ({link})."


def claims_of(name: str) -> tuple[str, Sequence[Claim]]:
    """Return the document of a figure, and the claims that it checks or that name its number."""
    named = [one for one in load_documents() if one.name == name.partition("-")[0]]
    if not named:
        return "", ()
    document = named[0]
    claims = [claim for claim in document.claims if f"figure:{name}" in claim.exists]
    if not claims:
        number = next(one.number for one in document.printed if name in one.figures)
        kind, numerals = number.split()[0].rstrip("s"), re.findall(r"\b(?:\d+|[IVX]+)\b", number)
        place = re.compile(rf"{kind}s? (?:.*, )?(?:{'|'.join(numerals)})\b")
        claims = [claim for claim in document.claims if place.search(claim.where)]
    return document.name, claims


def same_results(name: str) -> str | None:
    """Return another figure of the same experiments that has a picture."""
    from quietcrowd_research.figures import FIGURES

    alike = (
        other
        for other, figure in FIGURES.items()
        if figure.has_picture and figure.parts == FIGURES[name].parts
    )
    return next(alike, None) if name in FIGURES else None


def write_pages_anew(folder: Path, figures: Mapping[str, Figure]) -> None:
    """Write the pages of a folder again, with their printed tables as they are.

    Use it after a change of the records of claims. Nothing is run.
    """
    for name, figure in figures.items():
        note, page = _note(folder, name), folder / f"{name}.md"
        if note:
            _, _, rest = page.read_text(encoding="utf-8").partition("\n```plain\n")
            sheet, _, rest = rest.partition("\n```\n")
            skipped = re.findall(r"^- (.*)$", rest, re.MULTILINE)
            lines = [*_head(name, figure, note, note["files"]), *_body(sheet.split("\n"), skipped)]
            with replacing(page) as temporary:
                temporary.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _write_index(figures: Mapping[str, Figure], states: Mapping[str, str], folder: Path) -> None:
    """Write the page that lists what is there, how it was made, and what is not there."""
    lines = [
        "# Figures and tables, run again",
        "",
        f"`quietcrowd reproduce` computes {len(figures)} figures and tables of the papers again.",
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
