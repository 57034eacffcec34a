"""Simulated devices in a campaign of rounds, and what its results must be by the library alone."""

import json
from collections import Counter, defaultdict
from contextlib import closing
from types import SimpleNamespace

import httpx
import numpy as np
import pyarrow as pa
import pytest
from attrs import Factory, define
from tests.campaign.clocks import DAY, FIRST
from tests.campaign.conformance.page_client import PageDevice
from tests.campaign.conformance.server import LOST
from tests.campaign.conformance.server import ORIGIN as PAGE
from tests.campaign.people import PLAIN, Running, new_desk
from tests.campaign.waiting import LONG

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.store.database import Database
from quietcrowd.exceptions import AnswerError, CampaignError, UnansweredError
from quietcrowd.mechanisms import Mechanism

LABELS = qc.Categorical(["clear", "hazy", "foul"])
MENU = [{"total_epsilon": 3.0, "share": 0.5}, {"total_epsilon": 9.0, "share": 0.5}]
ORIGIN = "http://127.0.0.1:1"


@define
class Route(httpx.BaseTransport):
    """The network of a device: to the server, wherever it is now; it notes what was sent."""

    server: Running
    network: httpx.BaseTransport
    offline: bool = False
    credential: str = ""
    tried: dict = Factory(dict)
    accepted: dict = Factory(dict)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        body, is_upload = request.read(), request.method == "POST"
        upload = json.loads(body) if is_upload else {}
        authorization = request.headers.get("authorization", "")
        self.credential = authorization[len("Bearer ") :] or self.credential
        if is_upload:
            self.tried[upload["round"]] = upload["reports"]
        if self.offline and is_upload:
            raise httpx.ConnectError("offline", request=request)
        timeout = dict.fromkeys(("connect", "read", "write", "pool"), LONG)
        answer = self.network.handle_request(
            httpx.Request(
                request.method,
                httpx.URL(self.server.url).copy_with(raw_path=request.url.raw_path),
                headers={**request.headers, "host": "localhost"},
                content=body,
                extensions={"timeout": timeout},
            )
        )
        answer.read()
        if is_upload and answer.status_code == 200:
            assert json.loads(answer.content)["rejected"] == []
            self.accepted[upload["round"]] = upload["reports"]
        return answer


@define
class PythonDevice:
    """A worker with a device of the library, opened anew for each thing that it does."""

    link: str
    folder: object
    clock: object
    route: Route
    choice: int
    left: bool = False
    slot: int | None = None

    def open(self) -> Client:
        given = {"clock": self.clock, "transport": self.route, "patience": 0}
        client = Client(self.link, folder=self.folder, **given)
        client.choose(self.choice)
        return client

    def join(self) -> int:
        """Join, or join again; return the slot."""
        self.open().join()
        return self.route.server.client(self.route.credential).get("/me").json()["slot"]

    def answer(self, answers) -> bool:
        """Commit, and send if the server can be reached; return whether it could."""
        try:
            self.open().answer(answers)
        except UnansweredError:
            return False
        return True

    def resume(self) -> bool:
        """Send what was committed; return whether it still counts."""
        try:
            self.open().resume()
        except (AnswerError, CampaignError):
            return False
        return True

    def leave(self) -> None:
        self.open().withdraw()
        self.left = True

    def losses(self, window: int) -> tuple[float, float]:
        """Return what the ledger says: of any window, and of all rounds."""
        client = self.open()
        return client.spent_in_window(window), client.spent().total_epsilon


@define
class Play:
    """A campaign of rounds with simulated devices, and what they sent."""

    running: Running
    clock: object
    folder: object
    rng: np.random.Generator
    rounds: dict
    tasks: int
    at_least: int = 5
    campaign: str = ""
    devices: list = Factory(list)
    shown: list = Factory(list)
    network: httpx.HTTPTransport = Factory(lambda: httpx.HTTPTransport(verify=PLAIN))
    desk: object = None

    def open(self) -> None:
        self.desk = new_desk(self.running)
        members = {"domain": LABELS.to_dict(), "menu": MENU, "at_least": self.at_least}
        members["join_mode"] = "open"
        self.campaign = self.desk.campaign(
            tasks=self.tasks, answers_per_participant=3, rounds=self.rounds, **members
        )

    def add(self, kind, choices) -> None:
        """Let people with these choices have the link."""
        for choice in choices:
            link, folder = f"{ORIGIN}/j/{self.campaign}", f"device-{len(self.devices)}"
            route = Route(self.running, self.network)
            given = (link, self.folder / folder, self.clock, route, choice)
            self.devices.append(kind(*given))

    def act(self, number: int, leaving: float) -> tuple[Counter, list]:
        """Let people do in a round what people do; return how many did what, and who is late."""
        done, late = Counter(), []
        for device in self.devices:
            if device.left:
                continue
            luck = self.rng.random()
            if number and luck < leaving:
                device.leave()
                done["left"] += 1
                continue
            if device.slot is None:
                device.slot = device.join()
            if number % self.rounds["step"] != device.slot:
                continue
            if luck > 0.9:
                done["silent"] += 1
                continue
            device.route.offline = luck > 0.7
            if device.answer(self.answers()):
                done["sent"] += 1
            else:
                late.append(device)
            device.route.offline = False
        for device in late[::2]:
            done["sent later"] += device.resume()
        done["never sent"] = len(late[1::2])
        return done, late[1::2]

    def answers(self) -> dict[str, str]:
        """Return answers to three questions, mostly the right ones."""
        asked = self.rng.permutation(self.tasks)[:3]
        return {f"t{task}": LABELS.labels[(task + (self.rng.random() < 0.2)) % 3] for task in asked}

    def end(self, number: int) -> None:
        """Let a round be over: it is shown if enough have reported since the last one."""
        self.clock.to(number + 1)
        before = self.shown[-1] if self.shown else -1
        people = {one for at in range(before + 1, number + 1) for one in self.senders(at)}
        if len(people) >= self.at_least:
            heard = [at for at in range(before + 1, number + 1) if self.senders(at)]
            self.shown.append(heard[-1])
        self.running.look()

    def senders(self, number: int) -> list[int]:
        return [
            place
            for place, device in enumerate(self.devices)
            if number in device.route.accepted and not device.left
        ]

    def infer(self) -> None:
        """Infer as the process does, which has one connection."""
        url = self.running.database.url.render_as_string(hide_password=False)
        with closing(Database.open(url, pool_size=1)) as database:
            Inferrer(database).infer(bytes.fromhex(self.campaign))

    def read(self, path: str, **params) -> dict:
        """Return a document that the requester reads."""
        return (
            self.running.client(self.desk.key)
            .get(f"/campaigns/{self.campaign}{path}", params=params)
            .raise_for_status()
            .json()
        )

    @property
    def mechanisms(self) -> list[Mechanism]:
        config = self.running.client().get(f"/public/campaigns/{self.campaign}").json()["config"]
        return [Mechanism.from_dict(one["mechanism"]) for one in config["menu"]["entries"]]

    def check_losses(self) -> int:
        """Compare the ledger of each device with what it sent, or tried to; return the rounds."""
        count = 0
        for device in self.devices:
            tried = device.route.tried
            count += len(tried)
            if not tried:
                continue
            mechanism = self.mechanisms[device.choice]
            lost = {
                number: mechanism.guarantee(answers=len(reports)).total_epsilon
                for number, reports in tried.items()
            }
            window = self.rounds["window"]
            ends = range(min(lost), max(lost) + 1)
            most = max(sum(lost.get(at, 0.0) for at in range(end, end + window)) for end in ends)
            found, exact = device.losses(window), isinstance(device, PythonDevice)
            expected = most, sum(lost.values())
            # a page takes the epsilon of a report that weights of integers round down
            assert found is None or found == pytest.approx(expected, rel=1e-9 if exact else 1e-3)
            assert most == max(lost.values())  # any window has one round
        return count

    def check_results(self) -> None:
        """Compare the results of all rounds whose reports are stored with a fit to these."""
        kept = self.shown[-self.rounds["keep"] :]
        method, estimate = qc.NoiseAware(over_time="follow", groups=False), None
        for number in kept:
            before = max((one for one in self.shown if one < number), default=-1)
            reports = self._reports(range(before + 1, number + 1))
            if estimate is None:
                estimate = method.fit(reports, round=number, n_jobs=1)
            else:
                estimate = method.extend(estimate, reports, round=number)
        smoothed = estimate.smoothed()
        for number in kept:
            found = {
                row["task"]: row for row in self.read("/results/truths", round=number)["items"]
            }
            expected = smoothed[smoothed["round"] == number].set_index("task")
            assert set(expected.index) == {
                task for task, row in found.items() if row["truth"] is not None
            }
            for task, row in expected.iterrows():
                assert found[task]["truth"] == row["truth"]
                assert found[task]["confidence"] == row["confidence"]
                assert found[task]["reports"] == row["answers"]

    def _reports(self, numbers) -> qc.Reports:
        """Return what was sent in rounds that are shown as one; the last of a worker counts."""
        mechanisms, rows = self.mechanisms, defaultdict(dict)
        worker = next(one for one in self.devices if not one.left and one.route.accepted)
        named = self.running.client(worker.route.credential).get("/me/tasks").json()["tasks"]
        names = {task["task_id"]: task["task"] for task in named}
        people = {}
        for device in self.devices:
            if device.left:
                continue
            mine = [one for number in numbers for one in device.route.accepted.get(number, ())]
            if not mine:
                continue
            client = self.running.client(device.route.credential)
            me = client.get("/me").raise_for_status().json()
            people[me["pseudonym"]] = device.choice
            for item in mine:
                rows[device.choice][me["pseudonym"], names[item["task_id"]]] = item["value"]
        tasks, parts = pa.array(sorted(names.values())), []
        for choice, found in rows.items():
            mechanism = mechanisms[choice]
            domain = mechanism.report_domain
            columns = {
                "task": [task for _, task in found],
                "worker": [worker for worker, _ in found],
                "label": domain.decode(np.array(list(found.values()), domain.dtype)),
            }
            workers = pa.array(sorted({worker for worker, _ in found}))
            read = mechanism.read_reports(pa.table(columns), tasks, workers, simulated=False)
            parts.append(read)
        return qc.join_reports(*parts, mechanisms=mechanisms)


@define
class PageWorker:
    """The same at a page of a browser, which runs the modules of the worker's page."""

    browser: object
    link: str
    folder: object
    clock: object
    route: Route
    choice: int
    left: bool = False
    slot: int | None = None
    device: PageDevice | None = None

    def answer_request(self, method: str, path: str, credential: str, body: str):
        """Return what the server answers to a page; LOST if it is offline."""
        headers = {"authorization": f"Bearer {credential}"} if credential else {}
        if body:
            headers["content-type"] = "application/json"
        request = httpx.Request(method, f"{ORIGIN}{path}", headers=headers, content=body)
        try:
            answer = self.route.handle_request(request)
        except httpx.TransportError:
            return LOST
        return answer.status_code, answer.text

    def take(self, step: str, *given):
        """Return what the device does, opened anew at the present time."""
        if self.device is None:
            self.device = PageDevice.of(self.browser.new_context().new_page())
            self.device.begin(SimpleNamespace(answer=self.answer_request), PAGE)
        self.device.take("at", self.clock())
        self.device.take("reload")
        campaign = self.link.rpartition("/")[2]
        if self.slot is None:
            self.device.take("choose", campaign, self.choice)
        return self.device.take(step, campaign, *given)

    def join(self) -> int:
        assert self.take("join") is None
        return self.route.server.client(self.route.credential).get("/me").json()["slot"]

    def answer(self, answers) -> bool:
        number = int((self.clock() - FIRST) // DAY)
        self.route.tried[number] = list(answers)
        if self.route.offline:
            assert self.take("commit", answers) is None
            return False
        assert self.take("answer", answers) == len(answers)
        return True

    def resume(self) -> bool:
        return self.take("send") == 3

    def leave(self) -> None:
        assert self.take("withdraw") is None
        self.left = True

    def losses(self, window: int) -> tuple[float, float] | None:  # noqa: ARG002
        """Return the same; a page forgets a campaign that its worker left."""
        return None if self.left else tuple(self.take("rounds_spent")[:2])
