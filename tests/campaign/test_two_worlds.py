"""Nobody but the worker can tell two worlds apart in which one worker did something, or did not.

Both are asked the same, on every route, by every kind of observer; statuses, headers and bytes
agree until a release. A new route fails until `asked_routes` has a row for it.
"""

from contextlib import contextmanager

import numpy as np
import pytest
from tests.campaign.asked_routes import (
    API,
    CODE,
    JOINING,
    LAST,
    NOBODY,
    OWN,
    observers,
    places,
    rows,
)
from tests.campaign.timed_campaigns import area, copies, seconds
from tests.campaign.two_worlds import IN_ROUNDS, LEAST, Person, World, past, world
from tests.nightly import by_day, nightly

import quietcrowd as qc
from quietcrowd.campaign.server import incoming
from quietcrowd.campaign.store import allotments
from quietcrowd.campaign.terms.tokens import new_token
from quietcrowd.mechanisms.randomized_response import RandomizedAmong

pytestmark = pytest.mark.slow

ACTS = {
    "joins": (["join"], []),
    "moves": (["join", "move"], []),
    "answers": (["join", "place", "send"], ["join"]),
    "leaves before sending": (["join", "leave"], ["join", "place"]),
    "leaves": (["join", "place", "send", "leave"], ["join", "place", "send"]),
    "leaves when shown": (["leave"], []),
}
"""What the worker does in one world, and in the other one. In the first two, the invite is reserved
or free: whoever has it, but not the code, does all that can be done with it."""

OTHERWISE = {
    "chooses": (["choose"], ["join"]),
    "moves otherwise": (["join", "move otherwise"], ["join", "move"]),
    "reports otherwise": (["choose", "place"], ["join", "place", "send"]),
    "reports again": (["join", "place", "send", "send"], ["join", "place", "send"]),
}
"""The same invite, but another entry of the menu, and another slot; or the same once more."""

REVEALING = "answers"
"""The act that whoever has the worker's link can find out, by trying it."""

BURST = 400
LOADS = {
    "none": {"fresh": True, "requests_per_second": 0, "joins_per_minute": 0},
    "strangers": {"fresh": True, "requests_per_second": 1e-6, "burst": BURST},
    "all": {
        "fresh": False,
        **{"requests_per_second": 1e-6, "burst": 3, "joins_per_minute": 1e-6, "joins_at_once": 1},
    },
}
"""`strangers`: others have used up what all strangers share, and each request comes from a source
of its own. `all`: each observer also comes from one source, and soon uses up its limits.
"""

REREAD = [
    OWN,
    *(
        f"{OWN}/{one}"
        for one in ("invites", "funnel", "excluded", "results", "truths", "estimates", "shares")
    ),
]


@pytest.fixture(scope="module")
def pasts(tmp_path_factory):
    """Return a way to have a past of a kind of campaign, made once."""
    made = {}

    def find(*kind):
        if kind not in made:
            [*usual, members] = (*kind, {}) if kind[-1] != "in rounds" else (*kind[:-1], IN_ROUNDS)
            made[kind] = past(tmp_path_factory.mktemp("worlds") / "past", *usual, **members)
        return made[kind]

    return find


@pytest.fixture(autouse=True)
def held_shortly(monkeypatch):
    """Hold back the refusals of those who ask too often for a moment: here they are many."""
    monkeypatch.setattr(incoming, "_HOLD", 0.001)


@contextmanager
def two_worlds(told, tmp_path, worker, act, load="none"):
    """Give two worlds after a worker's act; strangers have used up their rate where load says."""
    pair = [world(told, tmp_path / name, **LOADS[load]) for name in ("one", "other")]
    try:
        for one, steps in zip(pair, {**ACTS, **OTHERWISE}[act], strict=True):
            for step in steps:
                one.act(worker, step)
            one.infer()
            for _ in range(BURST if load == "strangers" else 0):
                one.ask("others", new_token("qcw_"), "GET", "/api/v1/me")
        yield pair
    finally:
        for one in pair:
            one.server.stop()


def differences(pair: list[World], me, asked, route, others=("HEAD", "OPTIONS")) -> list:
    """Ask one route in both worlds; return in what they differ: who asked what, and what came."""
    method, template = route
    found = []
    for request in asked[route]:
        usual = {name: value for name, value in request.items() if name != "named"}
        url = template.format(**{**places(pair[0].past, me), **request.get("named", {})})
        kinds = [(method, usual)]
        if method == "GET" and me.thorough:
            kinds += [(other, {**usual, "headers": {"Origin": "null"}}) for other in others]
        for kind, members in kinds:
            first, second = (
                one.seen(one.ask(me.name, me.token, kind, url, **members)) for one in pair
            )
            if first != second:
                found.append((me.name, kind, url, members, first, second))
    return found


def replay(pair: list[World], everybody, left_out=()) -> list:
    """Return all differences: of what ends nothing first, and then of the rest."""
    asks = [(one, rows(pair[0].past, one)) for one in everybody]
    first = [(me, asked, route) for me, asked in asks for route in asked if route not in LAST]
    requester = next((me, asked) for me, asked in asks if me.name == "requester")
    found = [one for step in first for one in differences(pair, *step)]
    for route in LAST:
        if route in left_out:
            continue
        for me, asked in asks:
            found += differences(pair, me, asked, route)
        for template in REREAD:
            found += differences(pair, *requester, ("GET", template), others=())
    return found


@pytest.mark.nightly
def test_every_route_of_the_application_is_asked(pasts, tmp_path):
    told = pasts("invite")
    with two_worlds(told, tmp_path, told.late, "joins") as (one, _):
        routes = {
            (method, route.path_format)
            for route in one.server.app.routes
            for method in route.methods - {"HEAD"}
        }
    [*_, somebody] = observers(told, None, link_joins=True)
    assert routes == rows(told, somebody).keys()


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("act", "join_mode", "load"),
    [
        (act, mode, load) if by_day else nightly(act, mode, load)
        for act in ACTS
        for mode in ("invite", "open")
        for load in LOADS
        for by_day in [
            (act, mode, load)
            in {
                ("joins", "invite", "none"),
                ("joins", "invite", "strangers"),
                ("joins", "open", "all"),
                ("answers", "invite", "none"),
            }
        ]
    ],
)
def test_nobody_else_can_tell_whether_a_worker_acted(pasts, tmp_path, act, join_mode, load):
    """The holder of the worker's invite joins, takes the place, sends and withdraws."""
    told = pasts(join_mode)
    shown = act == "leaves when shown"
    worker = told.shown[0] if shown else told.late
    everybody = observers(told, worker.invite, link_joins=act != REVEALING)
    released = [("POST", f"{OWN}/close")] if shown else []
    with two_worlds(told, tmp_path, worker, act, load) as pair:
        published = [one.metrics() for one in pair]
        assert published[0] == published[1]
        found = replay(pair, everybody, left_out=released)
    # where all may join, five observers have left as well: the worker is the sixth when it closes
    completes_a_step = join_mode == "open" and act.startswith("leaves") and not shown
    assert {url.rpartition("/")[-1] for _, _, url, *_ in found} <= (
        {"funnel"} if completes_a_step else set()
    )


@pytest.mark.nightly
@pytest.mark.parametrize("act", by_day(["chooses", "answers"], [*ACTS, *OTHERWISE]))
def test_nor_in_rounds_what_a_worker_chose_or_when_it_reports(pasts, tmp_path, act):
    told = pasts("invite", LEAST, "in rounds")
    shown, sends = (
        act == "leaves when shown",
        act in (REVEALING, "reports otherwise", "reports again"),
    )
    worker = told.shown[0] if shown else told.late
    everybody = observers(told, worker.invite, link_joins=not sends)
    released = [("POST", f"{OWN}/close")] if shown else []
    with two_worlds(told, tmp_path, worker, act) as pair:
        assert [one.metrics() for one in pair[:1]] == [one.metrics() for one in pair[1:]]
        assert replay(pair, everybody, left_out=released) == []


@pytest.mark.nightly
def test_nor_where_each_task_lists_its_options(tmp_path):
    """Two options, and three: what is estimated of each kind does not move, either."""
    domain = qc.Categorical(["no", "yes", "perhaps"])
    among = RandomizedAmong(domain=domain, epsilon=1.0, counts=[2, 3])
    told = past(
        *(tmp_path / "past", "invite"),
        mechanism=among,
        options=(["yes", "perhaps"], ["perhaps", "no", "yes"]),
    )
    everybody = observers(told, told.late.invite, link_joins=False)
    with two_worlds(told, tmp_path, told.late, "answers") as pair:
        url = f"{OWN}/estimates".format(campaign=told.campaign)
        estimated = pair[0].ask("requester", told.key, "GET", url).json()
        assert (estimated["shown"], estimated["reports"]) == (LEAST, 3 * LEAST)
        labels = [row["label"] for row in estimated["items"]]
        assert sorted(labels) == ["no"] * 1 + ["perhaps"] * 3 + ["yes"] * 3
        assert replay(pair, everybody) == []


def test_who_tries_an_invite_learns_that_it_was_used_to_send(pasts, tmp_path):
    told = pasts("invite")
    [*_, link] = observers(told, told.late.invite, link_joins=True)
    with two_worlds(told, tmp_path, told.late, REVEALING) as pair:
        found = differences(pair, link, rows(told, link), ("PUT", JOINING))
    assert [(first[0], second[0]) for *_, first, second in found] == [(403, 403)] * 2 + [
        (403, 201),
        (403, 200),
    ]


def after_a_replacement(one: World, successor: Person, other: Person) -> list:
    """Replace the worker's link; return what is seen by who uses the new one, and another."""
    told = one.past
    url = f"{OWN}/invites/replace".format(campaign=told.campaign)
    answer = one.ask("requester", told.key, "POST", url, json={"invite": told.late.invite})
    found = [one.seen(answer)]
    for person, invite in ((successor, answer.json()["invites"][0]), (other, told.unused)):
        url = JOINING.format(campaign=told.campaign, participant=person.id)
        body = told.join(person, invite=invite)
        found.append(one.seen(one.ask("somebody", person.credential, "PUT", url, json=body)))
        tasks = one.ask("somebody", person.credential, "GET", f"{API}/me/tasks")
        assert len(tasks.json()["allotted"]) == 1
        found.append(one.seen(tasks))
    return found


@pytest.mark.nightly
@pytest.mark.parametrize("members", [{}, IN_ROUNDS], ids=["once", "in rounds"])
@pytest.mark.parametrize(
    "act", by_day(["leaves"], [act for act in ACTS if act != "leaves when shown"])
)
def test_nor_does_a_replaced_link_tell_by_its_tasks(tmp_path, monkeypatch, act, members):
    """Each worker is asked one of two questions, drawn without chance: the same in both worlds."""
    monkeypatch.setattr(allotments, "randbelow", lambda _: 0)
    given = {"answers_per_participant": 1, "allotment": "random", **members}
    told = past(tmp_path / "past", "invite", LEAST, **given)
    people = Person(), Person()
    with two_worlds(told, tmp_path, told.late, act) as pair:
        first, second = (after_a_replacement(one, *people) for one in pair)
    assert [status for status, _ in first] == [201, 201, 200, 201, 200]
    assert first == second


@pytest.mark.nightly
def test_the_comparison_finds_a_worker_who_is_shown_at_once(pasts, tmp_path):
    told = pasts("invite", 1)
    everybody = observers(told, None, link_joins=False)
    with two_worlds(told, tmp_path, told.shown[0], "leaves when shown") as pair:
        found = {me.name for me in everybody if differences(pair, me, rows(told, me), ("GET", OWN))}
    assert found == {"requester", "reader"}


def joining(copy, invite, config_hash):
    """Return a request to join by somebody new."""
    person = Person()
    path = f"/public/campaigns/{copy.campaign}/participants/{person.id}"
    document = {"config_hash": config_hash, "invite": invite}
    return "PUT", path, person.credential, document


def of_requester(method, rest, document=None):
    """Return a request that a requester makes of each campaign."""
    return lambda told, copy: (method, f"/campaigns/{copy.campaign}{rest}", told.key, document)


TIMED = {
    "link": lambda _, copy: joining(copy, copy.invite, "0" * 64),
    "unknown invite": lambda told, copy: joining(copy, new_token("qci_"), told.config_hash),
    "public": lambda _, copy: ("GET", f"/public/campaigns/{copy.campaign}", None, None),
    "another worker": lambda _, copy: ("GET", "/me", copy.credential, None),
    "reports of another worker": lambda _, copy: ("GET", "/me/reports", copy.credential, None),
    **{
        f"GET {rest}": of_requester("GET", rest)
        for rest in (
            *("", "/tasks", "/invites", "/funnel", "/excluded", "/reports", "/truths", "/shares"),
            *("/results", "/results/head", "/estimates", "/results/truths", "/results/workers"),
        )
    },
    "infer": of_requester("POST", "/inferences"),
    "exclude": of_requester("PUT", f"/excluded/{NOBODY}"),
    "erase": of_requester("DELETE", f"/workers/{NOBODY}"),
    "new invites": of_requester("POST", "/invites", {"count": 2, "local": True}),
    "revoke": lambda told, copy: of_requester("POST", "/invites/revoke", {"invite": copy.invite})(
        told, copy
    ),
    "revoke all": of_requester("DELETE", "/invites"),
}
"""Requests, in the order in which they are made of each campaign: the last ones change it."""


def with_link(**members):
    """Return a request to join by the holder of the link, the same person in each campaign."""

    def ask(told, copy):
        path = f"/public/campaigns/{copy.campaign}/participants/{copy.somebody.id}"
        document = {
            "config_hash": told.config_hash,
            "invite": copy.invite,
            **told.chosen,
            **members,
        }
        return "PUT", path, copy.somebody.credential, document

    return ask


def of_somebody(method, path):
    """Return a request of the holder of the link."""
    return lambda _, copy: (method, path, copy.somebody.credential, None)


JOINED = {
    "another code": with_link(code=CODE, continues=True),
    "join": with_link(code=CODE),
    "join again": with_link(),
    **{f"GET {path}": of_somebody("GET", path) for path in ("/me", "/me/tasks", "/me/reports")},
    "place": of_somebody("PUT", "/me/place"),
    "leave": of_somebody("DELETE", "/me"),
}

REPLACED = {
    "replace": lambda told, copy: of_requester("POST", "/invites/replace", {"invite": copy.invite})(
        told, copy
    )
}


@pytest.mark.nightly
def test_nor_by_how_long_answers_take(pasts, tmp_path):
    """2,000 campaigns of each world, mixed by chance, and one request at a time of each.

    Where times say nothing, all orders of ranks are equally likely, whatever else the machine does.
    The area has then a standard deviation of 0.0091, and lies beyond 0.5 ± 0.05 (5.5 of these) with
    a probability of 4.4e-8 for one request, and below 1e-6 for all of them.
    """
    told = pasts("invite")
    assert telling(told, tmp_path / "one", ("join", "place", "send"), TIMED) == {}


@pytest.mark.nightly
@pytest.mark.parametrize("asked", [JOINED, REPLACED], ids=["join", "replace"])
def test_nor_whether_an_invite_is_free_or_reserved(pasts, tmp_path, asked):
    """As above, by who holds the link; with a probability below 1e-6 by chance, too."""
    assert telling(pasts("invite"), tmp_path / "one", ("join",), asked) == {}


OF_ROUNDS = {
    **{name: TIMED[name] for name in ("public", "another worker", "reports of another worker")},
    **{
        f"GET {rest}": of_requester("GET", rest)
        for rest in (
            "",
            "/invites",
            "/funnel",
            "/rounds",
            "/series?task=t0",
            "/results/head?round=0",
        )
    },
    "infer": TIMED["infer"],
}


@pytest.mark.nightly
@pytest.mark.parametrize(
    ("before", "steps", "asked"),
    [
        ((), ("join", "place", "send"), {**OF_ROUNDS, **REPLACED}),
        (("join",), ("have chosen otherwise",), {**OF_ROUNDS, **JOINED, **REPLACED}),
    ],
    ids=["reported", "chosen otherwise"],
)
def test_nor_in_rounds_by_choice_slot_or_reports(pasts, tmp_path, before, steps, asked):
    """As above, in rounds; with a probability below 1e-6 by chance, too."""
    told = pasts("invite", LEAST, "in rounds")
    assert telling(told, tmp_path / "one", steps, asked, before) == {}


def telling(told, folder, steps, asked, before=()):
    """Return which requests tell by their time whether the worker took steps, and how well."""
    one = world(told, folder, fresh=True, requests_per_second=0, joins_per_minute=0)
    try:
        some = copies(one, steps, before)
        acted = np.array([copy.acted for copy in some])
        address = one.server.url.removeprefix("http://")
        found = {
            name: area(seconds(address, some, lambda copy, ask=ask: ask(told, copy)), acted)
            for name, ask in asked.items()
        }
    finally:
        one.server.stop()
    return {name: value for name, value in found.items() if abs(value - 0.5) > 0.05}
