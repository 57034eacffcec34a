"""What ``quietcrowd answer`` shows of reports: those that were sent, and never before."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import typer

from quietcrowd.campaign.terms.plain_text import one_line
from quietcrowd.commands.notes import counted, note
from quietcrowd.commands.questions import SHOWN, in_reading_order, show_text, spell
from quietcrowd.privacy.guarantee import finite_loss

if TYPE_CHECKING:
    from quietcrowd.campaign.device.client import Client
    from quietcrowd.campaign.device.draw import Report
    from quietcrowd.campaign.device.receipt import HeldReports, WorkerReceipt

__all__ = ["receipt_as_json", "show_held"]


def receipt_as_json(client: Client, receipt: WorkerReceipt) -> str:
    """Return what was sent and what became of it, as JSON."""
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
            "reports": _as_json(client.sent_reports()),
        }
    )


def show_held(client: Client, *, as_json: bool) -> None:
    """Show what the server holds, and whether it is what was sent.

    Parameters
    ----------
    client : Client
        The worker's device.
    as_json : bool
        Whether to print one object of JSON.
    """
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
    _tell_held(held, client)


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


def _tell_held(held: HeldReports, client: Client) -> None:
    if not held.as_sent:
        note(
            f"The server does not hold what this device sent: {counted(held.missing, 'report')} "
            f"missing or changed, {held.strange:,} not sent from here."
        )
    elif client.committed and not client.sent:
        what = counted(held.count, "report") if held.count else "no report"
        note(
            f"The server holds {what} of you. Yours are on their way; the same command without "
            "--show sends them, and --show shows them then."
        )
    elif held.empty:
        note("The server holds no report of you.")
    else:
        note(
            "The server shows the reports that this device sent, and no others. Nobody can tell "
            "which of them differ from your answers: that is the protection. Do not withdraw, or "
            "answer or skip a question elsewhere, because of what is here: that would tell more."
        )
