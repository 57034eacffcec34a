"""``quietcrowd best-mechanism``: the mechanism with the least error, from public facts."""

from __future__ import annotations

import json
import textwrap
from typing import Annotated

import typer

from quietcrowd.commands import options
from quietcrowd.commands.best_choice import BestMechanism, ranking_of, ranking_rows
from quietcrowd.commands.choices import choose_mechanism

__all__ = ["app", "best_mechanism"]

app = typer.Typer(rich_markup_mode=None)


@app.command()
def best_mechanism(
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    epsilon: options.Epsilon = 1.0,
    facts: Annotated[
        str,
        typer.Option(
            metavar="NAME=VALUE",
            help="By colons: tasks=1000, workers=100, answers_per_task=10, prior=no=0.9, and what "
            "is assumed of the crowd, as accuracy=0.8 or error=2 (see quietcrowd plan --help).",
        ),
    ] = "",
    as_json: options.Json = False,
) -> None:
    """Tell which mechanism errs least, by public facts.

    The same facts give the same choice. -m best of other commands takes the first one.

    Example: quietcrowd best-mechanism --labels no,yes,unclear -e 1
    --facts workers=50:answers_per_task=20:prior=no=0.8

    Example: quietcrowd best-mechanism --between 0,10 -e 2 --facts error=1:spread=3 --json
    """
    domain = options.build_domain(labels, levels, between)
    _, maker = choose_mechanism(f"best:{facts}" if facts else "best", "--facts")
    assert isinstance(maker, BestMechanism)
    ranking = ranking_of(maker.facts, domain, epsilon)
    if as_json:
        typer.echo(json.dumps(ranking.to_dict(), allow_nan=False))
        return
    for line in ranking_rows(ranking):
        typer.echo(line)
    for one in ranking.left_out:
        typer.echo(
            textwrap.fill(f"Left out: {one}", 80, subsequent_indent="  ", break_on_hyphens=False)
        )
