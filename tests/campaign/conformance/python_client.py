"""The Python client, as the conformance suite drives it."""

import json
import struct
from contextlib import contextmanager
from pathlib import Path
from tempfile import mkdtemp
from unittest.mock import patch

import httpx
import numpy as np
from attrs import Factory, define

from quietcrowd.campaign.device import folder
from quietcrowd.campaign.device.checked_terms import Terms, read_allotment, read_tasks
from quietcrowd.campaign.device.client import Client
from quietcrowd.campaign.device.draw import Draw
from quietcrowd.campaign.device.noise_text import noise_sentences, noise_table
from quietcrowd.campaign.device.questions import TaskQuestions, channel_hash
from quietcrowd.exceptions import QuietcrowdError
from quietcrowd.mechanisms.randomness import words_in_turn
from quietcrowd.mechanisms.worker_table import worker_table

REFUSED = "refused"


@define
class Wire(httpx.BaseTransport):
    """It hands requests to a `Server`."""

    server: object

    def handle_request(self, request):
        content = request.read().decode()
        credential = request.headers.get("authorization", "").removeprefix("Bearer ")
        given = self.server.answer(request.method, request.url.path, credential, content)
        if given is None:
            raise httpx.ReadTimeout("lost", request=request)
        return httpx.Response(given[0], text=given[1])


def ids_in_turn():
    """Return what gives ids of reports: whole numbers in turn, 16 bytes each."""
    numbers = iter(range(1, 10**6))
    return lambda: struct.pack(">QQ", 0, next(numbers))


@define
class WordsForMemo:
    """Noise that comes of given words, drawn once for each question; in the place of a memo."""

    terms: Terms
    questions: TaskQuestions
    source: object

    def report(self, answers):
        mechanism = self.questions.randomizer
        names = [task.name for task in self.questions.tasks]
        if channel_hash(self.terms.mechanism) is not None:
            names = sorted({self.questions.first_of(name) for name in names})
        table = worker_table(
            answers,
            domain=mechanism.domain,
            options=mechanism.options,
            tasks=sorted(names),
            worker="worker",
            campaign=self.terms.campaign,
        )
        return mechanism.reports_of_words(table, self.source)


@define
class PythonClient:
    """Devices are folders in one folder."""

    folder: Path
    name = "python"
    _budget: float | None = None
    _clients: dict = Factory(dict)

    def read(self, campaign, asked=None):
        """Return what a client says of a configuration; see `PageClient.read`."""
        document = {"config": campaign.config, "config_hash": campaign.hash}
        try:
            terms = Terms.read(document, asked or campaign.id)
        except QuietcrowdError:
            return REFUSED
        guarantee = terms.guarantee
        return {
            "losses": _losses(guarantee),
            "summary": list(terms.summary),
            "consent": list(terms.consent),
            "law": list(noise_sentences(terms.mechanism, terms.tasks)),
            "table": [list(row) for row in noise_table(terms.mechanism)],
        }

    def questions(self, campaign, listed=None):
        """Return which tasks are one question, by hashes; or that they are refused."""
        try:
            terms, questions = _asked(campaign, listed)
        except QuietcrowdError:
            return REFUSED
        names = [task.name for task in questions.tasks]
        return {
            "names": names,
            "hashes": dict(questions.hashes),
            "first": {name: questions.first_of(name) for name in names},
            "channel": channel_hash(terms.mechanism),
        }

    def upload(self, campaign, answers, words):
        """Return the request that comes of answers and words, ids of reports in turn."""
        terms, questions = _asked(campaign)
        given = {name: value for name, value in answers.items() if value is not None}
        draw = Draw.of(given, worker="worker", terms=terms, questions=questions, known={})
        source = words_in_turn(np.array(words, np.uint32))
        with patch("quietcrowd.campaign.device.draw.new_id", ids_in_turn()):
            sent, _ = draw.commit(given, WordsForMemo(terms, questions, source))
        return sent.content.decode()

    @contextmanager
    def device(self, server, origin):
        """Give a new device, which speaks to a server at an origin."""
        yield PythonDevice(folder=Path(mkdtemp(dir=self.folder)), server=server, origin=origin)


@define
class PythonDevice:
    """What steps of a case do."""

    folder: Path
    server: object
    origin: str
    budget: float | None = None
    clients: dict = Factory(dict)
    moment: float = 0.0
    slot: int | None = None

    def client(self, campaign):
        if campaign not in self.clients:
            self.clients[campaign] = Client(
                f"{self.origin}/j/{campaign}",
                folder=self.folder,
                budget=self.budget,
                patience=5,
                transport=Wire(self.server),
                clock=lambda: self.moment,
            )
        return self.clients[campaign]

    def reload(self):
        """Begin anew, with what is kept."""
        self.clients = {}

    def move(self, origin):
        """Speak to the same server at another origin."""
        self.origin = origin
        self.reload()

    def at(self, seconds):
        """Set the clock."""
        self.moment = seconds

    def choose(self, campaign, choice):
        self.client(campaign).choose(choice)

    def commit(self, campaign, answers):
        """Draw and keep, as if the network was cut before anything is sent."""
        client = self.client(campaign)
        with client._folder.held():
            client._answering.commit(answers)

    def rounds_spent(self, campaign):
        """Return the losses in any window, and in all rounds so far, and at most."""
        client = self.client(campaign)
        spent = (client.spent_in_window(number) for number in (None, client.terms.rounds.cap))
        return [*spent, client.terms.losses.campaign]

    def next_round(self, campaign):
        return self.client(campaign).next_round

    def set_budget(self, budget):
        self.budget = budget
        self.reload()

    def draw_slot(self, slot):
        """Let the next device have a slot."""
        self.slot = slot

    def join(self, campaign):
        drawn = folder.draw_slot if self.slot is None else lambda _: self.slot
        with patch("quietcrowd.campaign.device.folder.draw_slot", drawn):
            self.client(campaign).join()
        _ = self.client(campaign).tasks

    def answer(self, campaign, answers):
        """Draw, keep and send."""
        receipt = self.client(campaign).answer(answers)
        return receipt.accepted + receipt.duplicates

    def send(self, campaign):
        """Send once more what is on its way."""
        receipt = self.client(campaign).resume()
        return receipt.accepted + receipt.duplicates

    def withdraw(self, campaign):
        self.client(campaign).withdraw()

    def again(self, campaign):
        """Return which tasks get the report that was sent before, and which come again."""
        client = self.client(campaign)
        return [sorted(client.reused), sorted(client.repeated)]

    def spent(self, campaign):
        """Return what a budget counts of all campaigns."""
        ledger = self.client(campaign)._ledger.read()
        return sum(ledger.used(worker, 0.0) for worker in ledger.workers)

    def receipt(self, campaign):
        """Return what was sent, as people read it."""
        return [
            [one.task, one.value, one.participation] for one in self.client(campaign).sent_reports()
        ]

    def take(self, step, *given):
        """Return what a step gives, or that it is refused."""
        try:
            return getattr(self, step)(*given)
        except QuietcrowdError:
            return REFUSED


def _losses(stated):
    """Return the figures of a guarantee."""
    members = ("epsilon", "linked_epsilon", "worker_epsilon", "delta")
    return {one: getattr(stated, one.replace("worker", "total")) for one in members}


def _asked(campaign, listed=None):
    """Return the terms of a campaign, and its questions."""
    document = {"config": campaign.config, "config_hash": campaign.hash}
    terms = Terms.read(document, campaign.id)
    document = json.loads(campaign.listed if listed is None else listed)
    tasks = read_allotment(document, terms, read_tasks(document, terms))
    return terms, TaskQuestions(tasks=tasks, mechanism=terms.mechanism, as_of=terms.as_of)
