import pytest
from attrs import evolve
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.people import YES_NO, check_problem, new_desk

import quietcrowd as qc
from quietcrowd.campaign.server.api import campaigns
from quietcrowd.campaign.terms.settings import MAX_REPORTS
from quietcrowd.mechanisms import MatrixFactorization, Mechanism

MECHANISM = qc.RandomizedResponse(domain=YES_NO, epsilon=1.0).to_dict()


def test_a_draft_says_where_it_is(desk):
    response = desk.client.post("/campaigns", json={"title": "Birds", "mechanism": MECHANISM})
    assert response.status_code == 201
    made = response.json()
    assert response.headers["location"] == f"/api/v1/campaigns/{made['id']}"
    assert (made["state"], made["tasks"], made["config_hash"]) == ("draft", 0, None)
    assert desk.client.get(f"/campaigns/{made['id']}").json() == made


def test_the_mechanism_follows_from_a_total_and_the_number_of_answers(desk):
    asked = {"title": "Birds", "domain": YES_NO.to_dict(), "answers_per_participant": 4}
    for total, expected in ((3.0, 0.75), (None, 1.25)):
        made = desk.client.post("/campaigns", json={**asked, "total_epsilon": total})
        held = Mechanism.from_dict(made.raise_for_status().json()["mechanism"])
        assert 0.999 * expected < held.epsilon <= expected
        assert held.guarantee(answers=4).total_epsilon <= 4 * expected


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"domain": None}, "/domain"),
        ({"domain": {"kind": "secret"}}, "/domain"),
        ({"domain": {"kind": "categorical", "labels": ["secret"]}}, "/"),
        ({"total_epsilon": 0}, "/total_epsilon"),
        ({"total_epsilon": -5}, "/total_epsilon"),
        ({"total_epsilon": "secret"}, "/total_epsilon"),
        ({"mechanism": MECHANISM}, "/domain"),
        ({"mechanism": MECHANISM, "domain": None}, "/total_epsilon"),
    ],
)
def test_a_total_that_cannot_be_is_refused(desk, changed, pointer):
    asked = {"title": "B", "domain": YES_NO.to_dict(), "answers_per_participant": 4}
    refused = desk.client.post("/campaigns", json={**asked, "total_epsilon": 3, **changed})
    errors = check_problem(refused, 422, "validation")["errors"]
    assert errors[0]["pointer"].startswith(pointer)
    assert "secret" not in refused.text


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_can_be_chosen(desk, name):
    made = desk.client.get(f"/campaigns/{desk.campaign(MECHANISMS[name])}").json()
    assert Mechanism.from_dict(made["mechanism"]) == MECHANISMS[name]
    assert made["state"] == "open"


@pytest.mark.parametrize(
    ("changed", "pointer"),
    [
        ({"title": ""}, "/title"),
        ({"title": "a\0b"}, "/title"),
        *(({"title": f"Birds{end}secret"}, "/title") for end in "\n\t\x1b\x7f\x85\u2028"),
        ({"title": "secret" * 40}, "/title"),
        ({"mechanism": {}}, "/mechanism"),
        ({"mechanism": {**MECHANISM, "epsilon": 2.0}}, "/mechanism"),
        ({"mechanism": {**MECHANISM, "secret": 1}}, "/mechanism"),
        ({"mechanism": {**MECHANISM, "mechanism": ["secret"]}}, "/mechanism"),
        ({"mechanism": {**MECHANISM, "domain": {"kind": "ordinal", "levels": [3, 2]}}}, "/mech"),
        (
            {
                "mechanism": {
                    **MECHANISM,
                    "domain": {"kind": "ordinal", "levels": list(range(4_000))},
                }
            },
            "/mechanism",
        ),
        ({"method": {"method": "secret"}}, "/method"),
        ({"max_participants": 0}, "/max_participants"),
        ({"answers_per_participant": True}, "/answers_per_participant"),
        ({"linked": 0}, "/linked"),
        ({"join_mode": "secret"}, "/join_mode"),
        ({"requester": "secret\nme"}, "/requester"),
        ({"contact": "secret" * 40}, "/contact"),
        ({"purpose": "secret" * 200}, "/purpose"),
        ({"retention_days": 0}, "/retention_days"),
        ({"retention_days": 3_651}, "/retention_days"),
        ({"at_least": 0}, "/at_least"),
        ({"at_least": 5.0}, "/at_least"),
        ({"at_least": None}, "/at_least"),
        ({"completion_code": ""}, "/completion_code"),
        ({"completion_code": "x" * 101}, "/completion_code"),
        ({"completion_code": "two\nlines"}, "/completion_code"),
        ({"completion_code": 7}, "/completion_code"),
        ({"closes_on": "2099-02-30"}, "/closes_on"),
        ({"closes_on": "secret"}, "/closes_on"),
        ({"closes_on": "2020-01-01"}, "/closes_on"),
        ({"closes_on": 20991231}, "/closes_on"),
        ({"as_of": "2026-02-30"}, "/as_of"),
        ({"as_of": "0999-01-01"}, "/as_of"),
        ({"as_of": "20261201"}, "/as_of"),
        ({"as_of": 20261201}, "/as_of"),
        ({"drafts": 1}, "/drafts"),
        ({"secret": 1}, ""),
    ],
)
def test_what_a_campaign_cannot_be_is_refused_and_not_shown(desk, changed, pointer):
    response = desk.client.post(
        "/campaigns", json={"title": "Birds", "mechanism": MECHANISM, **changed}
    )
    document = check_problem(response, 422, "validation")
    assert document["errors"][0]["pointer"].startswith(pointer)
    assert "secret" not in response.text


def changed(desk, campaign, **change):
    """Return the answer to a change of a campaign as it is."""
    url = f"/campaigns/{campaign}"
    version = desk.client.get(url).headers["ETag"]
    return desk.client.patch(url, json=change, headers={"If-Match": version})


def test_the_last_day_is_public_and_can_be_changed_while_a_campaign_is_open(desk):
    campaign = desk.campaign(closes_on="2099-12-31")
    public = desk.client.get(f"/public/campaigns/{campaign}").json()
    assert public["closes_on"] == "2099-12-31"
    assert "closes_on" not in public["config"]
    for day in ("2100-01-31", None):
        assert changed(desk, campaign, closes_on=day).json()["closes_on"] == day
        assert desk.client.get(f"/public/campaigns/{campaign}").json() == {
            **public,
            "closes_on": day,
        }
    check_problem(changed(desk, campaign, closes_on="2020-01-01"), 422, "validation")
    desk.client.post(f"/campaigns/{campaign}/close").raise_for_status()
    check_problem(changed(desk, campaign, closes_on="2099-12-31"), 409, "campaign-closed")


def test_a_draft_whose_day_is_over_is_not_opened(server, desk):
    draft = desk.draft(closes_on="2099-12-31")["id"]
    desk.import_csv(draft, "a\n1\n").raise_for_status()
    before = server.service
    server.app.state.service = evolve(before, clock=lambda: 4_102_444_800.0)
    try:
        check_problem(desk.client.post(f"/campaigns/{draft}/open"), 409, "not-ready")
    finally:
        server.app.state.service = before


def test_pages_go_through_all_campaigns_once(desk):
    made = {desk.draft()["id"] for _ in range(5)}
    seen, cursor = [], None
    while True:
        page = desk.client.get(
            "/campaigns", params={"limit": 2} | ({"cursor": cursor} if cursor else {})
        ).json()
        seen += [item["id"] for item in page["items"]]
        cursor = page["next_cursor"]
        if cursor is None:
            break
    assert sorted(seen) == sorted(made)


@pytest.mark.parametrize("cursor", ["secret", "c2VjcmV0", "é", "===="])
def test_a_cursor_is_one_that_was_given(desk, cursor):
    response = desk.client.get("/campaigns", params={"cursor": cursor})
    document = check_problem(response, 422, "validation")
    assert document["errors"][0]["pointer"] == "/query/cursor"
    assert "secret" not in response.text


def test_others_campaigns_are_not_there(server, desk):
    theirs = new_desk(server).campaign()
    for method, path in [
        ("GET", ""),
        ("POST", "/open"),
        ("POST", "/close"),
        ("DELETE", ""),
        ("GET", "/tasks"),
        ("DELETE", "/tasks"),
        ("GET", "/invites"),
        ("DELETE", "/invites"),
    ]:
        response = desk.client.request(method, f"/campaigns/{theirs}{path}")
        check_problem(response, 404, "not-found")


def test_what_is_linked_is_declared_or_found(desk):
    made = desk.draft(linked=2)
    url = f"/campaigns/{made['id']}"
    assert made["linked"] == 2
    rows = "\n".join(f"t{place},Do you take drugs?,{place}" for place in range(3))
    desk.import_csv(made["id"], f"task,question,n\n{rows}\n")
    document = check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")
    assert "linked must be at least the number of tasks" in document["detail"]
    version = desk.client.get(url).headers["etag"]
    changed = desk.client.patch(url, json={"linked": None}, headers={"If-Match": version}).json()
    assert changed["linked"] is None
    assert desk.client.post(f"{url}/open").json()["state"] == "open"
    config = desk.client.get(f"/public{url}").json()["config"]
    assert config["linked"] == 3
    assert config["consent"][0].startswith("About a fact that up to 3 of your answers share")


def test_the_configuration_is_fixed_when_a_campaign_opens(desk):
    draft = desk.draft()
    url = f"/campaigns/{draft['id']}"
    check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")
    desk.import_csv(draft["id"], "task,a\nt1,1\n")
    opened = desk.client.post(f"{url}/open").json()
    assert opened["state"] == "open"
    public = desk.client.get(f"/public{url}").json()
    assert public["config_hash"] == opened["config_hash"]
    assert public["config"]["campaign"] == draft["id"]
    check_problem(desk.client.post(f"{url}/open"), 409, "bad-state")
    check_problem(desk.import_csv(draft["id"], "task,a\nt2,1\n"), 409, "bad-state")
    check_problem(desk.client.delete(f"{url}/tasks"), 409, "bad-state")


def test_where_every_task_is_reported_there_are_no_more_than_fit(desk):
    draft = desk.draft(MECHANISMS["one-layer with NULL"])
    desk.import_csv(draft["id"], "a\n" + "1\n" * (MAX_REPORTS + 1)).raise_for_status()
    check_problem(desk.client.post(f"/campaigns/{draft['id']}/open"), 409, "not-ready")


def test_a_campaign_closes_once(desk):
    url = f"/campaigns/{desk.campaign()}"
    assert desk.client.post(f"{url}/close").json()["state"] == "closed"
    check_problem(desk.client.post(f"{url}/close"), 409, "bad-state")
    check_problem(desk.client.post(f"{url}/open"), 409, "bad-state")
    check_problem(desk.client.post(f"/campaigns/{desk.draft()['id']}/close"), 409, "bad-state")


def test_changes_name_the_version_that_they_change(desk):
    draft = desk.draft()
    url = f"/campaigns/{draft['id']}"
    check_problem(desk.client.patch(url, json={"title": "B"}), 428, "version-missing")
    stale = {"If-Match": '"0"'}
    check_problem(
        desk.client.patch(url, json={"title": "B"}, headers=stale), 412, "version-mismatch"
    )
    etag = desk.client.get(url).headers["etag"]
    changed = desk.client.patch(
        url,
        json={"title": "B", "max_participants": 3, "method": qc.MajorityVote().to_dict()},
        headers={"If-Match": etag},
    )
    assert changed.json()["title"] == "B"
    assert changed.json()["max_participants"] == 3
    assert changed.headers["etag"] != etag
    again = desk.client.patch(
        url, json={"max_participants": None}, headers={"If-Match": changed.headers["etag"]}
    )
    assert again.json()["max_participants"] is None
    nothing = desk.client.patch(
        url, json={"title": None}, headers={"If-Match": again.headers["etag"]}
    )
    check_problem(nothing, 422, "validation")


@pytest.mark.grid
@pytest.mark.parametrize(
    "change",
    [
        {"title": "B"},
        {"description": "B"},
        {"domain": YES_NO.to_dict()},
        {"total_epsilon": 3.0},
        {"mechanism_name": "optimal"},
        {"join_mode": "open"},
        {"answers_per_participant": 1},
        {"linked": 2},
        {"requester": "B"},
        {"contact": "B"},
        {"purpose": "B"},
        {"retention_days": 2},
        {"at_least": 1},
        {"completion_code": "another"},
        {"completion_code": None},
    ],
)
def test_what_workers_agree_to_is_fixed_once_a_campaign_is_open(desk, change):
    url = f"/campaigns/{desk.campaign()}"
    etag = {"If-Match": desk.client.get(url).headers["etag"]}
    check_problem(desk.client.patch(url, json=change, headers=etag), 409, "campaign-open")
    fine = desk.client.patch(url, json={"max_participants": 7}, headers=etag)
    assert fine.json()["max_participants"] == 7


def test_deleting_a_campaign_deletes_all_that_belongs_to_it(desk):
    campaign = desk.campaign()
    worker = desk.worker(campaign)
    sent = worker.send_values(1, 0)
    assert desk.client.delete(f"/campaigns/{campaign}").status_code == 204
    check_problem(desk.client.get(f"/campaigns/{campaign}"), 404, "not-found")
    check_problem(worker.client.get(f"/public/campaigns/{campaign}"), 404, "not-found")
    check_problem(worker.client.get("/me"), 401, "credential")
    check_problem(worker.send(*sent), 401, "credential")


def test_others_write_while_a_campaign_opens_and_a_change_stops_it(desk, monkeypatch):
    draft = desk.draft()["id"]
    desk.import_csv(draft, "task\nt1\n").raise_for_status()
    build = campaigns.fixed_configuration

    def build_slowly(*given):
        monkeypatch.setattr(campaigns, "fixed_configuration", build)
        desk.import_csv(draft, "task\nt2\n").raise_for_status()
        return build(*given)

    monkeypatch.setattr(campaigns, "fixed_configuration", build_slowly)
    url = f"/campaigns/{draft}/open"
    check_problem(desk.client.post(url), 412, "version-mismatch")
    opened = desk.client.post(url).raise_for_status().json()
    assert (opened["state"], opened["tasks"]) == ("open", 2)


def test_a_method_has_a_largest_number_of_iterations(desk):
    body = {"title": "Birds", "mechanism": MECHANISM}
    for most, status in ((10_000, 201), (10_001, 422)):
        method = qc.DawidSkene(max_iter=most).to_dict()
        made = desk.client.post("/campaigns", json={**body, "method": method})
        assert made.status_code == status
    assert made.json()["errors"][0]["code"] == "method"


@pytest.mark.parametrize(
    ("mechanism", "method"),
    [
        ("one-layer", qc.Mean()),
        ("laplace", qc.MajorityVote()),
    ],
)
def test_a_method_that_cannot_read_the_reports_is_refused(desk, mechanism, method):
    body = {
        "title": "T",
        "mechanism": MECHANISMS[mechanism].to_dict(),
        "join_mode": "open",
        "method": method.to_dict(),
    }
    refused = check_problem(desk.client.post("/campaigns", json=body), 422, "validation")
    assert [one["pointer"] for one in refused["errors"]] == ["/method"]
    draft = desk.client.post("/campaigns", json=body | {"method": None}).raise_for_status()
    url = f"/campaigns/{draft.json()['id']}"
    change = {"method": method.to_dict()}
    headers = {"If-Match": draft.headers["etag"]}
    check_problem(desk.client.patch(url, json=change, headers=headers), 422, "validation")
    assert desk.client.get(url).json()["method"] is None


@pytest.mark.parametrize("name", ["requester", "contact", "purpose"])
def test_nothing_opens_before_it_says_who_asks_and_what_for(desk, name):
    draft = desk.draft(**{name: " "})
    url = f"/campaigns/{draft['id']}"
    desk.import_csv(draft["id"], "task,a\nt1,1\n")
    document = check_problem(desk.client.post(f"{url}/open"), 409, "not-ready")
    assert f"--{name}" in document["detail"]
    etag = {"If-Match": desk.client.get(url).headers["etag"]}
    check_problem(desk.client.patch(url, json={name: None}, headers=etag), 422, "validation")
    changed = desk.client.patch(url, json={name: "Told", "at_least": 7}, headers=etag).json()
    assert (changed[name], changed["at_least"]) == ("Told", 7)
    assert desk.client.post(f"{url}/open").json()[name] == "Told"
    config = desk.client.get(f"/public{url}").json()["config"]
    assert (config["version"], config[name], config["at_least"]) == (5, "Told", 7)


def test_at_least_five_workers_are_shown_together_unless_a_draft_says_otherwise(desk):
    made = desk.client.post("/campaigns", json={"title": "T", "mechanism": MECHANISM}).json()
    assert (made["at_least"], made["retention_days"]) == (5, 90)
    assert (made["requester"], made["contact"], made["purpose"]) == ("", "", "")


@pytest.mark.parametrize("variant", ["ridge", "paper"])
def test_what_no_page_can_randomise_with_is_refused_with_the_way_out(desk, variant):
    more = {"fill": 0.0, "ridge": 0.0} if variant == "paper" else {}
    mechanism = MatrixFactorization(
        domain=qc.Ordinal(range(5)), epsilon=1.0, rank=3, variant=variant, **more
    )
    answer = desk.client.post("/campaigns", json={"title": "T", "mechanism": mechanism.to_dict()})
    [rule] = check_problem(answer, 422, "validation")["errors"]
    assert rule["pointer"] == "/mechanism"
    assert rule["message"].endswith('Take variant "fill" or "statistics".')


@pytest.mark.parametrize(
    ("said", "kept"),
    [
        ({}, True),
        ({"drafts": False}, False),
        ({"join_mode": "open"}, False),
        ({"join_mode": "open", "drafts": True}, True),
    ],
)
def test_devices_may_keep_drafts_if_the_requester_says_so(desk, said, kept):
    made = desk.draft(**said)
    url = f"/campaigns/{made['id']}"
    assert made["drafts"] is kept
    etag = {"If-Match": '"1"'}
    assert desk.client.patch(url, json={"drafts": None}, headers=etag).status_code == 422
    changed = desk.client.patch(url, json={"drafts": not kept}, headers=etag).raise_for_status()
    assert changed.json()["drafts"] is not kept
    opened = desk.client.get(f"/public/campaigns/{desk.campaign(**said)}/config").json()
    assert (opened["version"], opened["drafts"]) == (5, kept)


def test_a_completion_code_can_be_changed_while_a_campaign_is_a_draft(desk):
    made = desk.draft(completion_code="first")
    url = f"/campaigns/{made['id']}"
    for code in ("second", None):
        etag = {"If-Match": desk.client.get(url).headers["etag"]}
        changed = desk.client.patch(url, json={"completion_code": code}, headers=etag)
        assert changed.raise_for_status().json()["completion_code"] == code
