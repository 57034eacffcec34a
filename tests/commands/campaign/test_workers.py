"""``quietcrowd campaign workers``, against a server."""

import json

import pytest
from tests.campaign.promises import WORDS

import quietcrowd as qc
from quietcrowd.campaign.results.inference_process import Inferrer

NOBODY = "worker-0123456789abcdef"
ANY = "f" * 32


def name_of(worker):
    return worker.client.get("/me").json()["pseudonym"]


def crowd(desk, **members):
    campaign = desk.campaign(method=qc.MajorityVote().to_dict(), **members)
    workers = [desk.worker(campaign) for _ in range(3)]
    for worker in workers:
        worker.send_values(1, 0)
    return campaign, [name_of(worker) for worker in workers]


def test_workers_are_excluded_and_included_again(run, at_desk, server):
    campaign, names = crowd(at_desk, at_least=1)
    assert run("campaign", "workers", "exclude", campaign) == (0, "", "No worker is excluded.\n")
    status, printed, errors = run("campaign", "workers", "exclude", campaign, *names[:2])
    assert (status, errors) == (0, "")
    assert printed == "".join(f"{one}  excluded\n" for one in sorted(names[:2]))
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    status, printed, errors = run("campaign", "export", campaign, "--json")
    assert json.loads(printed)["excluded"] == sorted(names[:2])
    assert "excluded: 2 workers (worker-" in errors
    status, printed, _ = run("campaign", "workers", "include", campaign, names[0], "--json")
    assert json.loads(printed) == [{"worker": names[1], "state": "excluded"}]


def test_who_is_to_be_excluded_later_is_told(run, at_desk):
    campaign = at_desk.campaign(at_least=5)
    status, printed, errors = run("campaign", "workers", "exclude", campaign, NOBODY)
    assert (status, printed) == (0, f"{NOBODY}  to be excluded\n")
    assert "with the next release" in errors


def test_a_worker_is_erased_after_a_question(run, at_desk, monkeypatch):
    campaign, names = crowd(at_desk, at_least=1)
    monkeypatch.setattr("quietcrowd.commands.campaign.workers.agreed", lambda _: False)
    status, _, errors = run("campaign", "workers", "erase", campaign, names[0])
    assert (status, errors) == (1, "Nothing was deleted.\n")
    assert at_desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 3
    for name in (names[0], names[0], NOBODY):
        status, _, errors = run("campaign", "workers", "erase", campaign, name, "--yes")
        assert (status, "contains no data of this worker" in errors) == (0, True)
    assert at_desk.client.get(f"/campaigns/{campaign}").json()["participants"] == 2


@pytest.mark.usefixtures("at_desk")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ("workers", "exclude", ANY, "me"),
            "a worker's pseudonym has the form worker-0123456789abcdef",
        ),
        (("workers", "include", ANY), "Missing argument 'WORKER'"),
        (("workers", "exclude", ANY, NOBODY), "The resource does not exist"),
        (("workers", "erase", ANY, "me"), "a worker's pseudonym has the form"),
        (("workers", "erase", ANY, NOBODY), "The resource does not exist"),
        (("close", ANY, "--closes-on", "2099-12-31"), "The resource does not exist"),
    ],
)
def test_what_goes_wrong_is_one_sentence(run, words, told):
    status, printed, error = run("campaign", *words)
    assert (status, printed) == (2, "")
    assert told in error
    assert len(error.strip().splitlines()) == 1


def test_a_day_that_questions_are_about_is_told_to_workers(run, at_desk, tmp_path):
    file = tmp_path / "birds.csv"
    file.write_text("task,question\na,A?\n")
    create = ("campaign", "create", "Birds", "--tasks", file, "--labels", "no,yes", *WORDS)
    for wrong in ("2026-02-30", "20261201", "tomorrow"):
        status, printed, error = run(*create, "--as-of", wrong)
        assert (status, printed) == (2, "")
        assert error.strip().splitlines() == [
            f"quietcrowd: error: as_of must be a date such as 2026-12-01; got '{wrong}'"
        ]
    campaign = run(*create, "--as-of", "2026-12-01")[1].strip()
    assert at_desk.client.get(f"/campaigns/{campaign}").json()["as_of"] == "2026-12-01"
    assert "All questions are about the day 2026-12-01." in run("campaign", "open", campaign)[2]


@pytest.mark.nightly
def test_a_last_day_is_named_changed_and_taken_back(run, at_desk, tmp_path):
    file = tmp_path / "birds.csv"
    file.write_text("task,question\na,A?\n")
    made = run(
        "campaign", "create", "Birds", "--tasks", file, "--labels", "no,yes", *WORDS,
        "--closes-on", "2099-12-31", "--open-to-all", "--max-workers", 70,
    )  # fmt: skip
    campaign = made[1].strip()
    assert "anyone with the link can take part" in made[2]
    url = f"/campaigns/{campaign}"
    document = at_desk.client.get(url).json()
    assert (document["closes_on"], document["max_participants"]) == ("2099-12-31", 70)
    run("campaign", "open", campaign)
    changed = run("campaign", "close", campaign, "--closes-on", "2100-01-31")
    assert changed == (0, "", "The campaign closes at the end of 2100-01-31 (UTC).\n")
    assert at_desk.client.get(url).json()["closes_on"] == "2100-01-31"
    assert run("campaign", "close", campaign, "--closes-on", "never")[0] == 0
    document = at_desk.client.get(url).json()
    assert (document["closes_on"], document["state"]) == (None, "open")
    refused = run("campaign", "close", campaign, "--closes-on", "2020-01-01")
    assert (refused[0], "This day is over" in refused[2]) == (2, True)
