"""``quietcrowd plan --least``: the fewest workers, or the least epsilon, for a target error."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Sequence
from typing import Any

import typer

from quietcrowd.exceptions import ParameterError
from quietcrowd.planning import CrowdSize, LeastNumber, least_epsilon, least_workers
from quietcrowd.planning.crowd_assumption import assumption_for
from quietcrowd.planning.least import DRAWS
from quietcrowd.planning.pilot import assumption_of_pilot
from quietcrowd.planning.planner import DRAWS_WITH_PILOT, default_makers

__all__ = ["tell_least"]

UNSURE = (
    ". That is not known to 3 %: the error hardly changes there, or --draws allows too few crowds"
)


def tell_least(
    what: str,
    *,
    tasks: int,
    workers: Sequence[int],
    answers: Sequence[int] | None,
    budget: int | None,
    domain: Any,
    quality: Any,
    pilot: Any,
    mechanisms: Any,
    epsilon: Sequence[float],
    per: Any,
    target: float | None,
    draws: int | None,
    seed: int,
    as_json: bool,
) -> None:
    """Print the least number for every mechanism and number of answers per worker.

    `what` is ``workers`` (for each epsilon) or ``epsilon`` (for each number of workers); most other
    parameters are those of `plan`. Raises ParameterError without a target, with a budget, or if no
    number reaches the target.
    """
    if what not in ("workers", "epsilon"):
        raise ParameterError(f"--least must be workers or epsilon; got {what!r}")
    if target is None or budget is not None:
        raise ParameterError("--least needs --target, and goes with --answers, not with --budget")
    simulated = DRAWS if draws is None else draws
    worlds = DRAWS_WITH_PILOT if draws is None else draws
    law: Any = (
        assumption_for(domain, quality)
        if pilot is None
        else assumption_of_pilot(pilot, worlds=worlds, seed=seed)
    )
    shared = {"per": per, "draws": simulated, "seed": seed}
    rows = []
    for name, maker in (mechanisms or default_makers(domain)).items():
        for each in [tasks] if answers is None else answers:
            row = {"mechanism": name, "answers": each, "target": target}
            if what == "workers":
                for loss in epsilon:
                    found = least_workers(
                        target, law, maker, loss, tasks=tasks, answers=each, **shared
                    )
                    rows.append(
                        {**row, "epsilon": loss, "workers": found.value, **_how_sure(found)}
                    )
            else:
                for crowd in workers:
                    size = CrowdSize(tasks=tasks, workers=crowd, answers=each)
                    least = least_epsilon(target, law, maker, size, **shared)
                    rows.append(
                        {**row, "epsilon": least.value, "workers": crowd, **_how_sure(least)}
                    )
    if as_json:
        typer.echo(json.dumps(rows))
        return
    _say(f"Assumed: {law.sentence()}.")
    for row in rows:
        _say(
            f"{row['mechanism']}: an expected error of {target:g} takes {row['workers']:,} workers "
            f"with {row['answers']:,} answers of each, at epsilon {row['epsilon']:.3g} per {per} "
            f"({what}: {row['low']:.3g} to {row['high']:.3g} in nine cases of ten, by "
            f"{row['crowds']:,} crowds){'' if row['sure'] else UNSURE}"
        )


def _how_sure(found: LeastNumber) -> dict[str, Any]:
    return {"low": found.low, "high": found.high, "crowds": found.crowds, "sure": found.sure}


def _say(line: str) -> None:
    typer.echo(textwrap.fill(line, 80, subsequent_indent="  ", break_on_hyphens=False))
