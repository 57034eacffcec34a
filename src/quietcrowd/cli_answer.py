"""``quietcrowd answer``: a worker answers a campaign; what is sent is randomised here."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from quietcrowd import cli_options as options
from quietcrowd.campaign.extra import require_client
from quietcrowd.campaign.plain_text import one_line
from quietcrowd.cli_notes import counted, note
from quietcrowd.cli_questions import (
    Questions,
    in_reading_order,
    read_line,
    show_quoted,
    show_text,
    spell,
)
from quietcrowd.exceptions import AnswerError, FormatError, ParameterError, UnansweredError
from quietcrowd.formats import read_table
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss, show_loss

if TYPE_CHECKING:
    from quietcrowd.campaign.client import Client
    from quietcrowd.campaign.client_upload import HeldReports, Receipt, Report

__all__ = ["answer"]

SHOWN = 20
_COLUMNS = ("task", "label")


def answer(
    link: Annotated[
        str,
        typer.Argument(
            metavar="LINK",
            envvar="QUIETCROWD_LINK",
            help="As who invites you gives it: https://.../j/...#i=...",
        ),
    ],
    answers: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Answers, columns task and label, instead of questions."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Agree, lock and send without being asked.")
    ] = False,
    budget: Annotated[
        float | None,
        typer.Option(
            metavar="EPSILON",
            envvar="QUIETCROWD_BUDGET",
            help="The most that you want to lose in all campaigns together.",
        ),
    ] = None,
    delta: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="Probability that may be outside of the budget."),
    ] = 0.0,
    folder: Annotated[
        Path | None,
        typer.Option(metavar="FOLDER", help="Of this device, instead of your own data folder."),
    ] = None,
    show: Annotated[
        bool, typer.Option("--show", help="Show what the server holds of you.")
    ] = False,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Leave, and have all that you sent deleted.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Answer a campaign's questions. They stay here: what is sent is randomised.

    You see what you agree to, answer, lock your answers, see what will be sent, and send it or
    withdraw. Questions that you answered in another campaign of the server are told; with --yes
    they need a --budget.

    Example: quietcrowd answer 'https://example.org/j/0123...#i=qci_...' --budget 20

    Example: quietcrowd answer LINK --answers mine.csv --yes

    Example: quietcrowd answer LINK --show

    Example: quietcrowd answer LINK --withdraw
    """
    require_client()
    from quietcrowd.campaign.client import Client

    if show and withdraw:
        raise ParameterError("--show and --withdraw do not go together: give one")
    if as_json and (withdraw or not (show or (yes and answers is not None))):
        raise ParameterError("--json goes with --show, or --answers and --yes")
    client = Client(link, folder=folder, budget=budget, delta=delta)
    if withdraw:
        _withdraw(client, yes=yes)
    elif show:
        _show_held(client, as_json=as_json)
    elif client.sent:
        receipt = client.send()
        note("You have answered this campaign. --show shows what the server holds of you.")
        if as_json:
            typer.echo(_as_json(client, receipt))
    else:
        _take_part(client, answers, yes=yes, as_json=as_json)


def _take_part(client: Client, file: Path | None, *, yes: bool, as_json: bool) -> None:
    """Go from what is agreed to, by way of the answers, to what is sent."""
    if client.locked:
        if file is not None:
            raise AnswerError(
                "answers to this campaign are locked already, and stay as they are: leave out "
                "--answers to send what is locked, or --withdraw"
            )
        note("Your answers are locked since an earlier time.")
        _mind_repeats(client, client.repeated, yes=yes)
    else:
        most = client.affordable()
        if not as_json:
            _tell_terms(client, most)
        if not (yes or _agreed("Do you agree, and take part?")):
            note("You take no part. Nothing was sent.")
            raise typer.Exit(1)
        client.join()
        _lock(client, file, most, yes=yes)
    if not as_json:
        _show_locked(client)
    if yes or _wants_to_send(client):
        _send(client, as_json=as_json)


def _lock(client: Client, file: Path | None, most: int, *, yes: bool) -> None:
    """Lock the answers of a file, or those that the worker gives."""
    if file is None:
        _mind_repeats(client, client.repeated, yes=yes)
        _ask_and_lock(client, most)
        return
    given = _read_answers(file)
    _mind_repeats(client, _repeated(client, given), yes=yes)
    if not (yes or _agreed(f"Lock {counted(len(given), 'answer')}?")):
        note("Nothing was locked, and nothing was sent.")
        raise typer.Exit(1)
    client.prepare(given)


def _tell_terms(client: Client, most: int) -> None:
    """Say what is asked, what it costs, how much the budget allows, and what is agreed to."""
    terms = client.terms
    typer.echo("Whoever asks wrote what stands behind |:")
    show_quoted(one_line(terms.title))
    if terms.description:
        show_quoted(terms.description)
    typer.echo("")
    questions = counted(terms.tasks, "question")
    show_text(f"{questions}; you give up to {counted(terms.answers, 'answer')}.")
    show_text(_cost(client.guarantee))
    typer.echo("")
    for sentence in client.consent:
        show_text(sentence)
    typer.echo("")
    _tell_budget(client, most)


def _cost(guarantee: PrivacyGuarantee) -> str:
    chance = f", but for a probability delta = {guarantee.delta:.3g}" * bool(guarantee.delta)
    return (
        f"Epsilon is at most {show_loss(guarantee.epsilon)} about one answer, and "
        f"{show_loss(guarantee.worker_epsilon)} about all together{chance}. That is:"
    )


def _tell_budget(client: Client, most: int) -> None:
    spent, after = client.spent().total_epsilon, client.spent_after(most).total_epsilon
    budget, delta = client.budget.most, client.budget.delta
    limit = "" if budget is None else f" of a budget of {budget:g}"
    at = f", at delta = {delta:g}" * bool(delta)
    then = f"it will be at most {show_loss(after)}"
    if not math.isfinite(after):
        then = "nothing bounds it, unless --delta allows for a probability outside"
    show_text(
        f"This device has spent epsilon = {show_loss(spent)}{limit}{at}; after this campaign "
        f"{then}."
    )
    if most < client.terms.answers:
        what = counted(most, "answer")
        show_text(f"The budget allows no more than {what}: you can skip the other questions.")
        if not math.isfinite(client.spent_after().total_epsilon):
            show_text("Nothing bounds more, unless --delta allows for a probability outside.")


def _repeated(client: Client, given: Mapping[str, Any]) -> Sequence[str]:
    """Return the tasks on which these answers would be a second report."""
    if client.terms.mechanism.every_task:
        return client.repeated
    return [name for name in client.repeated if given.get(name) is not None]


def _mind_repeats(client: Client, repeated: Sequence[str], *, yes: bool) -> None:
    """Tell of questions that the server asked before; stop where that is not wanted."""
    if not repeated:
        return
    some = f"{len(repeated):,} of the {client.terms.tasks:,} questions"
    told = (
        f"this device has reported on {some} in another campaign of this server. The noise is "
        "fresh: both reports together tell more about an answer than each alone, and the losses "
        "about it add up"
    )
    if yes and client.budget.most is None:
        raise ParameterError(f"{told}. Nothing was sent: give a --budget, or leave out --yes")
    note(f"{told[0].upper()}{told[1:]}.")
    if not (yes or _agreed("Go on all the same?")):
        note("No answers were sent. --withdraw leaves the campaign.")
        raise typer.Exit(1)


def _agreed(question: str) -> bool:
    return read_line(f"{question} [y/N] ").lower() in ("y", "yes")


def _ask_and_lock(client: Client, most: int) -> None:
    """Ask, and lock what is answered; what the budget no longer allows can be changed."""
    every_task = client.terms.mechanism.every_task
    questions = Questions(
        tasks=in_reading_order(client.tasks),
        domain=client.terms.mechanism.domain,
        most=most,
        least=0 if every_task else 1,
        repeated=client.repeated,
    )
    given = questions.ask()
    while True:
        try:
            client.prepare(given)
            return
        except ParameterError as error:
            if every_task:
                raise
            note(f"{error} Your answers are still here: take some back, or stop with Ctrl-C.")
        given = questions.review()


def _read_answers(path: Path) -> dict[str, Any]:
    """Return the answers of a file; messages name rows and tasks, and no answer."""
    try:
        table = read_table(path, _COLUMNS)
    except FormatError:
        table = None
    if table is None or not set(_COLUMNS) <= set(table.column_names):
        raise FormatError(
            f"{path}: this must be a table of CSV, JSON Lines or Parquet with columns task and "
            "label"
        )
    answers: dict[str, Any] = {}
    columns = (table[name].to_pylist() for name in _COLUMNS)
    for row, (task, label) in enumerate(zip(*columns, strict=True)):
        if task is None:
            raise AnswerError(f"{path}, row {row}: a task is missing")
        if str(task) in answers:
            raise AnswerError(f"{path}, row {row}: task {task!r} is there a second time")
        answers[str(task)] = label
    return answers


def _show_locked(client: Client) -> None:
    """Show what will be sent; not beside what was answered."""
    upload = client.upload
    note("Your answers are locked. This will be sent:")
    _print_reports(client.preview(), client)
    if upload.sketch is not None:
        _print_sketch(tuple(upload.sketch["numbers"]))
    note("Some of it may differ from what you answered: that is the protection.")


def _print_reports(reports: tuple[Report, ...], client: Client) -> None:
    by_name = {report.task: report for report in reports}
    for task in in_reading_order(client.tasks)[:SHOWN]:
        if task.name in by_name:
            report = by_name[task.name]
            bit = report.participation
            beside = "" if bit is None else f", answered: {spell(bit)}"
            shown = f"{one_line(task.name)}: {spell(report.value)}{beside}"
            show_text(shown, first="  ", rest="    ")
    if len(reports) > SHOWN:
        typer.echo(f"  … and {len(reports) - SHOWN:,} more")


def _wants_to_send(client: Client) -> bool:
    """Ask what becomes of locked answers."""
    while True:
        chosen = read_line("Type send, withdraw, or later: ").lower()
        if chosen == "send":
            return True
        if chosen == "withdraw":
            _withdraw(client, yes=True)
            return False
        if chosen == "later":
            note("Nothing was sent. The same command goes on from here.")
            return False


def _send(client: Client, *, as_json: bool) -> None:
    try:
        receipt = client.send()
    except (KeyboardInterrupt, UnansweredError):
        note("What you locked is kept. The same command sends it again, as it is.")
        raise
    what = counted(receipt.accepted + receipt.duplicates, "report")
    spent = show_loss(client.spent().total_epsilon)
    note(f"Sent: {what}. This device has spent epsilon = {spent}. --withdraw takes them back.")
    if as_json:
        typer.echo(_as_json(client, receipt))


def _as_json(client: Client, receipt: Receipt) -> str:
    spent = client.spent()
    return json.dumps(
        {
            "campaign": client.terms.campaign,
            "config_hash": client.terms.config_hash,
            "consent": client.consent,
            "accepted": receipt.accepted,
            "duplicates": receipt.duplicates,
            "spent": finite_loss(spent.total_epsilon),
            "delta": spent.delta,
            "reports": _reports_as_json(client.preview()),
        }
    )


def _reports_as_json(reports: tuple[Report, ...]) -> list[dict[str, Any]]:
    return [
        {"task": report.task, "value": report.value}
        | ({} if report.participation is None else {"participation": report.participation})
        for report in reports
    ]


def _show_held(client: Client, *, as_json: bool) -> None:
    """Show what the server holds, and whether it is what was sent."""
    held = client.stored()
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "reports": _reports_as_json(held.reports),
                    "sketch": held.sketch,
                    "sent": client.sent,
                    "as_sent": held.as_sent,
                    "missing": held.missing,
                    "strange": held.strange,
                }
            )
        )
    else:
        _print_reports(held.reports, client)
        if held.sketch is not None:
            _print_sketch(held.sketch)
    _tell_held(held, client)


def _print_sketch(numbers: tuple[float, ...]) -> None:
    first = ", ".join(spell(number) for number in numbers[:8])
    more = f", … and {len(numbers) - 8:,} more" * (len(numbers) > 8)
    show_text(f"a sketch of {len(numbers):,} numbers: {first}{more}", first="  ")


def _tell_held(held: HeldReports, client: Client) -> None:
    if not held.as_sent:
        note(
            f"The server does not hold what this device sent: {counted(held.missing, 'report')} "
            f"missing or changed, {held.strange:,} not sent from here."
        )
    elif held.empty:
        note(f"The server holds no report of you.{_waiting(client)}")
    else:
        note("The server holds what this device sent, and nothing else.")


def _waiting(client: Client) -> str:
    """Say what is locked and was not acknowledged; nothing where no answers are locked."""
    if not client.locked:
        return ""
    count = len(client.upload.items) or 1  # a sketch is one report
    what, them = ("1 locked report waits", "it")
    if count > 1:
        what, them = (f"{count:,} locked reports wait", "them")
    return f" {what} here; the same command without --show sends {them}."


def _withdraw(client: Client, *, yes: bool) -> None:
    if not (yes or _agreed("Leave, and have all that you sent deleted for good?")):
        note("Nothing was changed.")
        raise typer.Exit(1)
    client.withdraw()
    note("You have left. The server deleted what it held of you, and this device its files.")
