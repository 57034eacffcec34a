"""The worker's device in a page: what it keeps and sends, in a browser, with a real server."""

import json
import os
import re
import signal
import subprocess
import time
from contextlib import contextmanager
from importlib.resources import files
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from attrs import Factory, define, field
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import YES_NO
from tests.campaign.ports import free_port
from tests.campaign.web.browser import MEDIA, chromium

import quietcrowd as qc
from quietcrowd.campaign.terms.canonical import canonical_json

pytestmark = pytest.mark.slow

WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))
HERE = Path(__file__).parent
QUICK = {"delay": 50, "pause": 5, "patience": 2_000}
YES = [["t0", "yes"], ["t1", "yes"], ["t2", "no"]]
CALL = """async ([name, ...values]) => {
  const module = await import("./device_page.js");
  return module[name](...values);
}"""
SEND_COUNTING = """async () => {
  const module = await import("./device_page.js");
  window.sent = module.sendCounting();
}"""


@pytest.fixture(scope="module")
def browser():
    with chromium() as started:
        yield started


def serve_files(context, desk):
    """Answer what is no request of the interface: the page's modules, and a page without any."""

    def answer(route):
        path = urlsplit(route.request.url).path
        file = _file_at(path)
        if path == "/":
            route.fulfill(body="<!doctype html><title>test</title>", content_type="text/html")
        elif file is None:
            route.fulfill(status=404)
        else:
            route.fulfill(body=file.read_bytes(), content_type=MEDIA[file.suffix])

    def configuration(route):
        campaign = re.search("[0-9a-f]{32}", route.request.url)[0]
        public = desk.client.get(f"/public/campaigns/{campaign}").raise_for_status().json()
        route.fulfill(body=canonical_json(public["config"]), content_type="application/json")

    context.route(lambda url: not urlsplit(url).path.startswith("/api/"), answer)
    context.route("**/api/v1/public/campaigns/*/config", configuration)


def _file_at(path):
    inside = path.removeprefix("/worker/")
    own = HERE / "stand_in" / inside.removeprefix("terms/")
    for file in (WORKER / inside, own) if inside != path else (HERE / path.lstrip("/"),):
        if file.is_file():
            return file
    return None


@define(slots=False)
class Tab:
    """A page with a device in one campaign."""

    page: object
    campaign: str
    timing: dict = Factory(lambda: dict(QUICK))
    posts: list = Factory(list)
    requests: list = Factory(list)
    state: str = field(default="", init=False)

    def __attrs_post_init__(self):
        self.page.on("request", self._note)

    def _note(self, request):
        if "/api/" in request.url:
            self.requests.append((request.method, urlsplit(request.url).path))
        if request.method == "POST":
            self.posts.append(request.post_data)

    def open(self, url):
        self.page.goto(f"{url}/")
        self.state = self.run("open", self.campaign, self.timing)
        return self

    def run(self, *call):
        return self.page.evaluate(CALL, list(call))

    def call(self, method, *given):
        return self.run("call", method, *given)

    def look(self, name):
        return self.run("look", name)

    def lose(self, count, status=None, path="**/api/v1/me/reports"):
        """Lose the answers to so many requests, which reach the server; or have others given."""
        left = [count]

        def answer(route):
            if not left[0]:
                route.continue_()
                return
            left[0] -= 1
            if status is None:
                route.fetch()
                route.abort()
            else:
                route.fulfill(status=status, headers={"Retry-After": "0"}, body="{}")

        self.page.route(path, answer)


@pytest.fixture
def context(browser, desk):
    """Return a new browser's worth of storage."""
    context = browser.new_context()
    serve_files(context, desk)
    yield context
    context.close()


@pytest.fixture
def new_tab(context, desk):
    """Return a way to open a tab with a device."""

    def open_tab(campaign, **timing):
        return Tab(context.new_page(), campaign, {**QUICK, **timing}).open(desk.server.url)

    return open_tab


@pytest.fixture
def joined(new_tab, desk):
    """Return a way to open a tab whose device has joined."""

    def join(campaign=None, **timing):
        campaign = campaign or desk.campaign(about=f"bird {time.monotonic_ns()}")
        tab = new_tab(campaign, **timing)
        assert tab.call("join", desk.invite(campaign)[0]) is None
        assert tab.look("state") == "joined"
        return tab

    return join


def stored(desk, tab):
    """Return what the server holds of a tab's worker."""
    key = tab.look("receipt")["withdrawalKey"]
    return desk.server.client(key).get("/me/reports").raise_for_status().json()


def refusal(given):
    assert isinstance(given, dict), given
    assert list(given) == ["refused", "values"], given
    return given["refused"]


def test_a_device_joins_draws_once_sends_and_shows_what_left(joined, desk):
    tab = joined()
    assert [task["name"] for task in tab.look("tasks")] != []
    assert tab.call("commit", YES) is None
    assert tab.look("state") == "committed"
    assert tab.look("receipt") is None
    receipt = tab.call("send")
    assert tab.look("state") == "sent"
    assert {report["task"] for report in receipt["reports"]} == {"t0", "t1", "t2"}
    assert {report["value"] for report in receipt["reports"]} <= {"yes", "no"}
    assert receipt["epsilon"] == 3
    held = stored(desk, tab)["reports"]
    [sent] = map(json.loads, tab.posts)
    ids = [report["task_id"] for report in sent["reports"]]
    assert ids == sorted(ids)
    assert {one["report_id"] for one in held} == {one["report_id"] for one in sent["reports"]}
    assert refusal(tab.call("commit", YES)) == "refusal.answered"


def test_fifty_commits_in_two_tabs_draw_once(joined, new_tab, desk):
    one = joined()
    other = new_tab(one.campaign)
    assert other.state == "joined"
    other.call("load")
    ends = [tab.run("callAtOnce", 25, "commit", YES) for tab in (one, other)]
    assert sum(end is None for end in [*ends[0], *ends[1]]) == 1
    one.call("send")
    other.call("send")
    assert len(one.posts + other.posts) == 1
    assert len(stored(desk, one)["reports"]) == 3


def test_two_tabs_that_send_at_once_send_once(joined, new_tab):
    one = joined()
    one.call("commit", YES)
    other = new_tab(one.campaign)
    other.call("load")
    for tab in (one, other):
        tab.page.evaluate(SEND_COUNTING)
    sent = [tab.page.evaluate("() => window.sent") for tab in (one, other)]
    assert sent[0] == sent[1]
    assert len(one.posts + other.posts) == 1


def test_lost_responses_change_nothing(joined, desk):
    tab = joined()
    tab.lose(20)
    tab.call("commit", YES)
    assert len(tab.call("send")["reports"]) == 3
    assert len(tab.posts) == 21
    assert len(set(tab.posts)) == 1
    assert len(stored(desk, tab)["reports"]) == 3


def test_joining_with_lost_responses_uses_one_invite(new_tab, desk):
    campaign = desk.campaign()
    tab = new_tab(campaign)
    tab.lose(3, path="**/participants/*")
    tab.lose(2, status=503, path="**/me/tasks")
    tab.call("join", desk.invite(campaign)[0])
    assert tab.look("state") == "joined"
    document = desk.client.get(f"/campaigns/{campaign}").json()
    assert document["participants"] == 1


def test_a_join_that_was_interrupted_goes_on_without_the_invite(new_tab, desk):
    campaign = desk.campaign()
    tab = new_tab(campaign, patience=0)
    tab.lose(1, path="**/participants/*", status=503)
    assert refusal(tab.call("join", desk.invite(campaign)[0])) == "refusal.unanswered"
    again = new_tab(campaign)
    assert again.state == "new"
    assert again.call("join") is None
    assert again.look("state") == "joined"
    assert "qci_" not in json.dumps(again.run("everything"))


@contextmanager
def own_chromium(browser, profile, desk):
    """Give a browser in processes of its own, and a way to kill them."""
    port = free_port()
    options = ["--headless", "--no-sandbox", f"--remote-debugging-port={port}"]
    process = subprocess.Popen(
        ["chromium", *options, f"--user-data-dir={profile}", "about:blank"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )

    def kill():
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()

    try:
        end = time.monotonic() + 20
        while True:
            try:
                started = browser.browser_type.connect_over_cdp(f"http://127.0.0.1:{port}")
                break
            except Exception:
                if time.monotonic() > end:
                    raise
                time.sleep(0.1)
        serve_files(started.contexts[0], desk)
        yield started.contexts[0], kill
    finally:
        kill()


def test_a_browser_killed_before_the_acknowledgement_sends_the_same_again(browser, desk, tmp_path):
    campaign = desk.campaign()
    bodies = []
    with own_chromium(browser, tmp_path, desk) as (context, kill):
        tab = Tab(context.new_page(), campaign).open(desk.server.url)
        tab.call("join", desk.invite(campaign)[0])
        tab.call("commit", YES)

        def store_and_kill(route):
            bodies.append(route.request.post_data)
            route.fetch()
            kill()

        tab.page.route("**/api/v1/me/reports", store_and_kill)
        with pytest.raises(Exception, match="closed"):
            tab.call("send")
    with own_chromium(browser, tmp_path, desk) as (context, _):
        tab = Tab(context.new_page(), campaign).open(desk.server.url)
        assert tab.state == "committed"
        tab.call("load")
        assert len(tab.call("send")["reports"]) == 3
        assert tab.posts == bodies
        assert len(stored(desk, tab)["reports"]) == 3


def test_without_a_network_reports_wait(joined, context):
    tab = joined()
    assert tab.call("commit", YES) is None
    context.set_offline(True)
    tab.page.evaluate(SEND_COUNTING)
    tab.page.wait_for_function("() => window.waits > 2")
    context.set_offline(False)
    assert len(tab.page.evaluate("() => window.sent")["reports"]) == 3


def test_reports_leave_a_fixed_time_after_they_were_asked_for(joined):
    tab = joined(delay=700)
    start = time.monotonic()
    tab.call("commit", YES)
    tab.call("send")
    assert 0.7 <= time.monotonic() - start < 1.3


def test_a_question_that_was_asked_before_gets_the_report_that_was_kept(joined, desk):
    labels = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    turned = qc.RandomizedResponse(domain=qc.Categorical(["yes", "no"]), epsilon=1.0)
    about = f"cat {time.monotonic_ns()}"
    first = joined(desk.campaign(labels, about=about))
    first.call("commit", YES)
    sent = {one["task"]: one["value"] for one in first.call("send")["reports"]}
    second = joined(desk.campaign(turned, tasks=4, about=about))
    spending = second.call("spending", 4)
    assert sorted(spending["reused"]) == ["t0", "t1", "t2"]
    assert (spending["spent"], spending["after"]) == (3, 4)
    opposite = [[task, "no" if value == "yes" else "yes"] for task, value in sent.items()]
    second.call("commit", [*opposite, ["t3", "yes"]])
    again = second.call("send")
    assert {**{one["task"]: one["value"] for one in again["reports"]}, **sent} == {
        one["task"]: one["value"] for one in again["reports"]
    }
    assert again["epsilon"] == 1
    other = qc.RandomizedResponse(domain=YES_NO, epsilon=0.5)
    third = joined(desk.campaign(other, about=about))
    assert sorted(third.call("spending", 3)["repeated"]) == ["t0", "t1", "t2"]


def test_copies_of_a_question_get_one_report(joined, desk):
    draft = desk.draft(qc.RandomizedResponse(domain=YES_NO, epsilon=0.1))
    question = f"Is it {time.monotonic_ns()}?"
    lines = ["task,question", *(f"t{place},{question}" for place in range(30))]
    desk.import_csv(draft["id"], "\n".join(lines)).raise_for_status()
    desk.client.post(f"/campaigns/{draft['id']}/open").raise_for_status()
    tab = joined(draft["id"])
    tab.call("commit", [[f"t{place}", "yes" if place % 2 else "no"] for place in range(20)])
    receipt = tab.call("send")
    assert len(receipt["reports"]) == 20
    assert len({one["value"] for one in receipt["reports"]}) == 1
    assert receipt["epsilon"] == pytest.approx(0.1)


def test_a_budget_is_kept_over_all_campaigns(joined):
    first = joined()
    first.call("setBudget", 4)
    first.call("commit", YES)
    first.call("send")
    second = joined()
    refused = second.call("commit", YES)
    assert refusal(refused) == "refusal.budget"
    assert refused["values"] == {"budget": 4, "spent": "3.00", "after": "6.00"}
    assert second.look("state") == "joined"
    assert second.call("commit", YES[:1]) is None


SENT = [name for name in MECHANISMS if "ridge" not in name]


@pytest.mark.parametrize("name", SENT)
def test_reports_of_every_mechanism_are_taken_in(joined, desk, name):
    mechanism = MECHANISMS[name]
    one, other = {"categorical": ("no", "yes"), "ordinal": (1, 4), "interval": (3, 4.5)}[
        mechanism.domain.to_dict()["kind"]
    ]
    tab = joined(desk.campaign(mechanism, about=name.replace(",", "")))
    assert tab.call("commit", [["t0", one], ["t2", other]]) is None
    receipt = tab.call("send")
    held = stored(desk, tab)
    if receipt["sketch"] is not None:
        assert receipt["sketch"] == len(held["sketch"]["numbers"])
        return
    assert len(held["reports"]) == len(receipt["reports"]) == (3 if mechanism.every_task else 2)
    bits = [report["participation"] is not None for report in receipt["reports"]]
    assert all(bits) if "bit" in name else not any(bits)


def test_withdrawing_deletes_and_is_for_good(joined, new_tab, desk):
    tab = joined()
    tab.call("commit", YES)
    key = tab.call("send")["withdrawalKey"]
    tab.lose(2, path="**/api/v1/me")
    assert tab.call("withdraw") is None
    assert tab.look("state") == "left"
    assert desk.server.client(key).get("/me").status_code == 401
    held = json.dumps(tab.run("everything"))
    assert key not in held
    assert "report_id" not in held
    assert refusal(tab.call("join", desk.invite(tab.campaign)[0])) == "refusal.left"
    assert refusal(tab.call("send")) == "refusal.left"
    assert new_tab(tab.campaign).state == "left"


def test_another_device_withdraws_with_the_key(joined, browser, desk):
    tab = joined()
    tab.call("commit", YES)
    key = tab.call("send")["withdrawalKey"]
    elsewhere = browser.new_context()
    serve_files(elsewhere, desk)
    other = Tab(elsewhere.new_page(), tab.campaign).open(desk.server.url)
    assert refusal(other.call("withdraw")) == "refusal.not-joined"
    assert refusal(other.call("withdraw", "qcw_short")) == "refusal.key"
    assert other.call("withdraw", key) is None
    assert refusal(other.call("withdraw", key)) == "refusal.key"
    elsewhere.close()


def test_who_leaves_before_answering_may_come_back(joined, desk):
    tab = joined()
    tab.call("withdraw")
    assert tab.look("state") == "new"
    assert tab.call("join", desk.invite(tab.campaign)[0]) is None


def test_answers_are_kept_only_on_request_and_until_they_are_sent(joined, new_tab):
    tab = joined()
    assert "yes" not in json.dumps(tab.run("everything")["campaigns"])
    tab.call("keepDrafts", YES)
    again = new_tab(tab.campaign)
    assert again.call("drafts") == YES
    again.call("load")
    again.call("commit", YES)
    assert again.run("everything")["campaigns"][0].get("drafts") is None


def test_forgetting_leaves_nothing(joined):
    first, second = joined(), joined()
    second.call("commit", YES)
    second.call("forget")
    assert second.look("state") == "new"
    assert {name: held for name, held in first.run("everything").items() if held} == {}
    assert refusal(first.call("commit", YES)) == "refusal.not-joined"


@pytest.mark.parametrize(
    ("answers", "key"),
    [([], "no-answer"), ([["t0", None]], "no-answer"), ([*YES, ["t3", "no"]], "too-many")],
)
def test_too_few_or_too_many_answers_are_refused(joined, answers, key):
    assert refusal(joined().call("commit", answers)) == f"refusal.{key}"


def test_a_receipt_that_does_not_add_up_is_refused_and_reports_stay(joined):
    tab = joined()
    tab.call("commit", YES)
    document = {"accepted": 2, "duplicates": 0, "rejected": []}
    tab.page.route("**/me/reports", lambda route: route.fulfill(json=document))
    assert refusal(tab.call("send")) == "refusal.receipt"
    assert tab.look("state") == "committed"
    tab.page.unroute("**/me/reports")
    assert len(tab.call("send")["reports"]) == 3


def test_a_completion_code_is_shown(joined):
    tab = joined()
    tab.call("commit", YES)
    document = {"accepted": 3, "duplicates": 0, "rejected": [], "completion_code": "C0DE"}
    tab.page.route("**/me/reports", lambda route: route.fulfill(json=document))
    assert tab.call("send")["completionCode"] == "C0DE"


def test_a_closed_campaign_says_so(joined, desk):
    tab = joined()
    desk.client.post(f"/campaigns/{tab.campaign}/close").raise_for_status()
    tab.call("commit", YES)
    assert refusal(tab.call("send")) == "refusal.campaign-closed"


def test_every_refusal_has_its_words():
    said = json.loads((WORKER / "messages" / "en.json").read_text("utf-8"))
    texts = "".join(file.read_text("utf-8") for file in (WORKER / "device").iterdir())
    for key in re.findall(r'"(refusal\.[a-z-]+)"', texts):
        assert key in said
