"""Menus and rounds at the server: who may send what, and when it is shown."""

import json
from collections import Counter
from itertools import pairwise, product
from types import SimpleNamespace

import pytest
from tests.campaign.clocks import DAY, FIRST, HOUR, ROUNDS, Clock
from tests.campaign.people import YES_NO, Running, check_problem, new_desk
from tests.campaign.promises import PROMISES

from quietcrowd.campaign.results.inference_process import Inferrer
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.writer import RetentionKeeper
from quietcrowd.campaign.store import choices
from quietcrowd.campaign.terms.canonical import canonical_json
from quietcrowd.campaign.terms.rounds import Rounds

MENU = [
    {"total_epsilon": 8.0, "share": 0.3},
    {"total_epsilon": 1.0, "share": 0.7},
]


TERMS = {**ROUNDS, "cap": ROUNDS["count"], "division": "crowd", "facts": "fresh"}
"""Rounds as a configuration has them, without window and step."""


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def desk(new_database, clock):
    """Return a requester of a server with a clock of its own, which infers when it is told."""
    unlimited = {"requests_per_second": 0, "joins_per_minute": 0, "infer": False}
    running = Running(Settings(database=new_database, **unlimited), clock=clock).start()
    yield new_desk(running)
    running.stop()


def campaign(desk, tasks=2, **members):
    """Return an open campaign with a menu, from which all may choose."""
    chosen = {"domain": YES_NO.to_dict(), "menu": MENU, "join_mode": "open"}
    return desk.campaign(tasks=tasks, **{**chosen, "at_least": 2, **members})


def joined(desk, one, **members):
    worker = desk.guest(one)
    desk.join(worker, **members).raise_for_status()
    worker.place().raise_for_status()
    return worker


def me(worker):
    return worker.client.get("/me").raise_for_status().json()


def send(worker, round_=None, value=1):
    reports = [worker.report(task["task_id"], value) for task in worker.tasks()]
    return worker.send(*reports, round=round_), reports


def test_a_menu_is_ordered_by_loss_and_a_choice_is_final(desk):
    one = campaign(desk)
    document = desk.client.get(f"/campaigns/{one}").json()
    assert [entry["total_epsilon"] for entry in document["menu"]] == [1.0, 8.0]
    assert [entry["share"] for entry in document["menu"]] == [0.7, 0.3]
    assert document["total_epsilon"] == pytest.approx(8.0)
    config = desk.guest(one).config
    assert [entry["guarantee"]["worker_epsilon"] for entry in config["menu"]["entries"]] == [
        pytest.approx(loss) for loss in (1.0, 8.0)
    ]
    worker = joined(desk, one, choice=1)
    assert (me(worker)["choice"], me(worker)["slot"]) == (1, None)
    assert desk.join(worker, choice=1).status_code == 200
    check_problem(desk.join(worker, choice=0), 409, "choice-fixed")


@pytest.mark.parametrize("choice", [None, 2, -1])
def test_a_menu_requires_one_of_its_choices(desk, choice):
    one = campaign(desk)
    for more in ({}, {"continues": True}):  # no worker goes on without an invite
        check_problem(desk.join(desk.guest(one), choice=choice, **more), 422, "validation")


def test_without_a_menu_there_is_nothing_to_choose(desk):
    one = desk.campaign(join_mode="open")
    check_problem(desk.join(desk.guest(one), choice=0), 422, "validation")
    check_problem(desk.join(desk.guest(one), slot=0), 422, "validation")


def test_reports_follow_the_rule_of_the_chosen_entry(desk):
    domain = {"kind": "interval", "low": 0, "high": 1}
    one = campaign(desk, domain=domain)
    entries = desk.guest(one).config["menu"]["entries"]
    reach = [entry["report"]["value"][1] for entry in entries]
    assert reach[0] > reach[1]  # more noise reaches further
    receipts = [
        send(joined(desk, one, choice=choice), value=reach[0])[0].json() for choice in (0, 1)
    ]
    assert [len(receipt["rejected"]) for receipt in receipts] == [0, 2]


def rounds(desk, **members):
    return campaign(desk, **{"rounds": ROUNDS, **members})


def test_reports_are_accepted_in_the_rounds_of_the_slot(desk, clock):
    one = rounds(desk, rounds={**ROUNDS, "window": 2, "step": 2})
    worker = joined(desk, one, choice=0, slot=1)
    check_problem(send(worker, 1)[0], 409, "round-not-open")
    clock.to(1)
    check_problem(send(worker)[0], 422, "validation")
    for other in (0, 2, 3, -1, 7):
        check_problem(send(worker, other)[0], 409, "round-not-open")
    answer, reports = send(worker, 1)
    assert answer.json()["accepted"] == 2
    clock.to(2, HOUR - 1)
    assert worker.post(*reports, round=1).json() == {
        **answer.json(),
        "accepted": 0,
        "duplicates": 2,
    }
    later = [{**report, "report_id": 32 * "0"} for report in reports]
    assert [one["code"] for one in worker.post(*later, round=1).json()["rejected"]] == [
        "conflict"
    ] * 2
    clock.to(3, -1)
    assert worker.post(*reports, round=1).json()["duplicates"] == 2
    clock.to(3)
    assert send(worker, 3)[0].json()["accepted"] == 2
    assert me(worker)["rounds"] == [1, 3]
    held = worker.client.get("/me/reports").json()["reports"]
    assert sorted(report["round"] for report in held) == [1, 1, 3, 3]


def test_late_reports_are_refused(desk, clock):
    worker = joined(desk, rounds(desk), choice=0, slot=0)
    clock.to(1, HOUR)
    answer, reports = send(worker, 0)
    assert answer.json()["accepted"] == 2
    late = joined(desk, worker.campaign, choice=0, slot=0)
    clock.to(1)
    check_problem(send(late, 0)[0], 409, "round-not-open")
    assert worker.post(*reports, round=0).json()["duplicates"] == 2


def shown(desk, one):
    document = desk.client.get(f"/campaigns/{one}").json()
    return tuple(document[name] for name in ("shown_round", "participants", "reports"))


def keep(desk):
    desk.server.look()


def test_rounds_are_shown_once_they_are_over_and_enough_reported(desk, clock):
    one = rounds(desk)
    people = [joined(desk, one, choice=0, slot=0) for _ in range(3)]
    clock.to(0)
    for worker in people[:2]:
        send(worker, 0)[0].raise_for_status()
    keep(desk)
    assert shown(desk, one) == (None, 0, 0)
    clock.to(1)
    keep(desk)
    assert shown(desk, one) == (0, 2, 4)
    send(people[2], 1)[0].raise_for_status()
    clock.to(2)
    keep(desk)
    assert shown(desk, one) == (0, 2, 4)  # one worker waits for another
    send(people[0], 2)[0].raise_for_status()
    clock.to(3)
    keep(desk)
    assert shown(desk, one) == (2, 3, 8)
    for worker in people:
        send(worker, 3)[0].raise_for_status()
    people[1].client.delete("/me").raise_for_status()
    assert shown(desk, one) == (2, 3, 8)
    clock.to(4)
    keep(desk)  # reports of the first round are deleted, and all of the worker who left
    assert shown(desk, one) == (3, 2, 8)
    assert me(people[0])["rounds"] == [2, 3]


def test_a_campaign_closes_after_its_last_round(desk, clock):
    one = rounds(desk)
    people = [joined(desk, one, choice=0, slot=0) for _ in range(2)]
    for number in range(6):
        clock.to(number)
        keep(desk)
        for worker in people:
            send(worker, number)[0].raise_for_status()
    clock.to(6, HOUR)
    keep(desk)
    assert desk.client.get(f"/campaigns/{one}").json()["state"] == "open"
    clock.to(6)
    keep(desk)
    assert desk.client.get(f"/campaigns/{one}").json()["state"] == "closed"
    assert shown(desk, one) == (5, 2, 8)


def test_one_wrong_reading_of_the_clock_closes_and_shows_nothing(desk, clock):
    """Before, a look three days ahead closed a campaign of hourly rounds, and held the clock."""
    hourly = {**ROUNDS, "length": HOUR, "grace": 600, "count": 24}
    one, keeper = rounds(desk, rounds=hourly), desk.server.app.state.retention
    keeper.close()  # its thread: the looks of this test are all there are
    people = [joined(desk, one, choice=0, slot=0) for _ in range(2)]
    for number in range(2):
        right = clock.now = FIRST + number * HOUR + 60
        for worker in people:
            send(worker, number)[0].raise_for_status()
        for wrong in (3 * DAY, 0, -3 * DAY, 0):
            clock.now = right + wrong
            keeper.look()
            clock.now = right
            document = desk.client.get(f"/campaigns/{one}").json()
            assert (document["state"], document["shown_round"]) == (
                "open",
                number - 1 if number else None,
            )
            assert not desk.server.service.read_clock().held
        clock.now = FIRST + (number + 1) * HOUR + 601
        desk.server.look()
        assert shown(desk, one)[0] == number


def test_the_first_reading_after_a_start_closes_nothing(desk, clock):
    one = rounds(desk)
    clock.to(6)
    service = desk.server.service
    keeper = RetentionKeeper(
        database=service.database, departures=service.departures, clock=clock, changed=print
    )
    keeper.close()  # after one look
    assert desk.client.get(f"/campaigns/{one}").json()["state"] == "open"
    keeper.look()
    assert desk.client.get(f"/campaigns/{one}").json()["state"] == "closed"


PAST = {**ROUNDS, "first": "2026-11-29T23:59:00Z"}


@pytest.mark.parametrize(
    ("members", "field"),
    [
        ({"at_least": 1}, "at_least"),
        ({"rounds": PAST}, "rounds"),
        ({"rounds": {**ROUNDS, "step": 3}, "max_participants": 5}, "max_participants"),
    ],
)
def test_what_prevents_rounds(desk, members, field):
    chosen = {"domain": YES_NO.to_dict(), "total_epsilon": 2.0}
    draft = desk.draft(**chosen, **{"rounds": ROUNDS, "at_least": 2, **members})["id"]
    desk.import_csv(draft, "question\nIs it?\n").raise_for_status()
    found = desk.client.get(f"/campaigns/{draft}/readiness").json()["problems"]
    assert [one["field"] for one in found] == [field]


def test_the_terms_of_a_menu_are_those_of_all_levels(desk):
    draft = desk.draft(domain=YES_NO.to_dict(), menu=MENU, rounds=ROUNDS, at_least=2)["id"]
    desk.import_csv(draft, "question\nIs it?\n").raise_for_status()
    found = desk.client.get(f"/campaigns/{draft}/readiness").raise_for_status().json()
    assert found["ready"]
    config = desk.client.get(f"/campaigns/{draft}/preview").json()["config"]
    for name, lines in (("summary", found["words"]), ("consent", found["sentences"])):
        first, second = (entry[name] for entry in config["menu"]["entries"])
        assert lines == [*first, "Level 2:", *(line for line in second if line not in first)]
        assert len(first) < len(lines) < len(first) + len(second)


def replaced(desk, one, invite):
    url = f"/campaigns/{one}/invites/replace"
    [new] = desk.client.post(url, json={"invite": invite}).raise_for_status().json()["invites"]
    return new


SPLIT = {**ROUNDS, "window": 2, "step": 2}


@pytest.mark.grid
@pytest.mark.parametrize("used", [True, False])
def test_who_replaces_another_begins_a_step_later(desk, clock, used):
    """Whatever the slots, no window has two reports, and the record tells nothing of the other."""
    one = rounds(desk, rounds=SPLIT, join_mode="invite")
    [invite] = desk.invite(one)
    clock.to(1)
    if used:
        first = joined(desk, one, invite=invite, choice=1, slot=1)
        send(first, 1)[0].raise_for_status()
    worker = joined(desk, one, invite=replaced(desk, one, invite), choice=0, slot=0)
    record = me(worker)
    assert [record[name] for name in ("choice", "slot", "after", "rounds")] == [0, 0, 2, [0, 2]]
    clock.to(2)
    check_problem(send(worker, 2)[0], 409, "round-not-open")
    clock.to(4)
    assert send(worker, 4)[0].json()["accepted"] == 2


def test_a_requester_neither_sets_nor_sees_the_slot_of_a_link(desk, clock):
    """Each new link is tried before its worker joins, as if to find one in the wanted rounds."""
    one = rounds(desk, rounds=SPLIT, join_mode="invite")
    [link] = desk.invite(one)
    for number in (-1, 0, 1):
        clock.to(number)
        seen = []
        for slot in (0, 1):
            link = replaced(desk, one, link)
            tried, worker = desk.guest(one), desk.guest(one)
            seen.append(desk.join(tried, link, choice=0, slot=0).raise_for_status().json())
            desk.join(worker, link, choice=0, slot=slot).raise_for_status()
            worker.place().raise_for_status()
            assert me(worker)["slot"] == slot
        first, second = ({**record, "pseudonym": None} for record in seen)
        assert first == second


@pytest.mark.parametrize("step", [1, 2, 3])
def test_any_window_has_one_round_of_all_workers_of_a_link(step):
    """The link is replaced once, or twice, at any time, and each device draws any slot."""
    terms = Rounds.read({**TERMS, "window": step, "step": step})
    for times in product(range(-1, terms.cap), repeat=2):
        for slots in product(range(step), repeat=3):
            after, found = None, []
            for slot, now in zip(slots, (*times, terms.cap), strict=True):
                begun = range(-1 if after is None else after, now)
                found += [at + 1 for at in begun if terms.is_own(at + 1, slot)]
                campaign = SimpleNamespace(
                    config=canonical_json({"rounds": terms.to_dict()}).decode()
                )
                moment = terms.begin(0) + now * terms.length + 1
                after = choices.over_before(campaign, after, moment, None)["after"]
            assert all(later - earlier >= step for earlier, later in pairwise(found))
            assert len(found) <= terms.most


def test_a_clock_that_goes_back_lets_no_one_answer_a_round_again(desk, clock):
    one = rounds(desk, rounds={**ROUNDS, "window": 1, "step": 1}, join_mode="invite")
    [invite] = desk.invite(one)
    clock.to(1)
    send(joined(desk, one, invite=invite, choice=1, slot=0), 1)[0].raise_for_status()
    clock.to(0)
    twice = replaced(
        desk, one, replaced(desk, one, invite)
    )  # the second finds no report of round 1
    worker = joined(desk, one, invite=twice, choice=0, slot=0)
    clock.to(1)
    check_problem(send(worker, 1)[0], 409, "round-not-open")


def test_who_goes_on_elsewhere_keeps_the_choice_and_draws_a_slot(desk):
    one = rounds(desk, rounds=SPLIT, join_mode="invite")
    [invite] = desk.invite(one)
    code = 16 * "7"
    worker = desk.guest(one)
    desk.join(worker, invite, code=code, choice=1, slot=1).raise_for_status()
    elsewhere = desk.guest(one)
    answer = desk.join(elsewhere, invite, code=code, continues=True, choice=0, slot=0)
    assert [answer.json()[name] for name in ("choice", "slot", "after")] == [1, 0, None]
    again = desk.join(elsewhere, invite, code=code, continues=True, choice=0, slot=0)
    assert (again.status_code, again.json()["choice"]) == (200, 1)
    another = desk.join(elsewhere, invite, code=code, continues=True, choice=0, slot=1)
    check_problem(another, 409, "choice-fixed")


def test_reports_that_need_a_round_and_others_are_told_apart(desk, clock):
    worker = joined(desk, desk.campaign(join_mode="open"))
    clock.to(0)
    check_problem(send(worker, 0)[0], 422, "validation")


def test_a_draft_can_lose_its_menu_and_its_rounds(desk):
    made = desk.draft(domain=YES_NO.to_dict(), menu=MENU, rounds=ROUNDS, at_least=2)
    url, tag = f"/campaigns/{made['id']}", '"1"'
    change = {"menu": MENU[::-1], "expected": {"error": 0.1, "guess": 0.5}}
    answer = desk.client.patch(url, json=change, headers={"If-Match": tag})
    assert answer.raise_for_status().json()["expected"] == {"error": 0.1, "guess": 0.5}
    bare = {"menu": None, "rounds": None, "total_epsilon": 3.0}
    answer = desk.client.patch(url, json=bare, headers={"If-Match": answer.headers["ETag"]})
    document = answer.raise_for_status().json()
    assert (document["menu"], document["rounds"], document["expected"]) == (None, None, None)
    assert document["total_epsilon"] == 3.0


@pytest.mark.parametrize(
    ("members", "place"),
    [
        ({"menu": [{"share": 1.0}, *MENU]}, "/menu"),
        ({"menu": [{**MENU[0], "share": 0.5}, MENU[1]]}, "/menu"),
        ({"menu": MENU, "total_epsilon": 1.0}, "/total_epsilon"),
        ({"menu": MENU, "allotment": "suggested", "answers_per_participant": 1}, "/allotment"),
        ({"expected": {"error": 0.1, "guess": 0.5}}, "/expected"),
        ({"rounds": {**ROUNDS, "keep": 33}}, "/rounds"),
        ({"rounds": {**ROUNDS, "window": 3, "step": 2}}, "/rounds"),
        ({"rounds": {**ROUNDS, "count": None}}, "/rounds"),
        ({"rounds": {**ROUNDS, "first": "soon"}}, "/rounds"),
    ],
)
def test_what_no_menu_and_no_rounds_can_be(desk, members, place):
    body = {"title": "Birds", "domain": YES_NO.to_dict(), **PROMISES, **members}
    document = check_problem(desk.client.post("/campaigns", json=body), 422, "validation")
    assert document["errors"][0]["pointer"] == place


def test_the_requester_reads_all_that_workers_would_agree_to(desk):
    made = desk.draft(domain=YES_NO.to_dict(), menu=MENU, rounds=ROUNDS, at_least=2)["id"]
    desk.import_csv(made, "question\nIs it?\n").raise_for_status()
    found = desk.client.get(f"/campaigns/{made}/readiness").raise_for_status().json()
    assert found["ready"]
    for lines in (found["words"], found["sentences"]):
        assert "Level 2:" in lines[1:-1]
    preview = desk.client.get(f"/campaigns/{made}/preview").raise_for_status().json()
    assert len(preview["config"]["menu"]["entries"]) == 2


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")
def test_a_round_with_too_few_left_is_shown_with_the_next(desk, clock):
    """As if who withdrew had never joined; once no round follows, it is not shown at all."""
    one = rounds(desk, at_least=3, rounds={**ROUNDS, "keep": 3})
    people = [joined(desk, one, choice=0, slot=0) for _ in range(8)]
    inferrer = Inferrer(desk.server.database)

    def play(number, senders):
        clock.to(number)
        keep(desk)
        for place in senders:
            send(people[place], number)[0].raise_for_status()

    def read():
        inferrer.infer(bytes.fromhex(one))
        items = desk.client.get(f"/campaigns/{one}/rounds").raise_for_status().json()["items"]
        return [(row["round"], row["participants"]) for row in items]

    def exported():
        lines = desk.client.get(f"/campaigns/{one}/reports").raise_for_status().text.splitlines()
        return Counter(json.loads(line)["round"] for line in lines[1:])

    play(0, range(3))
    play(1, range(3))
    play(2, range(3, 7))
    assert read() == [(0, 3), (1, 3)]
    for worker in people[:2]:
        worker.client.delete("/me").raise_for_status()
    assert read() == [(0, 3), (1, 3)]  # nothing is told before the next release
    play(3, range(3, 6))
    assert read() == [(2, 5)]
    play(4, [3])
    assert read() == [(2, 5), (3, 3)]
    desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    assert read() == [(2, 5), (3, 3)]
    assert exported() == {2: 12, 3: 6}  # rounds 0 and 1 have the number of the one they belong to
    people[4].client.delete("/me").raise_for_status()
    assert read() == [(2, 4)]
    assert exported() == {2: 10}
    assert shown(desk, one)[::2] == (2, 10)
    for worker in (people[3], people[6]):
        worker.client.delete("/me").raise_for_status()
    assert shown(desk, one)[::2] == (None, 0)
    assert not exported()


def people_of(desk, one):
    items = desk.client.get(f"/campaigns/{one}/rounds").raise_for_status().json()["items"]
    return [row["participants"] for row in items]


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")
def test_an_excluded_worker_is_in_no_round_of_the_next_results(desk, clock):
    one = rounds(desk)
    people = [joined(desk, one, choice=0, slot=0) for _ in range(3)]
    for number in range(2):
        clock.to(number)
        keep(desk)
        for worker in people:
            send(worker, number)[0].raise_for_status()
    clock.to(2)
    keep(desk)
    name = me(people[0])["pseudonym"]
    desk.client.put(f"/campaigns/{one}/excluded/{name}").raise_for_status()
    inferrer = Inferrer(desk.server.database)
    inferrer.infer(bytes.fromhex(one))
    assert people_of(desk, one) == [3, 3]
    desk.client.post(f"/campaigns/{one}/close").raise_for_status()
    inferrer.infer(bytes.fromhex(one))
    assert people_of(desk, one) == [2, 2]
    assert shown(desk, one) == (1, 3, 12)
