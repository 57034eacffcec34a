"""``quietcrowd audit``: the claimed, stated and measured privacy loss of a mechanism."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from quietcrowd.auditing.audit import ANSWERS, DRAWS, noise_of_audit
from quietcrowd.auditing.audit import audit as run_audit
from quietcrowd.commands import options
from quietcrowd.commands.choices import MECHANISMS, choose_mechanism
from quietcrowd.commands.printing import announce_exact_noise
from quietcrowd.domains import Domain, Ordinal

__all__ = ["app", "audit"]

app = typer.Typer(rich_markup_mode=None)

DEFAULT_DOMAIN = Ordinal([0, 1])
"""Two answers, which serve as labels and as numbers."""

NOISE_A_SECOND = 100_000

BROKEN = 1
"""Exit status if a mechanism loses more than its guarantee states."""


@app.command()
def audit(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM",
            help=f"One of {', '.join(MECHANISMS)}. Parameters after colons: laplace:fill=midpoint.",
            autocompletion=lambda: list(MECHANISMS),
        ),
    ],
    epsilon: options.Epsilon = 1.0,
    answers: Annotated[
        int,
        typer.Option(min=1, metavar="NUMBER", help="Answers a worker gives, or tasks it reports."),
    ] = ANSWERS,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    draws: Annotated[
        int, typer.Option(metavar="NUMBER", help="Workers for each of two inputs, at most.")
    ] = DRAWS,
    confidence: Annotated[
        float, typer.Option(metavar="NUMBER", help="Confidence of the proven bounds.")
    ] = 0.999,
    plot: Annotated[
        Path | None, typer.Option(metavar="FILE.png", help="A picture of epsilon and delta.")
    ] = None,
    simulate: Annotated[
        int | None,
        typer.Option(min=0, metavar="SEED", help="Audit the simulated noise: fast, repeatable."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Test the guarantee of a mechanism.

    Two answers, 0 and 1, are possible unless you say otherwise. Ends with status 1 where the
    mechanism loses more than its guarantee states.

    Example: quietcrowd audit two-layer --epsilon 1 --answers 277

    Example: quietcrowd audit laplace:participation=released --between 0,10
    --plot curve.png
    """
    _, maker = choose_mechanism(mechanism, "MECHANISM")
    if plot is not None:
        from quietcrowd.evaluation.plots import check_picture

        check_picture(plot)
    audited = maker(domain=_domain(labels, levels, between), epsilon=epsilon)
    rng = None if simulate is None else np.random.default_rng(simulate)
    if rng is None:
        announce_exact_noise(noise_of_audit(audited, answers, draws), NOISE_A_SECOND)
    report = run_audit(audited, answers, confidence, draws=draws, rng=rng)
    if as_json:
        typer.echo(json.dumps(report.to_dict(), allow_nan=False))
    else:
        typer.echo(str(report))
    if plot is not None:
        from quietcrowd.evaluation.plots import plot_audit

        plot_audit(report, plot)
    if not report.holds:
        raise typer.Exit(BROKEN)


def _domain(labels: str | None, levels: str | None, between: str | None) -> Domain:
    if labels is None and levels is None and between is None:
        return DEFAULT_DOMAIN
    return options.build_domain(labels, levels, between)
