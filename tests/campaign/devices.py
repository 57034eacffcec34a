"""What lies between a worker's device and a server, as the tests of the device need it."""

import json
import secrets
from collections.abc import Callable

import httpx
from attrs import Factory, define
from tests.campaign.mechanisms import MECHANISMS, answers_of
from tests.campaign.promises import PROMISES

from quietcrowd.campaign.device.checked_terms import Terms, read_tasks
from quietcrowd.campaign.device.draw import CommittedReports, coded_reports
from quietcrowd.campaign.terms.canonical import canonical_hash
from quietcrowd.campaign.terms.channels import report_rule
from quietcrowd.campaign.terms.configuration import build_configuration
from quietcrowd.campaign.terms.promises import Promises

REQUESTER = 32 * "a"
"""The public id of whoever asks."""

NOWHERE = "https://crowd.example/j/" + 32 * "5"
"""The link of a campaign of `Fake`."""


@define
class Between(httpx.BaseTransport):
    """A wire to a real server: it keeps requests, and changes or loses what comes back."""

    change: Callable[[httpx.Request, httpx.Response], httpx.Response] | None = None
    requests: list[httpx.Request] = Factory(list)

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        with httpx.HTTPTransport(verify=False) as wire:
            response = wire.handle_request(request)
            content = response.read()
        answer = httpx.Response(response.status_code, headers=response.headers, content=content)
        return answer if self.change is None else self.change(request, answer)

    def bodies(self, path: str = "/me/reports") -> list[bytes]:
        """Return what was posted."""
        return [
            request.content
            for request in self.requests
            if request.method == "POST" and request.url.path.endswith(path)
        ]


def altered(path: str, change: Callable[[dict], None]):
    """Return what alters the JSON of answers whose path ends so; hashes are made right again."""

    def alter(request: httpx.Request, response: httpx.Response) -> httpx.Response:
        if not request.url.path.endswith(path) or not response.is_success:
            return response
        document = response.json()
        change(document)
        if "config" in document and "config_hash" in document:
            document["config_hash"] = canonical_hash(document["config"]).hex()
        return httpx.Response(response.status_code, json=document)

    return alter


@define
class Fake(httpx.BaseTransport):
    """A server of one campaign, without a network: it takes everything in."""

    public: dict
    tasks: list[dict]
    images: dict[str, bytes] = Factory(dict)
    allotted: object = None
    bound: dict = Factory(dict)
    held: list[dict] = Factory(list)
    requests: list[httpx.Request] = Factory(list)

    @classmethod
    def of(
        cls,
        mechanism,
        tasks: int = 3,
        answers: int | None = None,
        title: str = "Birds",
        description: str = "",
        data: list[dict] | None = None,
        campaign: str = 32 * "5",
        linked: int | None = None,
        promises: dict | None = PROMISES,
        allotment: str | None = None,
        requester_id: str | None = REQUESTER,
        as_of: str | None = None,
        drafts: bool | None = None,
        rounds=None,
    ) -> "Fake":
        """Return the server of a campaign; `data` is what its tasks show, or nothing.

        Without promises it is a campaign of an older version. With an allotment all workers are
        asked the first tasks, until `allotted` is changed.
        """
        shown = [{}] * tasks if data is None else data
        listed = sorted(
            (secrets.token_hex(16), f"t{place}", one) for place, one in enumerate(shown)
        )
        built = build_configuration(
            campaign=campaign,
            title=title,
            description=description,
            mechanism=mechanism,
            answers=answers,
            linked=linked,
            allotment=allotment,
            tasks=listed,
            promises=None if promises is None else Promises(**{**PROMISES, **promises}),
            requester_id=None if promises is None else requester_id,
            as_of=as_of,
            drafts=drafts,
            rounds=rounds,
        )
        public = {"state": "open", "join_mode": "open", "config_hash": built.hash.hex()}
        names = ("task_id", "task", "data")
        return cls(
            public={**public, "config": json.loads(built.text)},
            tasks=[dict(zip(names, task, strict=True)) for task in listed],
            allotted=None if allotment is None else [id_ for id_, *_ in listed[:answers]],
        )

    @property
    def posted(self) -> list[bytes]:
        """What was sent as reports."""
        return [
            one.content
            for one in self.requests
            if one.method == "POST" and one.url.path.endswith("/me/reports")
        ]

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.read()
        self.requests.append(request)
        if "/participants/" in request.url.path:
            self.bound = {**json.loads(request.content), **self.bound}
            return httpx.Response(200, json={**self.public, **self.bound})
        return self._answer(request)

    def _answer(self, request: httpx.Request) -> httpx.Response:
        if request.url.path.endswith("/me/tasks"):
            shown = {"config_hash": self.public["config_hash"], "tasks": self.tasks}
            more = {} if self.allotted is None else {"allotted": self.allotted}
            return httpx.Response(200, json={**shown, **more})
        if "/me/images/" in request.url.path:
            content = self.images.get(request.url.path.rpartition("/")[2])
            return httpx.Response(404 if content is None else 200, content=content or b"")
        if request.url.path.endswith("/me/reports") and request.method == "GET":
            return httpx.Response(200, json={"reports": self.held, "sketch": None})
        if request.url.path.endswith("/me/reports"):
            body = json.loads(request.content)
            count = len(body["reports"]) if "reports" in body else 1
            return httpx.Response(200, json={"accepted": count, "duplicates": 0, "rejected": []})
        if request.method == "DELETE":
            return httpx.Response(204)
        return httpx.Response(200, json=self.public)


def upload_of(reports, terms, tasks):
    """Return the upload of one worker's reports."""
    if reports.sketches is not None:
        return CommittedReports.of_sketch(reports, terms)
    coded = coded_reports(reports, report_rule(terms.mechanism, terms.tasks))
    return CommittedReports.of({task.id: coded[task.name] for task in tasks}, terms)


def made(name, tasks=5):
    """Return reports of one worker, their upload, terms and tasks."""
    mechanism = MECHANISMS[name]
    fake = Fake.of(mechanism, tasks=tasks)
    terms = Terms.read(fake.public, 32 * "5")
    listed = read_tasks({"config_hash": terms.config_hash, "tasks": fake.tasks}, terms)
    names = [task.name for task in listed]
    reports = mechanism.randomize(answers_of(mechanism, names, 1, seed=1))
    return reports, upload_of(reports, terms, listed), terms, listed
