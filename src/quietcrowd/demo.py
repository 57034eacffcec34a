"""A private round on a synthetic crowd, told as it happens."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from quietcrowd.cli_tables import plain_table
from quietcrowd.datasets import Dataset
from quietcrowd.domains import check_finite
from quietcrowd.evaluation.metrics import KnownTruths
from quietcrowd.inference import MajorityVote, WeightedVote, noise_ignored
from quietcrowd.mechanisms import RandomizedResponse, Reports

__all__ = ["play"]


def play(crowd: Dataset, epsilon: float) -> None:
    """Randomise a crowd's answers with real noise, infer the truths, print what came of it."""
    console = Console(highlight=False, width=80)
    answers = crowd.answers.canonical  # the order that reports are in
    domain = check_finite(answers.domain, "the demo")
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon)
    console.print(
        f"1. {len(answers.workers):,} workers hold {len(answers):,} private answers to "
        f"{len(answers.tasks):,} yes-or-no questions.\n"
        f"   Their accuracies lie between 55 and 95 per cent; nobody knows whose.\n"
    )
    reports = mechanism.randomize(answers)
    _show_one_worker(console, reports, answers.domain.decode(answers.values))
    most = int(answers.answers_per_worker.max())
    console.print(f"3. What that protects:\n\n{mechanism.guarantee(answers=most)}\n")
    console.print("4. The requester infers the truths from the reports alone.\n")
    known = KnownTruths(answers, crowd.truths)
    table = plain_table("", "from the reports", "from the plain answers", numeric_from=1)
    with noise_ignored():
        for name, method in (("majority vote", MajorityVote()), ("weighted vote", WeightedVote())):
            rates = [known.error_rate(method.fit(data)) for data in (reports, answers)]
            table.add_row(f"{name}: wrong truths", *(f"{100 * rate:.1f} %" for rate in rates))
    guess = f"{100 * known.constant_error_rate():.1f} %"
    table.add_row("constant guess: wrong truths", guess, guess)
    console.print(table)
    console.print("\nThe noise came from the operating system: run it again and it differs.")


def _show_one_worker(console: Console, reports: Reports, given: pa.Array) -> None:
    table = reports.table
    rows = (table.worker_codes == 0).nonzero()[0][:8]
    sent = table.domain.decode(table.values)
    console.print(
        "2. Each device randomises. What one worker thinks, and what leaves the device:\n"
    )
    shown = plain_table("task", *(str(table.task_codes[row]) for row in rows), numeric_from=1)
    for name, column in (("answer", given), ("report", sent)):
        shown.add_row(name, *pc.cast(column.take(pa.array(rows)), pa.string()).to_pylist())
    console.print(shown)
    console.print()
