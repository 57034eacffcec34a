"""``quietcrowd randomize``: answers become reports, as on the workers' devices."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.best_choice import BEST
from quietcrowd.commands.choices import MechanismName, choose_mechanism
from quietcrowd.commands.files import is_store, read_ids, read_plain, refuse_own_lists
from quietcrowd.commands.printing import announce_exact_noise, counted, note, tell_guarantee
from quietcrowd.commands.streams import STREAM, from_stdin, place_of, to_stdout
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import check_target, write_reports
from quietcrowd.formats.files import check_new, refuse_overwriting
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["app", "randomize"]

app = typer.Typer(rich_markup_mode=None)


@app.command()
def randomize(
    answers: Annotated[
        Path,
        typer.Argument(
            metavar="ANSWERS",
            help="File of answers, dataset folder, or store; - is standard input.",
        ),
    ],
    output: options.NeededOutput = None,
    mechanism: MechanismName = "one-layer",
    epsilon: options.Epsilon = 1.0,
    labels: options.Labels = None,
    levels: options.Levels = None,
    between: options.Between = None,
    all_tasks: options.AllTasks = None,
    all_workers: options.AllWorkers = None,
    columns: options.Columns = options.COLUMNS,
    duplicates: options.Duplicates = options.DUPLICATES,
    field: options.Field = None,
    skip_outside: options.SkipOutside = False,
    participation_public: options.ParticipationPublic = False,
    simulate: options.Simulate = None,
    scheduler: options.Scheduler = None,
) -> None:
    """Randomise answers, as the workers' devices do.

    Overwrites nothing: fresh noise over the same answers tells more of them.

    Example: quietcrowd randomize answers.csv --labels no,yes -e 1 -o reports.parquet

    Example: quietcrowd randomize ann.csv --between 0,10 -m laplace -e 1
    -o ann.parquet --all-tasks tasks.csv --all-workers workers.csv

    Example: quietcrowd randomize answers.csv --labels a,b,c,d -m best:workers=50 -o reports.parquet

    Example: quietcrowd randomize big -o big-reports --scheduler tcp://10.0.0.1:8786
    """
    if output is None:
        raise ParameterError("say where the reports go: --output reports.parquet")
    _, maker = choose_mechanism(mechanism)
    domain = (labels, levels, between)
    if is_store(answers):
        from quietcrowd.commands.stores import randomize_a_store, refuse_beside_store

        refuse_beside_store(
            {
                **dict(zip(options.DOMAIN, domain, strict=True)),
                "--columns": columns,
                "--duplicates": duplicates,
                "--field": field,
                "--skip-outside": skip_outside,
            }
        )
        randomize_a_store(
            answers,
            output,
            (mechanism, maker),
            epsilon,
            simulate,
            scheduler,
            tasks=all_tasks,
            workers=all_workers,
            participation_public=participation_public,
        )
        return
    if scheduler is not None:
        raise ParameterError("--scheduler goes with a store: quietcrowd partition makes one")
    answers = from_stdin(answers)
    if output != STREAM:
        check_target(output)
        refuse_overwriting(answers, output)
        check_new(output)
    if mechanism.partition(":")[0] == BEST:
        # Before the answers are read: no choice may depend on them.
        maker(domain=_public_domain(answers, domain), epsilon=epsilon)
    if simulate is None and (all_tasks is None or all_workers is None):
        # Before the answers are read: no error may depend on whether there are any.
        public = _public_domain(answers, domain)
        refuse_own_lists(mechanism, maker(domain=public, epsilon=epsilon))
    table = read_plain(
        answers,
        domain,
        columns,
        duplicates,
        field,
        advice="randomize",
        tasks=read_ids(all_tasks, "task"),
        workers=read_ids(all_workers, "worker"),
        out_of_domain="skip" if skip_outside else "error",
    )
    randomiser = maker(domain=table.domain, epsilon=epsilon)
    reports = _randomized(randomiser, table, simulate, public=participation_public)
    if output != STREAM:
        check_new(output)  # another run may have written there meanwhile
    with to_stdout(output, ".jsonl") as place:  # these hold the mechanism too
        write_reports(reports, place)
    written = f"{counted(len(reports), 'report')} written to {place_of(output)}"
    note(f"{written}; workers: {len(table.workers):,}.")
    tell_guarantee(
        randomiser,
        mechanism,
        table.answers_per_worker,
        table.tasks,
        simulated=reports.simulated,
        listed=all_tasks is not None,
        left_out=table.dropped.out_of_domain,
    )


def _public_domain(path: Path, written: tuple[str | None, str | None, str | None]) -> Domain:
    """Return what an answer can be, as a dataset folder or the options say."""
    if not path.is_dir():
        return options.build_domain(*written)
    from quietcrowd.datasets import dataset_domain

    return dataset_domain(path)


def _randomized(
    randomiser: Mechanism, table: Answers, seed: int | None, *, public: bool
) -> Reports:
    """Return reports of answers, with exact noise unless a seed makes it a simulation."""
    if seed is not None:
        rng = np.random.default_rng(seed)
        return randomiser.randomize(table, rng=rng, participation_public=public)
    # before long work is announced
    randomiser.check_left_out(table.dropped.out_of_domain, participation_public=public)
    announce_exact_noise(
        randomiser.noise_draws(
            answers=len(table), tasks=len(table.tasks), workers=len(table.workers)
        )
    )
    return randomiser.randomize(table, participation_public=public)
