"""``quietcrowd randomize``: reports from answers, as on the workers' devices."""

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.choices import Privacy, choose_mechanism
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import (
    STREAM,
    PlainAnswers,
    check_outputs,
    from_stdin,
    is_dataset,
    is_store,
    place_of,
    read_ids,
    require_public_lists,
    to_stdout,
)
from quietcrowd.commands.makers import BEST
from quietcrowd.commands.printing import announce_exact_noise, counted, note, print_guarantee
from quietcrowd.domains import Domain
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import write_reports
from quietcrowd.formats.files import check_new
from quietcrowd.mechanisms import Mechanism, Reports


@command()
class Randomize(Privacy, PlainAnswers):
    """Randomize answers, as the workers' devices do.

    It overwrites nothing, because fresh noise on the same answers reveals more of them.

    Example: quietcrowd randomize answers.csv --labels no,yes -e 1 -o reports.parquet

    Example: quietcrowd randomize ann.csv --between 0,10 -m laplace -e 1
    -o ann.parquet --all-tasks tasks.csv --all-workers workers.csv

    Example: quietcrowd randomize answers.csv --labels a,b,c,d -m best:workers=50 -o reports.parquet

    Example: quietcrowd randomize answers.csv --options options.csv -e 1 -o reports.parquet

    Example: quietcrowd randomize big -o big-reports --dask tcp://10.0.0.1:8786
    """

    answers: Path = argument(
        metavar="ANSWERS", help="File of answers, dataset directory, or store; - is standard input."
    )
    output: Path | None = options.output_option("Required. ")
    all_tasks: Path | None = option(
        metavar="FILE",
        help="Public list of all tasks, in a column task, for mechanisms that hide participation.",
        default=None,
    )
    all_workers: Path | None = option(
        metavar="FILE", help="List of all workers, in a column worker.", default=None
    )
    participation_is_public: bool = option(
        help="Randomize despite dropped rows; which answers were invalid is public.",
        default=False,
    )
    simulate: int | None = options.SIMULATE
    dask: str | None = options.DASK

    def run(self) -> None:
        """Randomize a store, or a file."""
        if self.output is None:
            raise ParameterError("commands.reports-output-missing")
        _, maker = choose_mechanism(self.mechanism)
        if is_store(self.answers):
            self._randomize_store(maker, self.output)
            return
        if self.dask is not None:
            raise ParameterError("commands.dask-needs-a-store")
        source, output = from_stdin(self.answers), self.output
        check_outputs([source], output)
        make = partial(maker, epsilon=self.epsilon)
        self._check_public_facts(source, make)
        everyone: dict[str, Any] = {
            "tasks": read_ids(self.all_tasks, "task"),
            "workers": read_ids(self.all_workers, "worker"),
        }
        table = self.read(source, advice="randomize", **everyone)
        randomiser = make(domain=table.domain).for_options(self.task_options)
        reports = self._randomized(randomiser, table)
        _write(reports, output, table)
        if randomiser.options is not None:
            note("The file contains the possible answers of each task, which are public.")
        print_guarantee(
            randomiser,
            self.mechanism,
            table.answers_per_worker,
            table.tasks,
            simulated=reports.simulated,
            listed=self.all_tasks is not None,
            left_out=table.dropped.out_of_domain,
        )

    def _randomize_store(self, maker: Callable[..., Mechanism], output: Path) -> None:
        from quietcrowd.commands.stores import randomize_a_store, require_undescribed

        require_undescribed(self.by_option())
        randomize_a_store(
            self.answers,
            output,
            (self.mechanism, maker),
            self.epsilon,
            self.simulate,
            self.dask,
            tasks=self.all_tasks,
            workers=self.all_workers,
            participation_is_public=self.participation_is_public,
        )

    def _check_public_facts(self, source: Path, make: Callable[..., Mechanism]) -> None:
        """Raise the errors that follow from public facts, before reading the answers.

        No choice may depend on the answers, and no error on whether there are any.
        """
        if self.mechanism.partition(":")[0] == BEST:
            make(domain=self._public_domain(source))
        if self.simulate is None and None in (self.all_tasks, self.all_workers):
            require_public_lists(self.mechanism, make(domain=self._public_domain(source)))

    def _public_domain(self, path: Path) -> Domain:
        if not is_dataset(path):
            return self.domain()
        from quietcrowd.datasets import dataset_domain

        return dataset_domain(path)

    def _randomized(self, randomiser: Mechanism, table: Answers) -> Reports:
        public = self.participation_is_public
        if self.simulate is not None:
            return randomiser.simulate(
                table, random_state=self.simulate, participation_is_public=public
            )
        # raises before the note on exact noise
        randomiser.check_left_out(table.dropped.out_of_domain, participation_is_public=public)
        announce_exact_noise(
            randomiser.noise_draws(
                answers=len(table), tasks=len(table.tasks), workers=len(table.workers)
            )
        )
        return randomiser.randomize(table, participation_is_public=public)


def _write(reports: Reports, output: Path, table: Answers) -> None:
    if output != STREAM:
        check_new(output)  # again, as another run may have written there
    with to_stdout(output, ".jsonl") as place:  # which contains the mechanism too
        write_reports(reports, place)
    written = f"{counted(len(reports), 'report')} written to {place_of(output)}"
    note(f"{written}; workers: {len(table.workers):,}.")
