"""``quietcrowd infer``: truth inference from reports or non-private answers."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.compute as pc
import typer

from quietcrowd.answers import Answers
from quietcrowd.commands import options
from quietcrowd.commands.choices import METHODS_LISTED, choose_method, method_option
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.files import (
    STREAM,
    PlainAnswers,
    check_one_stream,
    check_outputs,
    from_stdin,
    gold_error,
    is_store,
    read_gold,
)
from quietcrowd.commands.printing import (
    closing_words,
    note,
    print_csv,
    print_frame,
    records_of,
)
from quietcrowd.exceptions import ConvergenceWarning, ParameterError
from quietcrowd.formats import read_reports, write_table
from quietcrowd.formats.files import check_new
from quietcrowd.formats.kinds import find_format
from quietcrowd.gold import KnownTruthError
from quietcrowd.mechanisms import Reports

if TYPE_CHECKING:
    from quietcrowd.inference import TruthEstimate
    from quietcrowd.inference.fitting import FittingMethod


@command(epilog=METHODS_LISTED)
class Infer(PlainAnswers):
    """Infer truths and workers' quality from reports.

    It overwrites nothing. With --non-private, the possible answers are those in the file, unless
    --labels, --levels or --between define them.

    Example: quietcrowd infer reports.parquet -o truths.csv --workers-out workers.csv

    Example: quietcrowd infer reports.parquet --gold known.csv

    Example: quietcrowd infer reports.parquet --method moon:variant=variance

    Example: quietcrowd convert pool.tsv - | quietcrowd infer - --non-private -o truths.csv

    Example: quietcrowd infer answers.csv --non-private --options options.csv

    Example: quietcrowd infer reports.parquet --label-sets-out sets.csv

    Example: quietcrowd infer big -o truths.parquet --checkpoint big.checkpoint
    """

    reports: list[Path] = argument(
        metavar="REPORTS",
        help="Files of reports, one file of answers (with --non-private), or a store; - is "
        "standard input.",
    )
    method: str | None = method_option()
    gold: Path | None = options.GOLD
    max_iter: int | None = options.MAX_ITER
    output: Path | None = options.OUTPUT
    workers_out: Path | None = option(
        metavar="FILE",
        help="Output file for the workers' quality.",
        default=None,
    )
    posterior_out: Path | None = option(
        metavar="FILE",
        help="Output file for probabilities of labels, or quantiles of numbers.",
        default=None,
    )
    label_sets_out: Path | None = option(
        metavar="FILE",
        help="Output file for label sets, from questions of convert --multi-label.",
        default=None,
    )
    checkpoint: Path | None = option(
        metavar="FILE",
        help="File for the state, to resume the inference of a store.",
        default=None,
    )
    dask: str | None = options.DASK
    of_round: int | None = options.ROUND
    non_private: bool = options.NON_PRIVATE
    seed: int = option(min=0, metavar="NUMBER", help="Seed for ties.", default=0)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Infer from a store, or from files."""
        if any(map(is_store, self.reports)):
            self._infer_from_store()
            return
        for name, value in (("--checkpoint", self.checkpoint), ("--dask", self.dask)):
            if value is not None:
                raise ParameterError("commands.option-needs-a-store", name=name)
        chosen = None if self.method is None else self._choose(self.method)
        if [*self.reports, self.gold].count(STREAM) > 1:
            raise ParameterError("commands.standard-input-twice")
        reports = [from_stdin(path) for path in self.reports]
        gold = None if self.gold is None else from_stdin(self.gold)
        targets = (self.output, self.workers_out, self.posterior_out, self.label_sets_out)
        check_one_stream(*targets, as_json=self.as_json)
        check_outputs((*reports, gold), *targets)
        known = (
            None
            if gold is None
            else read_gold(gold, self.question, self.decimal, beside_answers=self.non_private)
        )
        data = (
            self._read_plain(reports, chosen) if self.non_private else self._read_reports(reports)
        )
        from quietcrowd.inference import usual_method_of

        estimate = _fit(chosen or self._choose(usual_method_of(data)), data, known, gold)
        self._show(estimate)
        note(_closing_words(estimate, by_default=chosen is None))
        for sentence in estimate.notes:
            note(sentence)

    def _choose(self, name: str) -> FittingMethod:
        return choose_method(name, max_iter=self.max_iter, random_state=self.seed)

    def _infer_from_store(self) -> None:
        from quietcrowd.commands.stores import infer_from_store, require_undescribed

        beside = {"--non-private": self.non_private, **self.by_option()}
        if self.gold is not None:  # which --question is about
            del beside["--question"], beside["--decimal"]
        beside |= {
            "--round": self.of_round,
            "--posterior-out": self.posterior_out,
            "--label-sets-out": self.label_sets_out,
            "--json": self.as_json,
        }
        require_undescribed(beside)
        for file in filter(None, (self.output, self.workers_out)):
            check_new(file)
        infer_from_store(
            self.reports,
            self._choose,
            self.method,
            self.dask,
            output=self.output,
            workers=self.workers_out,
            gold=self.gold,
            field=self.question,
            decimal=self.decimal,
            checkpoint=self.checkpoint,
        )

    def _read_plain(self, paths: list[Path], method: FittingMethod | None) -> Answers:
        if self.of_round is not None:
            raise ParameterError("commands.round-of-reports")
        if len(paths) > 1:
            raise ParameterError("commands.non-private-takes-one-file")
        from quietcrowd.inference import NoiseAware

        takes = method or NoiseAware()  # which accepts labels and numbers
        return self.read(paths[0], advice="infer", method=takes)

    def _read_reports(self, paths: list[Path]) -> Reports:
        if self.drop_invalid or (self.columns, self.duplicates) != (
            options.USUAL_COLUMNS,
            options.USUAL_DUPLICATES,
        ):
            raise ParameterError("commands.options-need-non-private")
        if self.gold is None and (self.question, self.decimal) != (None, None):
            raise ParameterError("commands.question-needs-non-private")
        if any(path.is_dir() for path in paths):
            raise ParameterError("commands.dataset-needs-non-private")
        if any(self.written.values()) or self.options_file is not None:
            raise ParameterError("commands.kind-options-need-non-private")
        return read_reports(*paths, round=self.of_round)

    def _show(self, estimate: TruthEstimate) -> None:
        if (
            self.label_sets_out is not None
        ):  # first, because it raises for questions of another kind
            _write(_sets_for(self.label_sets_out, estimate), self.label_sets_out)
        if self.posterior_out is not None:
            _write(estimate.posterior, self.posterior_out)
        _write(estimate.truths, self.output)
        _write(estimate.workers, self.workers_out)
        if self.as_json:
            typer.echo(_estimate_as_json(estimate))
        elif self.output is None and STREAM not in (
            self.workers_out,
            self.posterior_out,
            self.label_sets_out,
        ):
            print_frame(estimate.truths, "--output truths.csv")


def _write(frame: Any, target: Path | None) -> None:
    if target == STREAM:
        print_csv(frame)
    elif target is not None:
        write_table(frame, target)


def _fit(
    method: FittingMethod, data: Reports | Answers, known: Any, gold: Path | None
) -> TruthEstimate:
    """Fit a method; errors about known truths name their file.

    The closing note reports convergence, so the warning is suppressed.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            return method.fit(data, gold=known)
    except KnownTruthError as error:
        raise gold_error(error, gold) from None


def _closing_words(estimate: TruthEstimate, *, by_default: bool) -> str:
    answers, tied = estimate.answers, None
    if estimate.method.infers_labels(estimate.summary.domain):
        tied = int(estimate.truths_as("pandas")["tied"].sum())
    return closing_words(
        estimate,
        counts=(len(answers.tasks), len(answers.workers), len(answers)),
        known=int(estimate.known.sum()),
        null_reports=answers.dropped.null_reports,
        tied=tied,
        by_default=by_default,
    )


def _estimate_as_json(estimate: TruthEstimate) -> str:
    return json.dumps(
        {
            "method": estimate.method.to_dict(),
            "iterations": estimate.n_iter,
            "converged": estimate.converged,
            "notes": list(estimate.notes),
            "truths": records_of(estimate.truths),
            "workers": records_of(estimate.workers),
        }
    )


def _sets_for(target: Path, estimate: TruthEstimate[Any]) -> Any:
    table = estimate.label_sets(backend="pyarrow")
    if target == STREAM or not find_format(target).typed:
        held = [one for one in pc.list_flatten(table["labels"]).unique().to_pylist() if "," in one]
        if held:
            raise ParameterError("commands.label-with-comma", value=held[0])
        table = table.set_column(1, "labels", pc.binary_join(table["labels"], ","))
    return table.to_pandas()
