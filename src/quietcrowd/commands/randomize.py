"""``quietcrowd randomize``: reports from answers, as on the workers' devices."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.best_choice import BEST
from quietcrowd.commands.choices import MechanismName, choose_mechanism
from quietcrowd.commands.files import is_store, read_ids, refuse_own_lists
from quietcrowd.commands.plain_options import PlainOptions
from quietcrowd.commands.printing import announce_exact_noise, counted, note, tell_guarantee
from quietcrowd.commands.streams import STREAM, from_stdin, place_of, to_stdout
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import check_target, write_reports
from quietcrowd.formats.files import check_new, refuse_overwriting
from quietcrowd.mechanisms import Mechanism, Reports

__all__ = ["app", "randomize"]

app = typer.Typer(rich_markup_mode=None)


_Answers = Annotated[
    Path,
    typer.Argument(
        metavar="ANSWERS",
        help="File of answers, dataset folder, or store; - is standard input.",
    ),
]


@app.command()
def randomize(
    answers: _Answers,
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

    Overwrites nothing: fresh noise on the same answers reveals more of them.

    Example: quietcrowd randomize answers.csv --labels no,yes -e 1 -o reports.parquet

    Example: quietcrowd randomize ann.csv --between 0,10 -m laplace -e 1
    -o ann.parquet --all-tasks tasks.csv --all-workers workers.csv

    Example: quietcrowd randomize answers.csv --labels a,b,c,d -m best:workers=50 -o reports.parquet

    Example: quietcrowd randomize big -o big-reports --scheduler tcp://10.0.0.1:8786
    """
    if output is None:
        raise ParameterError("say where the reports go: --output reports.parquet")
    _, maker = choose_mechanism(mechanism)
    said = PlainOptions((labels, levels, between), columns, duplicates, field, skip_outside)
    if is_store(answers):
        from quietcrowd.commands.stores import randomize_a_store, refuse_beside_store

        refuse_beside_store(said.by_option())
        asked = (answers, output, (mechanism, maker), epsilon, simulate, scheduler)
        randomize_a_store(
            *asked,
            tasks=all_tasks,
            workers=all_workers,
            participation_public=participation_public,
        )
        return
    if scheduler is not None:
        raise ParameterError("--scheduler goes with a store: quietcrowd partition makes one")
    answers = from_stdin(answers)
    _check_output(answers, output)
    make = partial(maker, epsilon=epsilon)
    listed = all_tasks is not None and all_workers is not None
    _refuse_early(answers, said, mechanism, make, own_lists=simulate is None and not listed)
    everyone = {"tasks": read_ids(all_tasks, "task"), "workers": read_ids(all_workers, "worker")}
    table = said.read(answers, advice="randomize", **everyone)
    randomiser = make(domain=table.domain)
    reports = _randomized(randomiser, table, simulate, public=participation_public)
    _write(reports, output, table)
    _tell(mechanism, randomiser, table, reports, listed=all_tasks is not None)


def _check_output(answers: Path, output: Path) -> None:
    """Raise unless the reports can be written to a new file, before a long computation."""
    if output != STREAM:
        check_target(output)
        refuse_overwriting(answers, output)
        check_new(output)


def _refuse_early(
    answers: Path,
    said: PlainOptions,
    mechanism: str,
    make: Callable[..., Mechanism],
    *,
    own_lists: bool,
) -> None:
    """Raise the errors that follow from public facts, before reading the answers.

    No choice may depend on the answers, and no error on whether there are any.
    """
    if mechanism.partition(":")[0] == BEST:
        make(domain=_public_domain(answers, said.domain))
    if own_lists:
        refuse_own_lists(mechanism, make(domain=_public_domain(answers, said.domain)))


def _write(reports: Reports, output: Path, table: Answers) -> None:
    if output != STREAM:
        check_new(output)  # again, as another run may have written there
    with to_stdout(output, ".jsonl") as place:  # which contains the mechanism too
        write_reports(reports, place)
    written = f"{counted(len(reports), 'report')} written to {place_of(output)}"
    note(f"{written}; workers: {len(table.workers):,}.")


def _tell(
    name: str, randomiser: Mechanism, table: Answers, reports: Reports, *, listed: bool
) -> None:
    tell_guarantee(
        randomiser,
        name,
        table.answers_per_worker,
        table.tasks,
        simulated=reports.simulated,
        listed=listed,
        left_out=table.dropped.out_of_domain,
    )


def _public_domain(path: Path, written: tuple[str | None, str | None, str | None]) -> Domain:
    if not path.is_dir():
        return options.build_domain(*written)
    from quietcrowd.datasets import dataset_domain

    return dataset_domain(path)


def _randomized(
    randomiser: Mechanism, table: Answers, seed: int | None, *, public: bool
) -> Reports:
    if seed is not None:
        rng = np.random.default_rng(seed)
        return randomiser.randomize(table, rng=rng, participation_public=public)
    # raises before the note on exact noise
    randomiser.check_left_out(table.dropped.out_of_domain, participation_public=public)
    announce_exact_noise(
        randomiser.noise_draws(
            answers=len(table), tasks=len(table.tasks), workers=len(table.workers)
        )
    )
    return randomiser.randomize(table, participation_public=public)
