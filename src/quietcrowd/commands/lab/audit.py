"""``quietcrowd lab audit``: the claimed, stated and measured privacy loss of a mechanism."""

import json
from pathlib import Path

import numpy as np
import typer

from quietcrowd.auditing.audits import ANSWERS, DRAWS, noise_of_audit
from quietcrowd.auditing.audits import audit as run_audit
from quietcrowd.commands import options
from quietcrowd.commands.choices import MECHANISMS, choose_mechanism
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.options import PossibleAnswers
from quietcrowd.commands.printing import announce_exact_noise
from quietcrowd.domains import Ordinal

DEFAULT_DOMAIN = Ordinal([0, 1])
"""Two answers, which serve as labels and as numbers."""

NOISE_A_SECOND = 100_000

BROKEN = 1
"""Exit status if a mechanism loses more than its guarantee states."""


@command()
class Audit(PossibleAnswers):
    """Test the guarantee of a mechanism.

    By default the possible answers are 0 and 1. The exit status is 1 if the privacy loss exceeds
    the guarantee.

    Example: quietcrowd lab audit two-layer --epsilon 1 --answers-per-worker 277

    Example: quietcrowd lab audit laplace:participation=released --between 0,10
    --plot curve.png
    """

    mechanism: str = argument(
        metavar="MECHANISM",
        help=f"One of {', '.join(MECHANISMS)}. Parameters after colons: laplace:fill=midpoint.",
        autocompletion=lambda: list(MECHANISMS),
    )
    epsilon: float = options.EPSILON
    answers_per_worker: int = option(
        min=1,
        metavar="NUMBER",
        help="Answers per worker, or reported tasks.",
        default=ANSWERS,
    )
    samples: int = option(
        metavar="NUMBER", help="Maximum number of workers per input.", default=DRAWS
    )
    confidence: float = option(
        metavar="NUMBER", help="Confidence of the proven bounds.", default=0.999
    )
    plot: Path | None = option(
        metavar="FILE.png", help="File for a plot of epsilon and delta.", default=None
    )
    simulate: int | None = option(
        min=0,
        metavar="SEED",
        help="Audit simulated noise, which is fast and repeatable.",
        default=None,
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Audit the mechanism; the exit status is 1 if it breaks its guarantee."""
        _, maker = choose_mechanism(self.mechanism, "MECHANISM")
        if self.plot is not None:
            from quietcrowd.evaluation.plots import check_picture

            check_picture(self.plot)
        given = any(text is not None for text in self.written.values())
        domain = self.domain() if given else DEFAULT_DOMAIN
        audited = maker(domain=domain, epsilon=self.epsilon)
        rng = None if self.simulate is None else np.random.default_rng(self.simulate)
        if rng is None:
            announce_exact_noise(
                noise_of_audit(audited, self.answers_per_worker, self.samples), NOISE_A_SECOND
            )
        report = run_audit(
            audited, self.answers_per_worker, self.confidence, draws=self.samples, random_state=rng
        )
        if self.as_json:
            typer.echo(json.dumps(report.to_dict(), allow_nan=False))
        else:
            typer.echo(str(report))
        if self.plot is not None:
            from quietcrowd.evaluation.plots import save_picture

            save_picture(report.plot(), self.plot)
        if not report.holds:
            raise typer.Exit(BROKEN)
