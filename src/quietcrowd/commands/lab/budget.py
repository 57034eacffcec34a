"""``quietcrowd lab budget``: privacy loss of the workers behind files of reports."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from quietcrowd.accounting.ledger import PrivacyLedger
from quietcrowd.accounting.spending import Charge, spend
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import SHOWN, console, counted, note, plain_table, print_csv
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import read_reports
from quietcrowd.formats.reports import ReportNote, read_report_note, read_round, rounds_in
from quietcrowd.polls import shuffled_assumption
from quietcrowd.privacy.guarantee import finite_loss, show_loss
from quietcrowd.validation import check_real

if TYPE_CHECKING:
    import pandas as pd

    from quietcrowd.mechanisms import Reports


@command()
class Budget:
    """Print the privacy loss of each worker.

    It prints the loss for one answer and the total for all. Losses of several files, and of several
    rounds, add up, because each may ask the same questions. For reports of a campaign in rounds it
    also prints the largest loss of a round, and of the campaign's window of rounds. With --delta,
    epsilon belongs to the pair (epsilon, delta), which adds up. The loss exceeds the tail with a
    probability of at most delta.

    Example: quietcrowd lab budget reports.parquet

    Example: quietcrowd lab budget spring.parquet autumn.parquet --delta 1e-6 --total-epsilon 40

    Example: quietcrowd lab budget poll.parquet --delta 1e-6 --min-honest 500
    """

    reports: list[Path] = argument(metavar="REPORTS", help="Files of reports, one per campaign.")
    delta: float = option(
        metavar="NUMBER",
        help="Delta of the epsilon columns, and probability of the tail columns.",
        default=0.0,
    )
    total_epsilon: float | None = option(
        metavar="EPSILON", help="Mark workers with a larger total loss.", default=None
    )
    min_honest: int | None = option(
        metavar="NUMBER",
        help="For polls with shuffling: minimum number of honest reports per file. Adds the loss "
        "under this assumption; requires --delta.",
        default=None,
    )
    as_json: bool = options.JSON

    def run(self) -> None:
        """Print the losses."""
        if self.total_epsilon is not None:
            check_real("--total-epsilon", self.total_epsilon, 0)
        check_real("--delta", self.delta, 0)
        if len({path.resolve() for path in self.reports}) < len(self.reports):
            raise ParameterError("commands.file-twice")
        notes = {str(place): read_report_note(path) for place, path in enumerate(self.reports, 1)}
        parts = _read(notes)
        ledger = PrivacyLedger.of_reports(*parts.values(), campaigns=parts)
        frame = ledger.to_frame(self.delta)
        own = _by_worker(ledger).values()
        frame["campaigns"] = [len({one.campaign.split("#")[0] for one in some}) for some in own]
        stated = [file.window for file in notes.values() if file.window]
        if stated and len(frame):
            _add_rounds(frame, ledger, notes, self.delta)
        if self.total_epsilon is not None:
            totals = zip(frame["worker"], frame["total_epsilon"], strict=True)
            frame["over_budget"] = [
                total > self.total_epsilon
                and ledger.used(worker, self.total_epsilon) > self.total_epsilon
                for worker, total in totals
            ]
        if self.min_honest is not None:
            frame["shuffled_epsilon"] = _shuffled(
                ledger, [*parts.values()], self.min_honest, self.delta
            )
        if self.as_json:
            typer.echo(_as_json(frame, self.delta, self.total_epsilon, self.min_honest))
        elif sys.stdout.isatty():
            _print_table(frame, self.delta)
        else:
            print_csv(frame)
        _print_totals(frame, len(self.reports), self.delta, self.total_epsilon)
        if stated and len(frame):
            _print_rounds(frame, stated)
        if self.min_honest is not None and len(frame):
            note(
                "Anyone who sees only one output of each file learns at most (epsilon, delta) = "
                f"({show_loss(frame['shuffled_epsilon'].max())}, {self.delta:.12g}) in total. "
                f"This assumes for each file that {shuffled_assumption(self.min_honest)}."
            )


def _read(notes: Mapping[str, ReportNote]) -> dict[str, Reports]:
    """Return the reports of each file; of rounds that were shown together, several parts."""
    parts: dict[str, Reports] = {}
    for place, file in notes.items():
        rounds = rounds_in(file)
        if not rounds:
            parts[place] = read_reports(file.path)
        for number, most in rounds.items():
            parts[f"{place}#{number}"] = read_round([file.path], number)
            for earlier in range(1, most):
                parts[f"{place}#{number}.{earlier}"] = read_round(
                    [file.path], number, earlier=earlier
                )
    return parts


def _by_worker(ledger: PrivacyLedger) -> dict[str, list[Charge]]:
    found: dict[str, list[Charge]] = {}
    for charge in ledger.charges:
        found.setdefault(charge.worker, []).append(charge)
    return found


def _add_rounds(
    frame: pd.DataFrame, ledger: PrivacyLedger, notes: Mapping[str, ReportNote], delta: float
) -> None:
    """Add the largest losses of a round, and of a window of rounds, of any one campaign."""
    memo: dict[tuple[Any, ...], float] = {}

    def loss(charges: Sequence[Charge]) -> float:
        key = tuple((one.mechanism, one.count, one.spared) for one in charges)
        if key not in memo:
            memo[key] = spend("", charges, delta).total_epsilon
        return memo[key]

    single, several = [], []
    for charges in _by_worker(ledger).values():
        windows: list[float] = [0.0]
        for place, file in notes.items():
            own = [one for one in charges if one.campaign.startswith(f"{place}#")]
            windows += [loss(one) for one in _windows(own, file)]
        single.append(max(loss([one]) for one in charges))
        several.append(max(windows))
    frame["round_epsilon"], frame["window_epsilon"] = single, several


def _windows(charges: Sequence[Charge], file: ReportNote) -> Iterator[Sequence[Charge]]:
    """Yield the most reports that a worker can have sent in any window of rounds.

    Reports shown with a round may have been sent in any round since the one shown before. But a
    window has only so many rounds of a worker.
    """
    numbered = [(int(one.campaign.split("#")[1].split(".")[0]), one) for one in charges]
    numbers = sorted({number for number, _ in numbered})
    begins = dict(zip(numbers, [0, *(number + 1 for number in numbers)], strict=False))
    most = -(-file.window // max(1, file.apart))
    for first in numbers:
        last = first + file.window
        some = [one for number, one in numbered if number >= first and begins[number] < last]
        yield sorted(some, key=lambda one: -one.count)[:most]


def _print_rounds(frame: pd.DataFrame, stated: Sequence[int]) -> None:
    windows = " or ".join(f"{window:,}" for window in sorted(set(stated)))
    note(
        f"The largest loss of a round is epsilon = {show_loss(frame['round_epsilon'].max())}, and "
        f"of any {windows} rounds in a row {show_loss(frame['window_epsilon'].max())}. The total "
        "is for the rounds of the file; a campaign deletes the reports of older ones."
    )


def _shuffled(
    ledger: PrivacyLedger, parts: list[Reports], honest: int, delta: float
) -> list[float]:
    if not delta:
        raise ParameterError("commands.min-honest-needs-delta")
    least = min(len(part) for part in parts)
    if not 1 <= honest <= least:
        raise ParameterError("commands.min-honest-exceeds-rows", least=least, honest=honest)
    return [ledger.shuffled(who, honest=honest, delta=delta) for who in ledger.workers]


def _as_json(frame: pd.DataFrame, delta: float, most: float | None, honest: int | None) -> str:
    losses = [str(name) for name in frame if str(name).endswith(("_epsilon", "_tail"))]
    rows = [
        {name: finite_loss(row[name]) if name in losses else row[name] for name in row}
        for row in frame.to_dict("records")
    ]
    largest = {name: finite_loss(float(frame[name].max())) if rows else 0.0 for name in losses}
    document: dict[str, Any] = {"delta": delta, "budget": most, "most": largest, "workers": rows}
    if honest is not None:
        document["shuffled"] = {"honest": honest, "assumption": shuffled_assumption(honest)}
    return json.dumps(document)


def _print_table(frame: pd.DataFrame, delta: float) -> None:
    heads = ["\nworker", "\nreports", "cam-\npaigns", "epsilon,\none answer", "epsilon,\nin total"]
    rounds = ["round_epsilon", "window_epsilon"] if "window_epsilon" in frame else []
    heads += ["epsilon,\na round", "epsilon,\na window"][: len(rounds)]
    if delta:
        heads += ["tail,\none answer", "tail,\nin total"]
    if "shuffled_epsilon" in frame:
        heads += ["epsilon,\nif shuffled"]
    table = plain_table(*heads, numeric_from=1)
    ordered = frame.sort_values("total_epsilon", ascending=False, kind="stable")
    for row in ordered.head(SHOWN).to_dict("records"):
        table.add_row(
            Text(one_line(str(row["worker"]))),
            f"{row['reports']:,}",
            f"{row['campaigns']:,}",
            show_loss(row["answer_epsilon"]),
            show_loss(row["total_epsilon"]) + (" †" if row.get("over_budget") else ""),
            *(show_loss(row[name]) for name in rounds),
            *([show_loss(row["answer_tail"]), show_loss(row["total_tail"])] if delta else []),
            *([show_loss(row["shuffled_epsilon"])] if "shuffled_epsilon" in row else []),
        )
    console().print(table)
    if len(frame) > SHOWN:
        print(f"… and {len(frame) - SHOWN:,} more with no larger loss; piped output has all")


def _print_totals(frame: pd.DataFrame, campaigns: int, delta: float, most: float | None) -> None:
    if frame.empty:
        note("There are no reports.")
        return
    top = frame.nlargest(1, "total_epsilon").to_dict("records")[0]
    note(
        f"{counted(len(frame), 'worker')}, {counted(int(frame['reports'].sum()), 'report')}, "
        f"{counted(campaigns, 'campaign')}."
    )
    one, total = show_loss(frame["answer_epsilon"].max()), show_loss(top["total_epsilon"])
    if not delta:
        note(
            f"The largest privacy loss is epsilon = {one} for one answer and {total} in total "
            f"(worker {top['worker']!r})."
        )
    else:
        tails = (show_loss(frame[name].max()) for name in ("answer_tail", "total_tail"))
        note(
            "A worker's privacy loss is at most {1} for one answer and {2} in total, each with "
            "probability at least 1 - {0:.12g}. This assumes that all questions were fixed in "
            "advance. For composition with other releases: ".format(delta, *tails)
            + f"(epsilon, delta) = ({one}, {delta:.12g}) and ({total}, {delta:.12g})."
        )
    if most is not None:
        over = int(frame["over_budget"].sum())
        note(f"{over:,} of {len(frame):,} workers exceed the budget of {most:g}.")
