"""``quietcrowd worker answer``: a worker answers a campaign, and the device randomizes the answers.

A worker decides on the answers, knowing the distribution of the noise. Then one step samples the
reports and sends them, so no report is shown before it is sent.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.extra import require_client
from quietcrowd.campaign.terms.options import labels_of_task
from quietcrowd.commands import options
from quietcrowd.commands.declare import argument, command, option
from quietcrowd.commands.printing import counted, note
from quietcrowd.commands.worker.notices import (
    print_details,
    print_menu,
    print_questions,
    print_rounds,
    print_terms,
    receipt_as_json,
    show_held,
)
from quietcrowd.commands.worker.questions import Questions, agreed, in_reading_order, read_line
from quietcrowd.domains import Categorical
from quietcrowd.exceptions import (
    AnswerError,
    CampaignError,
    FormatError,
    ParameterError,
    UnansweredError,
)
from quietcrowd.privacy.guarantee import show_loss

if TYPE_CHECKING:
    from quietcrowd.campaign.device.client import Client
    from quietcrowd.campaign.device.receipt import WorkerReceipt

_COLUMNS = ("task", "label")
_BECAUSE = (
    "You may withdraw at any time. But doing so because of a report or of your answers reveals "
    "more than you agreed to."
)


@command()
class Answer:
    """Answer a campaign with randomized reports.

    You see the terms in brief, and in full if you type details. You answer, look over your answers,
    and send. Drawing and sending are one step. The command names questions that you reported on
    before. If they get fresh noise, --yes requires --total-epsilon.

    Joining prints a code. --code continues with the same link on another device. In a campaign with
    rounds, the command prints when your next round begins: call it again then.

    Example: quietcrowd worker answer 'https://example.org/j/0123...#i=qci_...' --total-epsilon 20

    Example: quietcrowd worker answer LINK --file mine.csv --yes

    Example: quietcrowd worker answer LINK --status

    Example: quietcrowd worker answer LINK --withdraw
    """

    link: str = argument(
        metavar="LINK",
        envvar="QUIETCROWD_LINK",
        help="The complete link: https://.../j/...#i=...",
    )
    file: Path | None = option(
        metavar="FILE", help="Answers, columns task and label, instead of questions.", default=None
    )
    yes: bool = option(help="Agree, randomize and send without being asked.", default=False)
    total_epsilon: float | None = option(
        metavar="EPSILON",
        envvar="QUIETCROWD_TOTAL_EPSILON",
        help="Your largest privacy loss in all campaigns together.",
        default=None,
    )
    delta: float = option(
        metavar="NUMBER",
        help="Delta of the budget, a pair of epsilon and delta.",
        default=0.0,
    )
    folder: Path | None = option(
        metavar="FOLDER",
        help="Directory of this device, instead of your data directory.",
        default=None,
    )
    code: str | None = option(
        metavar="CODE",
        help="Continue from another device or browser, with the code that it showed.",
        default=None,
    )
    choice: int | None = option(
        metavar="NUMBER",
        help="Your choice of protection, where the campaign offers several; 1 protects most.",
        default=None,
    )
    status: bool = option(help="Show your data on the server.", default=False)
    withdraw: bool = option(help="Withdraw, and have all that you sent deleted.", default=False)
    as_json: bool = options.JSON

    def run(self) -> None:
        """Take part, or carry out the other options."""
        require_client()
        from quietcrowd.campaign.device.client import Client

        if self.status and self.withdraw:
            raise ParameterError("commands.status-and-withdraw")
        if self.as_json and (
            self.withdraw or not (self.status or (self.yes and self.file is not None))
        ):
            raise ParameterError("commands.json-needs-status")
        client = Client(self.link, folder=self.folder, budget=self.total_epsilon, delta=self.delta)
        if self.withdraw:
            _withdraw(client, yes=self.yes)
        elif self.status:
            show_held(client, as_json=self.as_json)
        elif self.file is None and _is_between_rounds(client):
            _wait(client)
        elif client.sent:
            receipt = client.resume()
            what = "campaign" if client.terms.rounds is None else "round"
            note(f"You have answered this {what}. --status shows your data on the server.")
            _print_code(receipt)
            print_rounds(client)
            if self.as_json:
                typer.echo(receipt_as_json(client, receipt))
        elif client.committed:
            _send_again(client, self.file, as_json=self.as_json)
        else:
            _take_part(client, self)


def _send_again(client: Client, file: Path | None, *, as_json: bool) -> None:
    if file is not None:
        raise AnswerError("commands.reports-pending")
    note("You have answered this campaign, and your reports are on their way.")
    try:
        receipt = client.resume()
    except (KeyboardInterrupt, UnansweredError):
        _print_on_the_way()
        raise
    _print_sent(client, receipt, as_json=as_json)


def _take_part(client: Client, given_to: Answer) -> None:
    file, yes, as_json = given_to.file, given_to.yes, given_to.as_json
    _choose(client, given_to)
    _join(client, given_to)
    _print_continuation(client)
    if _is_between_rounds(client):
        print_rounds(client)
        if file is not None:
            raise AnswerError("commands.file-between-rounds")
        return
    notes = print_questions(client)
    if file is None:
        _mind_repeats(client, client.repeated, yes=yes)
        receipt = _ask_and_send(client, notes)
    else:
        given = _asked_alone(client, _read_answers(file))
        _mind_repeats(client, _repeated(client, given), yes=yes)
        if not (yes or agreed(f"Randomize and send {counted(_count(given), 'answer')}?")):
            note("Nothing was sent.")
            raise typer.Exit(1)
        receipt = _send(client, given)
    _print_sent(client, receipt, as_json=as_json)


def _is_between_rounds(client: Client) -> bool:
    return client.joined and client.terms.rounds is not None and client.round is None


def _wait(client: Client) -> None:
    """Send what is pending of earlier rounds, and print when the next one begins."""
    if client.committed and not client.sent:
        try:
            client.resume()
        except AnswerError as error:  # they are late
            note(str(error))
    print_rounds(client)


def _choose(client: Client, given_to: Answer) -> None:
    """Choose from a menu, before anything else is shown; the first protects most."""
    count = len(client.menu)
    if client.joined or count == 1:
        if given_to.choice is not None:
            client.choose(given_to.choice - 1)
        return
    if not given_to.as_json:
        print_menu(client)
    choice = given_to.choice
    while choice is None and not given_to.yes:
        typed = read_line(f"Choose your protection, 1 to {count} [1]: ") or "1"
        choice = int(typed) if typed.isdecimal() and 1 <= int(typed) <= count else None
    client.choose((choice or 1) - 1)


def _join(client: Client, given_to: Answer) -> None:
    while True:
        if not given_to.as_json:
            print_terms(client, client.affordable())
        if not (given_to.yes or _agrees(client)):
            note("You are not taking part. Nothing was sent.")
            raise typer.Exit(1)
        try:
            client.join(given_to.code)
            return
        except CampaignError as error:
            if error.code != "campaign.choice-bound" or given_to.yes:
                raise
            note("Your invite belongs to another choice, which was made before.")
            client.choose(int(str(error.fields["choice"])))


def _print_continuation(client: Client) -> None:
    if client.code is not None:
        note(
            f"Code to continue on another device, with the same link: {client.code}. This device "
            "cannot send after that."
        )


def _agrees(client: Client) -> bool:
    question = "Do you agree, and take part? [y/N/details] "
    while (typed := read_line(question).lower()) in ("d", "details"):
        print_details(client)
    return typed in ("y", "yes")


def _asked_alone(client: Client, given: Mapping[str, Any]) -> dict[str, Any]:
    others = client.not_asked & given.keys()
    if others:
        note(f"Dropped {counted(len(others), 'answer')} to questions that you are not asked.")
    return {task: answer for task, answer in given.items() if task not in others}


def _count(given: Mapping[str, Any]) -> int:
    return sum(answer is not None for answer in given.values())


def _repeated(client: Client, given: Mapping[str, Any]) -> Sequence[str]:
    if client.terms.mechanism.every_task:
        return client.repeated
    return [name for name in client.repeated if given.get(name) is not None]


def _mind_repeats(client: Client, repeated: Sequence[str], *, yes: bool) -> None:
    """Warn of questions that get a second report with fresh noise; exit if the worker declines."""
    if not repeated:
        return
    some = f"{len(repeated):,} of the {len(client.tasks):,} questions"
    reasons = (
        f"this device has reported on {some} in another campaign, in another way or to another "
        "server. The noise is fresh. Both reports together reveal more about an answer than each "
        "one, and the losses about it add up"
    )
    if yes and client.budget.most is None:
        raise ParameterError("commands.budget-needed", reasons=reasons)
    note(f"{reasons[0].upper()}{reasons[1:]}.")
    if not (yes or agreed("Continue anyway?")):
        note("No answers were sent. --withdraw leaves the campaign.")
        raise typer.Exit(1)


def _ask_and_send(client: Client, notes: Mapping[str, str]) -> WorkerReceipt:
    """Ask and send; the worker can change answers that exceed the budget."""
    every_task = client.terms.mechanism.every_task
    questions = Questions(
        tasks=in_reading_order(client.tasks),
        domain=client.terms.mechanism.domain,
        options=_options(client),
        most=client.affordable(),
        least=0 if every_task else 1,
        notes=notes,
        images=client.images,
    )
    given = questions.ask()
    while True:
        try:
            return _send(client, given)
        except ParameterError as error:
            if every_task:
                raise
            note(f"{error} Your answers are still here. Remove the last ones, or stop (Ctrl-C).")
        given = questions.review()


def _options(client: Client) -> dict[str, Categorical]:
    """Return the possible answers of tasks that list their own, by task name."""
    listed = {task.name: labels_of_task(client.terms.mechanism, task.data) for task in client.tasks}
    return {name: Categorical(one) for name, one in listed.items() if one is not None}


def _send(client: Client, given: Mapping[str, Any]) -> WorkerReceipt:
    try:
        return client.answer(given)
    except (KeyboardInterrupt, UnansweredError):
        if client.committed:
            _print_on_the_way()
        raise


def _print_on_the_way() -> None:
    note("Your reports are on their way. The same command sends them again, as they are.")


def _print_sent(client: Client, receipt: WorkerReceipt, *, as_json: bool) -> None:
    what = counted(receipt.accepted + receipt.duplicates, "report")
    note(
        f"Sent: {what}. {_spent_so_far(client)} --withdraw asks the server to delete them. "
        "Anything they revealed stays revealed. --status shows them."
    )
    _print_code(receipt)
    print_rounds(client)
    if as_json:
        typer.echo(receipt_as_json(client, receipt))


def _print_code(receipt: WorkerReceipt) -> None:
    if receipt.completion_code is not None:
        note(f"Completion code, the same for all workers: {receipt.completion_code}")


def _spent_so_far(client: Client) -> str:
    budget = client.budget
    if budget.most is not None:
        at = f" at delta = {budget.delta:.12g}" * bool(budget.delta)
        used = show_loss(client.used_after(0))
        return f"This device has used epsilon = {used} of a budget of {budget.most:.12g}{at}."
    spent = client.spent()
    rare = (
        f", with probability at least 1 - {spent.delta:.12g} if it was fixed beforehand which "
        "campaigns it answers"
    )
    text = f"This device has spent epsilon = {show_loss(spent.total_tail)} in all campaigns"
    return f"{text}{rare * bool(spent.delta)}."


def _read_answers(path: Path) -> dict[str, Any]:
    """Read answers from a file; messages name rows and tasks, but never an answer."""
    from quietcrowd.formats import read_table

    try:
        table = read_table(path, _COLUMNS)
    except FormatError:
        table = None
    if table is None or not set(_COLUMNS) <= set(table.column_names):
        raise FormatError("commands.answers-not-a-table", path=path)
    answers: dict[str, Any] = {}
    columns = (table[name].to_pylist() for name in _COLUMNS)
    for row, (task, label) in enumerate(zip(*columns, strict=True)):
        if task is None:
            raise AnswerError("commands.task-missing", path=path, row=row)
        if str(task) in answers:
            raise AnswerError("commands.task-twice", path=path, row=row, task=task)
        answers[str(task)] = label
    return answers


def _withdraw(client: Client, *, yes: bool) -> None:
    if not yes:
        note(_BECAUSE)
    if not (yes or agreed("Withdraw, and have all that you sent deleted permanently?")):
        note("Nothing was changed.")
        raise typer.Exit(1)
    client.withdraw()
    note(
        "You have withdrawn. According to the server, it has deleted your reports. This device "
        "deleted its files, except those for sending the same reports again if the server repeats "
        "a question. Anything revealed before stays revealed."
    )
