"""Texts of ``quietcrowd worker answer``: the terms, the receipt and the sent reports."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import typer
from rich.text import Text

from quietcrowd.accounting.consent import show_protection
from quietcrowd.campaign.terms.menu import CHOICE
from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands.printing import console, counted, note, plain_table
from quietcrowd.commands.worker.questions import (
    SHOWN,
    WIDTH,
    in_reading_order,
    show_quoted,
    show_text,
    spell,
)
from quietcrowd.privacy.guarantee import PrivacyGuarantee, finite_loss, show_loss

if TYPE_CHECKING:
    from quietcrowd.campaign.device.checked_terms import Terms
    from quietcrowd.campaign.device.client import Client
    from quietcrowd.campaign.device.draw import Report
    from quietcrowd.campaign.device.receipt import HeldReports, WorkerReceipt
    from quietcrowd.campaign.terms.promises import Promises

_FEW = 3


def print_terms(client: Client, most: int) -> None:
    """Print the task description, the terms in brief and the budget."""
    terms = client.terms
    if terms.choice is None:
        _print_texts(terms)
    questions = counted(terms.tasks, "question")
    each = " in each of your rounds" * (terms.rounds is not None)
    if terms.allotment is None:
        show_text(f"{questions}; you give up to {counted(terms.answers, 'answer')}{each}.")
    else:
        show_text(f"{questions}; you are asked {terms.answers:,} of them{each}.")
    if terms.closes_on is not None:
        show_text(
            f"You can answer until the end of {terms.closes_on} (UTC). The requester may change "
            "that day."
        )
    typer.echo("")
    for line in (client.noise_text[0], *terms.summary):
        show_text(line)
    typer.echo("")
    _print_budget(client, most)


def print_menu(client: Client) -> None:
    """Print the task description, and the choices of protection."""
    menu = client.menu
    _print_texts(menu[0])
    for number, terms in enumerate(menu, 1):
        losses, rounds = terms.losses, terms.rounds
        parts = {"all that you send": terms.guarantee.total_epsilon}
        if losses is not None and rounds is not None:
            window = f"any {counted(rounds.window, 'round')} in a row"
            parts = {window: losses.window, "all your rounds": losses.campaign}
        sure = "; from ".join(
            f"{part}, {show_protection(loss)} (epsilon = {show_loss(loss)})"
            for part, loss in parts.items()
        )
        show_text(
            f"{number}. Someone 50 % sure of something about you becomes, from {sure}. The "
            f"requester assumes that {terms.share:.0%} choose this.",
            rest="   ",
        )
    said = menu[0].expected
    if said is not None:
        show_text(
            f"The requester expects an error of {said['error']:.2g} with these shares, and of "
            f"{said['guess']:.2g} without any reports."
        )
    show_text(CHOICE)
    typer.echo("")


def print_rounds(client: Client) -> None:
    """Print the next round of a worker, and the losses of rounds; nothing without rounds."""
    rounds, losses = client.terms.rounds, client.terms.losses
    if rounds is None or losses is None:
        return
    number = client.next_round
    if number is None:
        note("You have no further round.")
    else:
        begin = datetime.fromtimestamp(rounds.begin(number), UTC)
        note(f"Your next round begins at {begin:%Y-%m-%d %H:%M} UTC.")
    note(
        f"Privacy loss by this campaign (epsilon): {show_loss(client.spent_in_window())} in any "
        f"{counted(rounds.window, 'round')} so far, {show_loss(client.spent_in_window(rounds.cap))}"
        f" in all rounds so far, at most {show_loss(losses.campaign)} in the end."
    )


def _print_texts(terms: Terms) -> None:
    typer.echo("The requester wrote the text after |:")
    show_quoted(one_line(terms.title))
    if terms.description:
        show_quoted(terms.description)
    _print_requester(terms.promises)
    typer.echo("")


def print_details(client: Client) -> None:
    """Print the privacy losses, all terms and the noise."""
    show_text(_cost(client.guarantee))
    typer.echo("")
    for sentence in client.consent:
        show_text(sentence)
    typer.echo("")
    _print_noise(client)


def _print_requester(promises: Promises | None) -> None:
    """Print requester, contact and purpose; `Client.consent` contains the other promises."""
    if promises is None:
        show_text(
            "This campaign is of an older version. It does not name the requester, the purpose, or "
            "how long reports are kept. The requester sees your reports as soon as you send them."
        )
        return
    show_quoted(f"Requester: {one_line(promises.requester)}")
    show_quoted(f"Contact: {one_line(promises.contact)}")
    show_quoted(f"Purpose: {one_line(promises.purpose)}")


def _cost(guarantee: PrivacyGuarantee) -> str:
    losses, linked, chance = guarantee.tail or guarantee, "", ""
    if guarantee.linked > 1:
        shown = show_loss(losses.linked_epsilon)
        linked = f" {shown} about a fact that {guarantee.linked:,} of them share,"
    if guarantee.tail:
        chance = f", each with probability at least 1 - {show_loss(guarantee.tail.probability, 3)}"
    return (
        "Your privacy loss as a number (epsilon; 0 is nothing): at most "
        f"{show_loss(losses.epsilon)} about one answer if the others are known,{linked} and "
        f"{show_loss(losses.total_epsilon)} about all together{chance}. This means:"
    )


def _print_noise(client: Client) -> None:
    from quietcrowd.campaign.device.noise_text import noise_table

    show_text("This device randomizes your answers before they are sent:")
    rows = noise_table(client.terms.mechanism)
    if rows:
        table = plain_table("answer", *(f"sent as {name}" for name in rows[0][1:]), numeric_from=1)
        for name, *shares in rows[1:]:
            table.add_row(Text(name), *shares)
        console(WIDTH).print(table)
    for sentence in client.noise_text[1:]:
        show_text(sentence)
    show_text(
        "You decide now, before the noise is drawn. Send or withdraw for reasons that have nothing "
        "to do with your answers or the drawn noise. Otherwise sending or withdrawing reveals more "
        "about them than stated here."
    )


def _print_budget(client: Client, most: int) -> None:
    budget = client.budget.most
    if budget is None:
        _print_spent(client)
        return
    delta = client.budget.delta
    at = f", at delta = {delta:.12g}" * bool(delta)
    show_text(
        f"This device has used epsilon = {show_loss(client.used_after(0))} of a budget of "
        f"{budget:.12g}{at}; after this campaign it will be at most "
        f"{show_loss(client.used_after(most))}."
    )
    if delta:
        show_text("Such pairs add up. Delta is not the probability of a larger loss.")
    if most < client.terms.answers:
        what = counted(most, "answer")
        show_text(
            f"The budget allows no more than {what}. Skip the last questions, not those that you "
            "would rather not answer."
        )


def _print_spent(client: Client) -> None:
    spent, after = client.spent(), client.spent_after().total_tail
    rare = (
        f" Each with probability at least 1 - {spent.delta:.12g}, if it was fixed beforehand which "
        "campaigns it answers."
    )
    show_text(
        f"This device has spent epsilon = {show_loss(spent.total_tail)}; after this campaign "
        f"it will be at most {show_loss(after)}.{rare * bool(spent.delta)}"
    )


def print_questions(client: Client) -> Mapping[str, str]:
    """Print notes on repeated questions; return the notes of each task by its name."""
    day = client.terms.as_of
    about = [] if day is None else [f"This is about the day {day}."]
    notes = {task.name: [*about] for task in client.tasks if about}
    shared = _one_report(client)
    for names in client.copies:
        rule = (
            "They share one report, about your first answer in this order"
            if shared
            else "Each gets a report, and all together reveal more"
        )
        for name in names:
            notes.setdefault(name, []).append(
                f"The same question as {_listed([one for one in names if one != name])}. {rule}"
                + (f": {_listed(names)}." if shared else ".")
            )
    reused = client.reused
    for name in reused:
        notes.setdefault(name, []).append(
            "This device sends the same report as before, no matter how you answer. Answer or skip "
            "as if you had not seen it."
        )
    for name in client.repeated:
        notes.setdefault(name, []).append(
            "This device has reported on this question, or on one with the same words, before."
        )
    _print_counts(client, reused)
    return {name: " ".join(texts) for name, texts in notes.items()}


def _one_report(client: Client) -> bool:
    from quietcrowd.campaign.terms.near_copies import sent_again

    return sent_again(client.terms.mechanism)


def _print_counts(client: Client, reused: Sequence[str]) -> None:
    copies, alike = sum(map(len, client.copies)), client.alike
    if copies:
        note(f"{copies:,} of the {len(client.tasks):,} questions are copies of each other.")
    if alike:
        largest = max(alike, key=len)
        note(
            f"{len(largest):,} questions have the same words and different data: "
            f"{_listed(largest)}. Anything they have in common shows in all their reports."
        )
    if reused:
        note(
            f"{counted(len(reused), 'question')} had a report from this device before. It sends "
            "the same again, which reveals nothing new about your answers. The server may notice "
            "that you are the same person as in an earlier campaign."
        )


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(map(one_line, names[:_FEW]))
    return f"{shown} and {len(names) - _FEW:,} more" if len(names) > _FEW else shown


def receipt_as_json(client: Client, receipt: WorkerReceipt) -> str:
    """Return the receipt and the sent reports as JSON."""
    spent = client.spent()
    return json.dumps(
        {
            "campaign": client.terms.campaign,
            "config_hash": client.terms.config_hash,
            "consent": client.consent,
            "accepted": receipt.accepted,
            "duplicates": receipt.duplicates,
            "completion_code": receipt.completion_code,
            "spent": finite_loss(spent.total_epsilon),
            "delta": spent.delta,
            "reports": _as_json(client.sent_reports()),
        }
    )


def show_held(client: Client, *, as_json: bool) -> None:
    """Print what the server stores of the worker, and whether it is what was sent."""
    held = client.stored()
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "held": held.count,
                    "reports": _as_json(held.reports),
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
    _print_missing(held, client)


def _as_json(reports: tuple[Report, ...]) -> list[dict[str, Any]]:
    return [
        {"task": report.task, "value": report.value}
        | ({} if report.participation is None else {"participation": report.participation})
        for report in reports
    ]


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


def _print_sketch(numbers: tuple[float, ...]) -> None:
    first = ", ".join(spell(number) for number in numbers[:8])
    more = f", … and {len(numbers) - 8:,} more" * (len(numbers) > 8)
    show_text(f"a sketch of {len(numbers):,} numbers: {first}{more}", first="  ")


def _print_missing(held: HeldReports, client: Client) -> None:
    if not held.as_sent:
        note(
            "The server's reports differ from those that this device sent: "
            f"{counted(held.missing, 'report')} missing or changed, {held.strange:,} not sent from "
            "here."
        )
    elif client.committed and not client.sent:
        what = counted(held.count, "report") if held.count else "no report"
        note(
            f"The server has {what} from you. Yours are on their way. The same command without "
            "--status sends them. Then --status shows them."
        )
    elif held.empty:
        note("The server has no report from you.")
    else:
        note(
            "The server shows the reports that this device sent, and no others. No one can know "
            "which of them differ from your answers. That protects you. Do not withdraw, or answer "
            "or skip a question elsewhere, because of these reports. That would reveal more."
        )
