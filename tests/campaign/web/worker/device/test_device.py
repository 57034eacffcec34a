"""The worker's device in a page: what it keeps and sends, in a browser, with a real server."""

import json
import re
from importlib.resources import files
from pathlib import Path
from secrets import token_hex
from urllib.parse import urlsplit

import pytest
from attrs import Factory, define, evolve, field
from starlette.responses import Response
from starlette.routing import Route
from tests.campaign.mechanisms import MECHANISMS, MECHANISMS_BY_DAY
from tests.campaign.people import YES_NO, Running, new_desk
from tests.campaign.pictures import PNG, hash_of
from tests.campaign.waiting import LONG
from tests.campaign.web.browser import own_chromium
from tests.nightly import by_day

import quietcrowd as qc
from quietcrowd.campaign import Client
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.web.files import WORKER as PAGE_FILES
from quietcrowd.campaign.web.worker_page import joined_modules
from quietcrowd.exceptions import CampaignError
from quietcrowd.mechanisms import OptimalMechanism

pytestmark = pytest.mark.slow

WORKER = Path(str(files("quietcrowd.campaign.web") / "worker"))
HERE = Path(__file__).parent
QUICK = {"delay": 50, "pause": 5, "patience": 1_000 * LONG}
YES = [["t0", "yes"], ["t1", "yes"], ["t2", "no"]]
CALL = """async ([name, ...values]) => {
  const module = await import("./device_page.js");
  return module[name](...values);
}"""
SEND_COUNTING = """async () => {
  const module = await import("./device_page.js");
  window.sent = module.sendCounting();
}"""

KEEP_PAGE = """async () => {
  const container = navigator.serviceWorker;
  const scope = "/j/of-something-else/";
  const allow = { createScriptURL: (address) => address };
  const address = trustedTypes.createPolicy("service-worker", allow).createScriptURL(
    "/j/service_worker.js",
  );
  for (const options of [{}, { scope }]) {
    const made = await container.register(address, options);
    const worker = made.installing ?? made.waiting ?? made.active;
    while (worker.state !== "activated") {
      await new Promise((resolve) => worker.addEventListener("statechange", resolve));
    }
  }
}"""
EARLIER_HASH = """async () => {
  const settled = (request) =>
    new Promise((resolve, reject) => {
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  const database = await settled(indexedDB.open("quietcrowd"));
  const store = database.transaction("kept", "readwrite").objectStore("kept");
  const [entries, keys] = [await settled(store.getAll()), await settled(store.getAllKeys())];
  const place = entries.findIndex(({ channel }) => channel);
  await settled(store.put({ ...entries[place], channel: "0".repeat(64) }, keys[place]));
  database.close();
}"""
SCOPES = """async () => {
  const all = await navigator.serviceWorker.getRegistrations();
  return all.map(({ scope }) => scope);
}"""


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    """Return a requester of a server that serves a page without anything beside its own."""
    folder = tmp_path_factory.mktemp("device")
    settings = Settings(
        database=f"sqlite:///{folder}/own.db",
        infer=False,
        requests_per_second=0,
        joins_per_minute=0,
    )
    running = Running(settings).start()
    pages = {"/test/": "<!doctype html><title>test</title>"}
    pages["/test/device_page.js"] = one_module()
    pages["/test/en.json"] = PAGE_FILES["messages/en.json"].text
    routes = [Route(path, served(text, path)) for path, text in pages.items()]
    running.app.router.routes[:0] = routes
    yield new_desk(running)
    running.stop()


def one_module():
    """Return device_page.js with all that it imports, so that a tab asks for one file."""
    own = re.sub(r"^import .*;$", "", (HERE / "device_page.js").read_text("utf-8"), flags=re.M)
    return joined_modules("device/device.js") + joined_modules("page/messages.js") + own


def served(text, path):
    """Return what answers with a text."""
    media_type = "text/html" if path.endswith("/") else "text/javascript"
    return lambda _: Response(text, media_type=media_type)


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
        self.page.goto(f"{url}/test/")
        self.state = self.run("openDevice", self.campaign, self.timing)
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
def context(browser):
    """Return a new browser's worth of storage."""
    context = browser.new_context()
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
        campaign = campaign or desk.campaign(about=f"bird {token_hex(8)}")
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
    assert receipt["epsilon"] == pytest.approx(3)
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


@pytest.mark.nightly
def test_lost_responses_change_nothing(joined, desk):
    tab = joined(pause=1)
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
    tab.lose(3, path="**/me/place")
    assert tab.call("commit", YES) is None
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


@pytest.mark.nightly
def test_a_browser_killed_before_the_acknowledgement_sends_the_same_again(browser, desk, tmp_path):
    campaign = desk.campaign()
    bodies = []
    with own_chromium(browser, tmp_path) as (context, kill):
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
    with own_chromium(browser, tmp_path) as (context, _):
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


CLOCK = """(taken) => {
  let now = 1_000; // when there is a place; drawing and storing reports takes so long
  let isPlaced = false;
  performance.now = () => {
    const told = now;
    now = Math.max(now, isPlaced ? 1_000 + taken : now);
    return told;
  };
  const later = setTimeout;
  window.setTimeout = (act, ms) => {
    now += ms;
    return later(act);
  };
  const ask = fetch;
  window.fetch = (url, options) => {
    isPlaced ||= url.endsWith("/me/place");
    window.left = options.method === "POST" ? now - 1_000 : window.left;
    return ask(url, options);
  };
}"""


@pytest.mark.grid
@pytest.mark.parametrize(("taken", "left"), [(1, 500), (500, 500), (501, 1_000), (1_300, 1_500)])
def test_reports_leave_a_whole_number_of_delays_after_they_were_asked_for(joined, taken, left):
    """Else their time would tell how long it took to draw them."""
    tab = joined(delay=500)
    tab.page.evaluate(CLOCK, taken)
    assert tab.call("commit", YES) is None
    assert tab.call("send")["epsilon"] > 0
    assert tab.page.evaluate("() => window.left") == left


@pytest.mark.nightly
def test_a_question_that_was_asked_before_gets_the_report_that_was_kept(joined, desk):
    labels = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0)
    turned = qc.RandomizedResponse(domain=qc.Categorical(["yes", "no"]), epsilon=1.0)
    about = f"cat {token_hex(8)}"
    first = joined(desk.campaign(labels, about=about))
    first.call("commit", YES)
    sent = {one["task"]: one["value"] for one in first.call("send")["reports"]}
    second = joined(desk.campaign(turned, tasks=4, about=about))
    spending = second.call("spending", 4)
    assert sorted(spending["reused"]) == ["t0", "t1", "t2"]
    assert (spending["spent"], spending["after"]) == pytest.approx((3, 4))
    opposite = [[task, "no" if value == "yes" else "yes"] for task, value in sent.items()]
    second.call("commit", [*opposite, ["t3", "yes"]])
    again = second.call("send")
    assert {**{one["task"]: one["value"] for one in again["reports"]}, **sent} == {
        one["task"]: one["value"] for one in again["reports"]
    }
    assert again["epsilon"] == pytest.approx(1)


@pytest.mark.nightly
def test_reports_without_a_name_are_shown_and_sent_again_by_what_they_mean(joined, desk):
    """Before, numbers of columns were taken for labels, and those from 4 on for no answer."""
    one, other = (qc.Categorical(list(labels)) for labels in ("abcd", "dcba"))
    mechanism = OptimalMechanism(domain=one, epsilon=0.3, prior={"a": 0.28})
    assert mechanism.channel.reports > 4
    turned = evolve(mechanism, domain=other, weights=mechanism.weights[::-1])
    another = evolve(mechanism, domain=other, prior={"d": 0.28})
    about = f"newt {token_hex(8)}"
    names = sorted(f"t{place}" for place in range(20))
    shown, meant = [], []
    for distribution, reused in ((mechanism, []), (turned, names), (another, [])):
        tab = joined(desk.campaign(distribution, tasks=20, about=about))
        assert sorted(tab.call("spending", 20)["reused"]) == reused
        tab.call("commit", [[name, "a"] for name in names])
        receipt = {one["task"]: one["value"] for one in tab.call("send")["reports"]}
        tasks = {task["id"]: task["name"] for task in tab.look("tasks")}
        codes = {tasks[one["task_id"]]: one["value"] for one in stored(desk, tab)["reports"]}
        meanings = distribution.report_meanings
        assert {name: tuple(receipt[name]) for name in names} == {
            name: meanings.favoured(codes[name]) for name in names
        }
        shown.append(receipt)
        meant.append({name: meanings.meaning(codes[name]) for name in names})
    assert (shown[1], meant[1]) == (shown[0], meant[0])
    assert meant[2] != meant[0]  # alike once in 10^10 times


def test_a_report_under_an_earlier_kind_of_hash_is_not_sent_again(joined, desk):
    about = f"carp {token_hex(8)}"
    first = joined(desk.campaign(about=about))
    first.call("commit", YES)
    first.page.evaluate(EARLIER_HASH)
    again = joined(desk.campaign(about=about))
    spending = again.call("spending", 3)
    assert (spending["reused"], sorted(spending["repeated"])) == ([], ["t0", "t1", "t2"])
    assert (spending["spent"], spending["after"]) == pytest.approx((3, 6))


@pytest.mark.nightly
def test_a_question_or_a_near_copy_that_gets_fresh_noise_is_told(joined, desk):
    about = f"toad {token_hex(8)}"
    first = joined(desk.campaign(about=about))
    first.call("commit", YES)
    other = qc.RandomizedResponse(domain=YES_NO, epsilon=0.5)
    again = joined(desk.campaign(other, tasks=4, about=about))
    assert sorted(again.call("spending", 3)["repeated"]) == ["t0", "t1", "t2"]
    for other in (f"-- {about.upper()} --", about.replace("a", "\u0430")):
        near = joined(desk.campaign(about=other))
        spending = near.call("spending", 3)
        assert sorted(spending["repeated"]) == ["t0", "t1", "t2"]
    assert spending["reused"] == []


def test_copies_of_a_question_get_one_report(joined, desk):
    draft = desk.draft(qc.RandomizedResponse(domain=YES_NO, epsilon=0.1))
    question = f"Is it {token_hex(8)}?"
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
    assert refused["values"] == pytest.approx({"budget": 4, "spent": 3, "after": 6})
    assert second.look("state") == "joined"
    assert second.call("commit", YES[:1]) is None


@pytest.mark.nightly
def test_a_limit_that_is_used_up_stops_new_reports_alone(joined, desk):
    about = f"owl {token_hex(8)}"
    first = joined(desk.campaign(about=about))
    first.call("commit", YES)
    first.call("send")
    first.call("setBudget", 1)
    assert joined(desk.campaign(about=about)).call("commit", YES) is None  # sent before: it is free
    assert refusal(joined().call("commit", YES[:1])) == "refusal.budget"


@pytest.mark.grid
@pytest.mark.parametrize("name", ["one-layer", "two-layer", "matrix factorisation"])
def test_once_sent_a_campaign_costs_no_more(joined, desk, name):
    mechanism = MECHANISMS[name]
    answers = [[f"t{place}", mechanism.domain.labels[0]] for place in range(3)]
    tab = joined(desk.campaign(mechanism, about=f"jay {token_hex(8)}"))
    before = tab.call("spending", 3)
    assert before["spent"] == 0 < before["after"]
    tab.call("commit", answers)
    for _ in range(2):
        spending = tab.call("spending", 3)
        assert spending["spent"] == spending["after"] == before["after"]
        tab.call("send")


@pytest.mark.nightly
def test_three_campaigns_of_a_tenth_fit_into_three_tenths(joined, desk):
    mechanism = qc.LaplaceMechanism(domain=qc.Ordinal(range(5)), epsilon=0.1, fill=None)
    tabs = [
        joined(desk.campaign(mechanism, tasks=1, about=f"bat {place} {token_hex(8)}"))
        for place in range(4)
    ]
    tabs[0].call("setBudget", 0.3)
    for tab in tabs[:3]:
        assert tab.call("commit", [["t0", 3]]) is None
    assert tabs[2].call("spending", 1)["spent"] == 0.3
    assert refusal(tabs[3].call("commit", [["t0", 3]])) == "refusal.budget"


SENT = by_day(MECHANISMS_BY_DAY, [name for name in MECHANISMS if "ridge" not in name])


@pytest.mark.grid
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


def test_all_images_are_fetched_on_joining_and_kept(joined, new_tab, desk):
    tab = joined(desk.campaign(image=PNG))
    assert tab.look("images") == [hash_of(PNG)]
    again = new_tab(tab.campaign)
    again.page.context.set_offline(True)
    again.call("load")
    assert again.look("images") == [hash_of(PNG)]
    assert [path for _, path in again.requests if "images" in path] == []


def test_what_it_costs_is_known_before_joining(new_tab, desk):
    tab = new_tab(desk.campaign(closes_on="2099-12-31"))
    assert tab.call("load")["title"] == "Birds"
    assert (tab.look("open"), tab.look("needsInvite")) == (True, True)
    assert tab.look("closes") == "2099-12-31"
    spending = tab.call("spending", 2)
    assert spending.pop("after") == pytest.approx(2)
    assert spending == {"spent": 0, "budget": None, "reused": [], "repeated": []}


def test_what_left_is_remembered_after_withdrawing(joined, desk):
    about = f"frog {token_hex(8)}"
    first = joined(desk.campaign(about=about))
    first.call("commit", YES)
    sent = {one["task"]: one["value"] for one in first.call("send")["reports"]}
    first.call("withdraw")
    second = joined(desk.campaign(about=about))
    assert sorted(second.call("spending", 3)["reused"]) == ["t0", "t1", "t2"]
    second.call("commit", YES)
    assert {one["task"]: one["value"] for one in second.call("send")["reports"]} == sent


def test_a_browser_that_keeps_nothing_is_told_so(new_tab, desk):
    tab = new_tab(desk.campaign())
    assert tab.run("whyNotHere") is None
    for name, owner, key in (
        ("indexedDB", "window", "browser"),
        ("locks", "navigator", "browser"),
        ("subtle", "crypto", "insecure"),
    ):
        tab.page.evaluate(f"() => Object.defineProperty({owner}, '{name}', {{ value: undefined }})")
        assert tab.run("whyNotHere") == f"refusal.{key}"


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


def test_answers_are_kept_until_they_are_sent(joined, new_tab):
    tab = joined()
    assert (tab.look("mayKeepDrafts"), tab.look("keepsDrafts")) == (True, True)
    tab.call("keepDrafts", YES)
    again = new_tab(tab.campaign)
    again.call("load")
    assert again.call("drafts") == YES
    again.call("commit", YES)
    [entry] = [one for one in again.run("everything") if isinstance(one, dict)]
    assert entry["drafts"] == []


def test_a_shared_phone_keeps_none_and_deletes_what_it_has(joined, new_tab):
    tab = joined()
    tab.call("keepDrafts", YES)
    tab.call("setKeepsDrafts", False)
    tab.call("keepDrafts", YES)
    assert "yes" not in drafts_of(tab)
    again = new_tab(tab.campaign)
    again.call("load")
    assert (again.look("mayKeepDrafts"), again.look("keepsDrafts")) == (True, False)
    again.call("setKeepsDrafts", True)
    again.call("keepDrafts", YES)
    assert again.call("drafts") == YES


def test_drafts_that_another_tab_turned_off_are_not_kept(joined, new_tab):
    tab = joined()
    other = new_tab(tab.campaign)
    other.call("load")
    other.call("setKeepsDrafts", False)
    tab.call("keepDrafts", YES)
    assert "yes" not in drafts_of(tab)
    assert not tab.look("keepsDrafts")


def test_a_tab_of_another_link_keeps_no_drafts_and_deletes_none(new_tab, desk):
    campaign = desk.campaign(about=f"bird {token_hex(8)}")
    links = desk.invite(campaign, 2)
    first, second = new_tab(campaign), new_tab(campaign)
    first.call("join", links[0])
    second.call("load")
    second.call("join", links[1])
    second.call("keepDrafts", YES[:1])
    first.call("keepDrafts", YES)
    first.call("dropDrafts")
    assert new_tab(campaign).call("drafts") == YES[:1]


def drafts_of(tab):
    """Return what the database holds of answers, as text."""
    return json.dumps([one.get("drafts") for one in tab.run("everything") if isinstance(one, dict)])


@pytest.mark.parametrize(
    "members",
    [{"drafts": False}, {"join_mode": "open"}],
    ids=["turned off by the requester", "public link"],
)
def test_where_drafts_are_off_none_is_kept(new_tab, desk, members):
    campaign = desk.campaign(**members)
    tab = new_tab(campaign)
    invite = None if "join_mode" in members else desk.invite(campaign)[0]
    tab.call("join", invite)
    tab.call("setKeepsDrafts", True)
    tab.call("keepDrafts", YES)
    assert (tab.look("mayKeepDrafts"), tab.look("keepsDrafts")) == (False, False)
    assert "yes" not in drafts_of(tab)


@pytest.mark.grid
@pytest.mark.parametrize("later", [86_000_000, 86_400_000, -87_000_000, 10**11])
def test_answers_are_deleted_a_day_after_the_last_one(joined, new_tab, desk, later):
    tab = joined()
    tab.call("keepDrafts", YES)
    tab.page.evaluate("(later) => { window.later = later; }", later)
    assert (tab.call("drafts") == []) == (abs(later) >= 86_400_000)
    other = new_tab(desk.campaign())  # of another campaign in the same browser
    other.page.evaluate("(later) => { window.later = later; }", later)
    other.run("openDevice", other.campaign, QUICK)
    assert ("yes" in drafts_of(tab)) == (abs(later) < 86_400_000)


def test_an_open_page_deletes_them_by_itself(joined):
    tab = joined()
    tab.page.evaluate("""() => {
      window.setTimeout = (act, ms) => { window.timer = { act, ms }; };
    }""")
    tab.call("keepDrafts", YES)
    assert 0 < tab.page.evaluate("() => window.timer.ms") <= 86_400_000
    tab.page.evaluate("() => { window.later = 86_400_000; return window.timer.act(); }")
    tab.page.wait_for_function(
        """async () => {
          const { everything } = await import("./device_page.js");
          return !JSON.stringify(await everything()).includes("yes");
        }"""
    )


def test_answers_are_deleted_once_the_campaign_is_closed(new_tab, desk):
    campaign = desk.campaign(closes_on="2099-12-31")
    tab = new_tab(campaign)
    tab.call("join", desk.invite(campaign)[0])
    tab.page.evaluate("() => { window.later = Date.UTC(2099, 11, 31, 22) - Date.now(); }")
    tab.call("keepDrafts", YES)
    assert tab.call("drafts") == YES
    tab.page.evaluate("() => { window.later = Date.UTC(2100, 0, 1) - Date.now(); }")
    assert tab.call("drafts") == []
    tab.page.evaluate("() => { window.later = 0; }")
    tab.call("keepDrafts", YES)
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    assert refusal(tab.call("commit", YES)) == "refusal.campaign-closed"
    assert "yes" not in drafts_of(tab)


@pytest.fixture
def elsewhere(browser, desk):
    """Return a way to open a tab in another browser."""
    contexts = []

    def open_tab(campaign):
        contexts.append(browser.new_context())
        return Tab(contexts[-1].new_page(), campaign).open(desk.server.url)

    yield open_tab
    for one in contexts:
        one.close()


CODE = r"[0-9A-HJKMNP-TV-Z]{4}(-[0-9A-HJKMNP-TV-Z]{4}){3}"


def test_another_browser_goes_on_with_the_code(new_tab, elsewhere, desk):
    campaign = desk.campaign(tasks=9, answers_per_participant=3, allotment="random")
    [invite] = desk.invite(campaign)
    tab, other = new_tab(campaign), elsewhere(campaign)
    tab.call("join", invite)
    code, tasks = tab.look("code"), tab.look("tasks")
    assert re.fullmatch(CODE, code)
    wrong = code[:-1] + ("0" if code[-1] != "0" else "1")
    assert refusal(other.call("join", invite, wrong)) == "refusal.code"
    assert refusal(other.call("join", invite, "no code")) == "refusal.code"
    typed = code.replace("-", " ").lower().replace("1", "l").replace("0", "o")
    assert other.call("join", invite, typed) is None
    assert (other.look("code"), other.look("tasks")) == (code, tasks)
    answers = [[task["name"], "yes"] for task in tasks]
    assert refusal(tab.call("commit", answers)) == "refusal.credential"
    assert tab.look("state") == "joined"
    assert other.call("commit", answers) is None
    assert other.look("code") is None
    assert len(other.call("send")["reports"]) == 3
    assert refusal(tab.call("join", invite, code)) == "refusal.invite-invalid"


@pytest.mark.parametrize("first", ["python", "page"])
def test_both_clients_go_on_with_the_code_of_each_other(new_tab, desk, tmp_path, first):
    given = {"answers_per_participant": 3, "allotment": "random"}
    campaign = desk.campaign(tasks=9, about=f"wisent {token_hex(8)}", **given)
    [invite] = desk.invite(campaign)
    tab = new_tab(campaign)
    client = Client(f"{desk.server.url}/j/{campaign}", invite, folder=tmp_path)
    if first == "page":
        assert tab.call("join", invite) is None
        client.join(tab.look("code"))
        tasks = [task.name for task in client.tasks]
        assert [task["name"] for task in tab.look("tasks")] == tasks
        assert client.answer(dict.fromkeys(tasks, "yes")).accepted == 3
        assert (
            refusal(tab.call("commit", [[name, "yes"] for name in tasks])) == "refusal.credential"
        )
    else:
        client.join()
        assert tab.call("join", invite, client.code) is None
        tasks = [task["name"] for task in tab.look("tasks")]
        assert [task.name for task in client.tasks] == tasks
        assert tab.call("commit", [[name, "yes"] for name in tasks]) is None
        assert len(tab.call("send")["reports"]) == 3
        with pytest.raises(CampaignError):
            client.answer(dict.fromkeys(tasks, "yes"))
        assert not client.committed


@pytest.mark.nightly
def test_who_went_on_elsewhere_comes_back_and_drafts_are_still_there(new_tab, elsewhere, desk):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    tab, other = new_tab(campaign), elsewhere(campaign)
    tab.call("join", invite)
    tab.call("keepDrafts", YES)
    code = tab.look("code")
    other.lose(3, path="**/participants/*")
    assert other.call("join", invite, code) is None
    assert tab.call("join", invite) is None  # without the code, nothing is asked
    assert refusal(tab.call("commit", YES)) == "refusal.credential"
    assert tab.call("join", invite, code) is None
    assert tab.call("drafts") == YES
    assert refusal(other.call("commit", YES)) == "refusal.credential"
    assert tab.call("commit", YES) is None
    assert refusal(tab.call("join", invite, code)) == "refusal.answered"
    assert len(tab.call("send")["reports"]) == 3


def test_of_two_browsers_with_one_link_one_draws(new_tab, elsewhere, desk):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    tabs = [new_tab(campaign), elsewhere(campaign), elsewhere(campaign)]
    for tab in tabs:
        tab.call("join", invite)
    ends = [tab.call("commit", YES) for tab in tabs]
    assert [end and refusal(end) for end in ends] == [None, *["refusal.credential"] * 2]
    assert [tab.look("state") for tab in tabs] == ["committed", "joined", "joined"]


def test_a_link_that_was_taken_back_draws_nothing_and_the_new_one_works(new_tab, desk):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    tab = new_tab(campaign)
    tab.call("join", invite)
    tab.call("keepDrafts", YES)
    url = f"/campaigns/{campaign}/invites"
    desk.client.post(f"{url}/revoke", json={"invite": invite}).raise_for_status()
    assert refusal(tab.call("commit", YES)) == "refusal.place"
    made = desk.client.post(f"{url}/replace", json={"invite": invite}).raise_for_status().json()
    [new] = made["invites"]
    assert refusal(tab.call("commit", YES)) == "refusal.credential"
    assert (tab.call("isOther", invite), tab.call("isOther", new)) == (False, True)
    assert tab.call("join", new) is None
    assert tab.call("drafts") == []  # they are bound to the invite
    assert tab.call("commit", YES) is None
    assert len(tab.call("send")["reports"]) == 3


def revoked(desk, campaign):
    """Return an invite that was taken back."""
    [invite] = desk.invite(campaign)
    url = f"/campaigns/{campaign}/invites/revoke"
    desk.client.post(url, json={"invite": invite}).raise_for_status()
    return invite


def test_a_link_that_is_refused_leaves_the_answers_to_another_one(new_tab, desk):
    campaign = desk.campaign(about=f"bird {token_hex(8)}")
    [good] = desk.invite(campaign)
    tab = new_tab(campaign)
    assert refusal(tab.call("join", revoked(desk, campaign))) == "refusal.invite-invalid"
    assert "qc" not in json.dumps(tab.run("everything"))
    tab.call("join", good)
    tab.call("keepDrafts", YES)
    before = kept_in(tab)
    assert refusal(tab.call("join", revoked(desk, campaign))) == "refusal.invite-invalid"
    assert refusal(tab.call("join", good, CODE_OF_NONE)) == "refusal.code"
    assert kept_in(tab) == before
    again = new_tab(campaign)
    assert again.call("load") is not None
    assert (again.state, again.call("drafts")) == ("joined", YES)
    assert again.call("commit", YES) is None


CODE_OF_NONE = "0000-0000-0000-0000"


def kept_in(tab):
    """Return all that the database holds, without members that are empty."""
    held = tab.run("everything")
    return [
        {name: value for name, value in one.items() if value is not None}
        if isinstance(one, dict)
        else one
        for one in held
    ]


def test_a_new_link_without_an_answer_is_asked_for_again_and_then_replaces_the_old_one(
    new_tab, desk
):
    campaign = desk.campaign(about=f"bird {token_hex(8)}")
    links = desk.invite(campaign, 2)
    tab = new_tab(campaign, patience=0)
    tab.call("join", links[0])
    tab.call("keepDrafts", YES)
    tab.lose(1, path="**/participants/*", status=503)
    assert refusal(tab.call("join", links[1])) == "refusal.unanswered"
    again = new_tab(campaign)
    again.call("load")
    assert (again.state, again.call("drafts")) == ("joined", YES)
    asked = [path for _, path in tab.requests if "/participants/" in path]
    again.call("join", links[1])
    assert [path for _, path in again.requests if "/participants/" in path] == asked[1:]
    assert again.call("drafts") == []
    assert refusal(tab.call("commit", YES)) == "refusal.place"
    assert again.call("commit", YES) is None


def test_a_tab_that_answered_meanwhile_is_not_overwritten(new_tab, desk):
    campaign = desk.campaign(about=f"bird {token_hex(8)}")
    links = desk.invite(campaign, 2)
    first, second = new_tab(campaign), new_tab(campaign, patience=0)
    first.call("join", links[0])
    second.lose(1, path="**/me/tasks", status=503)
    second.call("load")
    assert refusal(second.call("join", links[1])) == "refusal.unanswered"
    assert first.call("commit", YES) is None
    assert second.call("join", links[1]) is None
    assert second.look("state") == "committed"
    assert len(second.call("send")["reports"]) == 3


def test_a_tab_whose_browser_joined_anew_draws_nothing(new_tab, desk):
    members = {"answers_per_participant": 3, "allotment": "random"}
    campaign = desk.campaign(tasks=30, about=f"bird {token_hex(8)}", **members)
    links = desk.invite(campaign, 2)
    first, second = new_tab(campaign), new_tab(campaign)
    first.call("join", links[0])
    answers = [[task["name"], "yes"] for task in first.look("tasks")]
    second.call("load")
    second.call("join", links[1])
    assert first.call("commit", answers)["refused"] == "refusal.place"
    assert new_tab(campaign).look("state") == "joined"
    assert desk.client.get(f"/campaigns/{campaign}").json()["reports"] == 0


def test_a_link_replaced_while_reports_are_on_their_way_stores_none(desk, new_tab):
    campaign = desk.campaign()
    [invite] = desk.invite(campaign)
    tab = new_tab(campaign)
    tab.call("join", invite)
    tab.call("commit", YES)
    url = f"/campaigns/{campaign}/invites/replace"
    desk.client.post(url, json={"invite": invite}).raise_for_status()
    assert refusal(tab.call("send")) == "refusal.credential"
    assert desk.client.get(f"/campaigns/{campaign}").json()["reports"] == 0


@pytest.mark.nightly
def test_twenty_lost_responses_take_one_place(joined):
    tab = joined(pause=1)
    tab.lose(20, path="**/me/place")
    assert tab.call("commit", YES) is None
    assert len(tab.call("send")["reports"]) == 3
    assert len(tab.posts) == 1


def test_a_page_that_dies_between_place_and_draw_draws_later(joined, new_tab):
    tab = joined()
    tab.page.evaluate("() => { navigator.locks.request = () => new Promise(() => {}); }")
    with tab.page.expect_response("**/me/place"):
        tab.page.evaluate(f"() => {{ ({CALL})(['call', 'commit', {json.dumps(YES)}]); }}")
    tab.page.wait_for_function(
        """async () => {
          const { everything } = await import("./device_page.js");
          return (await everything()).some(({ placed }) => placed);
        }"""
    )
    again = new_tab(tab.campaign)
    assert (again.state, again.look("code")) == ("joined", None)
    again.call("load")
    assert again.call("commit", YES) is None
    assert len(again.call("send")["reports"]) == 3
    assert [one for one in again.requests if "place" in one[1]] == []


def test_what_an_older_page_drew_is_sent(joined, new_tab):
    tab = joined()
    tab.page.route("**/me/place", lambda route: route.fulfill(status=204))
    assert tab.call("commit", YES) is None
    tab.page.evaluate(WITHOUT_PLACE)
    again = new_tab(tab.campaign)
    again.call("load")
    assert len(again.call("send")["reports"]) == 3


WITHOUT_PLACE = EARLIER_HASH.replace('channel: "0".repeat(64)', "placed: undefined")


@pytest.mark.nightly
def test_the_ledger_is_a_text_without_answers_and_secrets(joined, desk):
    tab = joined(desk.campaign(about=f"wren {token_hex(8)}"))
    tab.call("keepDrafts", YES)
    tab.call("setBudget", 9)
    waiting = joined(desk.campaign())
    waiting.call("keepDrafts", YES)
    tab.call("commit", YES)
    tab.call("send")
    ledger = tab.call("ledgerText")
    entries = {one["name"]: one for one in json.loads(ledger)}
    link = f"{desk.server.url}/j"
    assert entries.keys() == {"", f"{link}/{tab.campaign}", f"{link}/{waiting.campaign}"}
    assert entries[""]["budget"] == 9
    mine = entries[f"{link}/{tab.campaign}"]
    assert (mine["cost"], len(mine["reports"])) == (3, 3)
    for secret in ("qcw_", "qci_", "drafts", "upload", '"code"'):
        assert secret not in ledger


def test_the_browser_is_asked_to_keep_the_data(joined):
    tab = joined()
    tab.page.evaluate("() => { navigator.storage.persist = async () => true; }")
    assert tab.call("persist") is True
    tab.page.evaluate("""() => {
      Object.defineProperty(navigator, "storage", { value: undefined });
    }""")
    assert tab.call("persist") is False


@pytest.mark.nightly
def test_forgetting_leaves_nothing(joined, desk):
    first, second = joined(), joined()
    second.call("commit", YES)
    page = second.page.context.new_page()
    page.goto(f"{desk.server.url}/j/{second.campaign}")
    page.evaluate(KEEP_PAGE)
    page.close()
    second.call("forget")
    scopes = second.page.evaluate(SCOPES)
    assert [urlsplit(scope).path for scope in scopes] == ["/j/of-something-else/"]
    assert second.page.evaluate("() => caches.keys()") == []
    assert second.look("state") == "new"
    assert first.run("everything") == []
    assert refusal(first.call("commit", YES)) == "refusal.not-joined"


@pytest.mark.grid
@pytest.mark.parametrize(
    ("answers", "key"),
    [([], "no-answer"), ([["t0", None]], "no-answer"), (YES, "too-many")],
)
def test_too_few_or_too_many_answers_are_refused(joined, desk, answers, key):
    tab = joined(desk.campaign(answers_per_participant=2))
    assert refusal(tab.call("commit", answers)) == f"refusal.{key}"
    assert "no such task" in refusal(tab.call("commit", [["t9", "yes"]]))


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
    tab.call("commit", YES)
    desk.client.post(f"/campaigns/{tab.campaign}/close").raise_for_status()
    assert refusal(tab.call("send")) == "refusal.campaign-closed"


def test_every_refusal_has_its_words():
    said = json.loads((WORKER / "messages" / "en.json").read_text("utf-8"))
    texts = "".join(file.read_text("utf-8") for file in (WORKER / "device").iterdir())
    for key in re.findall(r'"(refusal\.[a-z-]+)"', texts):
        assert key in said
