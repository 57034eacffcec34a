"""Campaign of the demo with a simulated crowd, described while it runs, in 80 columns.

The devices are real clients, each with a separate directory.
"""

import sys
import textwrap
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event
from typing import Any

import pyarrow as pa
from attrs import evolve
from rich.console import RenderableType

from quietcrowd.campaign import Client
from quietcrowd.campaign.server.app import serve_in_background
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.commands.demo.requester import DemoCampaign, requester_of
from quietcrowd.commands.printing import console, plain_table
from quietcrowd.datasets import Dataset
from quietcrowd.datasets.crowds import make_crowd
from quietcrowd.domains import Categorical, Label, check_finite
from quietcrowd.evaluation.metrics import constant_error_rate
from quietcrowd.formats import read_reports
from quietcrowd.inference import MajorityVote, NoiseAware, ignores_noise
from quietcrowd.mechanisms import RandomizedResponse, Reports
from quietcrowd.privacy.guarantee import show_loss

TASKS, WORKERS, ANSWERS_PER_TASK = 40, 80, 40

_AT_ONCE = 8
"""Devices that send at the same time."""

_WIDTH = 80
_SHOWN = 8
_DEBOUNCE = 0.5

QUESTIONS = (
    ("sleep", "Did you sleep well last night?"),
    ("breakfast", "Did you have breakfast today?"),
    ("walk", "Have you been outdoors today?"),
)
_YOUR_TURN: dict[str, Any] = {
    "title": "Your day",
    "goal": "shares",
    "domain": Categorical(["yes", "no"]).to_dict(),
    "answers_per_participant": len(QUESTIONS),
    "questions": QUESTIONS,
}


def play(*, epsilon: float, seed: int, stay: bool) -> None:
    """Run a campaign with a simulated crowd and print each step; delete all files at the end.

    `seed` is that of the crowd; the noise is real. With `stay`, the server runs until interrupted.
    """
    crowd = draw_crowd(seed)
    with TemporaryDirectory(prefix="quietcrowd-") as name:
        folder = Path(name)
        with _campaign(folder, crowd, epsilon) as campaign:
            _print_campaign(campaign, crowd)
            _print_reports(campaign, crowd, folder)
            results = campaign.results(len(crowd.answers))
            _print_truths(results, crowd)
            campaign.export(folder / "reports.jsonl")
            _print_methods(results, read_reports(folder / "reports.jsonl"), crowd)
            _print_spending(results)
            if stay:
                _stay(campaign)
    more = "" if stay else " To see the dashboard, and to answer, run: quietcrowd demo --stay"
    _print(f"The server has stopped, and its database is deleted.{more}")


@contextmanager
def _campaign(folder: Path, crowd: Dataset, epsilon: float) -> Iterator[DemoCampaign]:
    domain = check_finite(crowd.answers.domain, "the demo")
    mechanism = RandomizedResponse(domain=domain, epsilon=epsilon)
    settings = Settings(database=f"sqlite:///{folder}/demo.db", port=0, debounce=_DEBOUNCE)
    with serve_in_background(settings) as server:
        key = issue_key(server.app.state.service.database, "demo")
        tasks = crowd.answers.tasks.to_pylist()
        questions = [(task, f"Is {task} true?") for task in tasks]
        described = mechanism.to_dict()
        with requester_of(
            server.url, key, title="Which are true?", mechanism=described, questions=questions
        ) as campaign:
            yield campaign


def _print_campaign(campaign: DemoCampaign, crowd: Dataset) -> None:
    answers = crowd.answers
    _print(
        f"1. A server runs at {campaign.server}, on a new database. A requester asks "
        f"{len(answers.workers):,} workers which of {len(answers.tasks):,} statements are true. "
        "Its dashboard, by a link that works once:"
    )
    _print_lines(campaign.dashboard())


def _print_reports(campaign: DemoCampaign, crowd: Dataset, folder: Path) -> None:
    own = own_answers(crowd)
    links = campaign.links(len(own))
    start = time.monotonic()
    devices = send_all(links, own, folder)
    seconds = time.monotonic() - start
    _print(
        f"2. The workers' devices join, randomize and send {len(crowd.answers):,} reports over "
        f"HTTP in {seconds:.1f} s. Workers are right in 55 to 95 % of cases; their accuracies are "
        "unknown. All workers agree to these terms, which each device has computed independently:"
    )
    for sentence in devices[0].consent:
        _print_lines(textwrap.fill(sentence, _WIDTH, initial_indent="- ", subsequent_indent="  "))
    _print("3. One worker's answers, and the reports that the device sent:")
    _show_one_device(devices[0], own[0])


def _show_one_device(device: Client, own: Mapping[str, Label]) -> None:
    sent = {report.task: report.value for report in device.sent_reports()}
    shown = sorted(own)[:_SHOWN]
    table = plain_table("statement", *(task.rpartition(" ")[2] for task in shown), numeric_from=1)
    table.add_row("answer", *(str(own[task]) for task in shown))
    table.add_row("report", *(str(sent[task]) for task in shown))
    _print_lines(table)


def _print_truths(results: Mapping[str, Any], crowd: Dataset) -> None:
    real = true_labels(crowd)
    _print("4. The server infers the truths from the reports. These have the lowest confidence:")
    table = plain_table("task", "truth", "inferred", "confidence", "reports", numeric_from=3)
    for truth in sorted(results["truths"], key=lambda one: one["confidence"])[:_SHOWN]:
        found = truth["truth"] + ("" if truth["truth"] == real[truth["task"]] else " (wrong)")
        sure = f"{100 * truth['confidence']:.1f} %"
        table.add_row(truth["task"], str(real[truth["task"]]), found, sure, f"{truth['reports']:,}")
    _print_lines(table)
    for warning in results["warnings"]:
        _print(f"The dashboard warns: {warning['message']}")
    _print("Error rates of all truths:")


def _print_methods(results: Mapping[str, Any], reports: Reports, crowd: Dataset) -> None:
    real = true_labels(crowd)
    guess = 100 * constant_error_rate(crowd.answers, crowd.truths)

    def wrong(found: Mapping[str, Label]) -> str:
        return f"{100 * sum(found[task] != real[task] for task in real) / len(real):.1f} %"

    served = {truth["task"]: truth["truth"] for truth in results["truths"]}
    with ignores_noise():
        voted, majority, aware = (
            dict(zip(*(truths[name].to_pylist() for name in ("task", "truth")), strict=True))
            for truths in (
                MajorityVote().fit(reports).truths_as("pyarrow"),
                MajorityVote().fit(crowd.answers).truths_as("pyarrow"),
                NoiseAware().fit(crowd.answers).truths_as("pyarrow"),
            )
        )
    table = plain_table("", "from the reports", "from the answers", numeric_from=1)
    table.add_row("noise-aware (the server)", wrong(served), wrong(aware))
    table.add_row("majority vote", wrong(voted), wrong(majority))
    table.add_row("constant guess", f"{guess:.1f} %", f"{guess:.1f} %")
    _print_lines(table)


def _print_spending(results: Mapping[str, Any]) -> None:
    workers = results["workers"]
    _print("5. The privacy loss of each worker, by pseudonym:")
    table = plain_table(
        "worker", "reports", "epsilon of one answer", "epsilon of all", numeric_from=1
    )
    for worker in workers[:_SHOWN]:
        losses = (show_loss(worker[name]) for name in ("answer_epsilon", "total_epsilon"))
        table.add_row(worker["worker"], f"{worker['reports']:,}", *losses)
    _print_lines(table)
    totals = [worker["total_epsilon"] for worker in workers]
    _print(
        f"and {len(workers) - _SHOWN:,} more. Over all workers the total is from "
        f"{show_loss(min(totals))} to {show_loss(max(totals))}. The noise comes from the operating "
        "system, so another run differs."
    )


def _stay(campaign: DemoCampaign) -> None:
    """Close the campaign, open one for the user, and serve both until interrupted."""
    campaign.close()
    with requester_of(campaign.server, campaign.key, **_YOUR_TURN) as fresh:
        _print(
            "The server runs until Ctrl-C. The dashboard of this campaign, which is closed now, "
            "is below. Each link to it works once, within ten minutes; Enter prints another:"
        )
        _print_lines(campaign.dashboard())
        _print(f"{len(QUESTIONS)} questions about yourself, to answer in a browser:")
        _print_lines(fresh.guest)
        _print("To see your reports arrive, or to ask your own questions, use this key:")
        _print_lines(f"{campaign.server}/dashboard/\n{campaign.key}")
        with suppress(KeyboardInterrupt):
            for _ in sys.stdin:
                _print_lines(campaign.dashboard())
            Event().wait()


def _print(text: str) -> None:
    _print_lines(textwrap.fill(text, _WIDTH, break_long_words=False, break_on_hyphens=False))


def _print_lines(what: RenderableType) -> None:
    console(_WIDTH).print(what, "", sep="\n", soft_wrap=True)


def draw_crowd(seed: int) -> Dataset:
    """Simulate workers of different accuracy and their answers to statements."""
    crowd = make_crowd(
        tasks=TASKS, workers=WORKERS, answers_per_task=ANSWERS_PER_TASK, random_state=seed
    )
    names = pa.array([f"statement {place + 1:02d}" for place in range(TASKS)])
    truths = crowd.truths.set_column(0, "task", names)
    return evolve(crowd, answers=evolve(crowd.answers, tasks=names), truths=truths)


def own_answers(crowd: Dataset) -> list[dict[str, Label]]:
    """Return each worker's answers by task."""
    answers = crowd.answers
    own: list[dict[str, Label]] = [{} for _ in range(len(answers.workers))]
    labels = answers.domain.decode(answers.values).to_pylist()
    for task, worker, label in zip(
        answers.tasks.take(pa.array(answers.task_codes)).to_pylist(),
        answers.worker_codes.tolist(),
        labels,
        strict=True,
    ):
        own[worker][task] = label
    return own


def true_labels(crowd: Dataset) -> dict[str, Label]:
    """Return the true labels by task."""
    return dict(zip(*(column.to_pylist() for column in crowd.truths.columns), strict=True))


def send_all(
    links: Sequence[str], answers: Sequence[Mapping[str, Label]], folder: Path
) -> list[Client]:
    """Let every worker join with a link, randomize and send; return the devices."""

    def send(place: int) -> Client:
        device = Client(links[place], folder=folder / f"device-{place}")
        device.answer(answers[place])
        return device

    with ThreadPoolExecutor(_AT_ONCE) as pool:
        return list(pool.map(send, range(len(links))))
