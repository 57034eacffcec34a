import pytest
from tests.campaign.people import check_problem

from quietcrowd.campaign.store.requesters import issue_key
from quietcrowd.exceptions import ParameterError


def test_keys_of_one_name_are_one_requesters(server, desk):
    campaign = desk.draft()["id"]
    name = "twice"
    first, second = (server.client(issue_key(server.database, name)) for _ in range(2))
    made = first.post(
        "/campaigns", json={"title": "t", "mechanism": desk.draft()["mechanism"]}
    ).json()["id"]
    assert second.get(f"/campaigns/{made}").status_code == 200
    check_problem(second.get(f"/campaigns/{campaign}"), 404, "not-found")


def test_replacing_ends_all_earlier_keys(server):
    old = server.client(issue_key(server.database, "replaced"))
    assert old.get("/campaigns").status_code == 200
    new = server.client(issue_key(server.database, "replaced", replace=True))
    check_problem(old.get("/campaigns"), 401, "credential")
    assert new.get("/campaigns").status_code == 200


@pytest.mark.parametrize("name", ["", "  ", "a\0b", 7, "\ud800"])
def test_a_requester_has_a_name(server, name):
    with pytest.raises(ParameterError):
        issue_key(server.database, name)
