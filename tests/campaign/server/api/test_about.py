"""The server's address in links, and invites whose links would lead nowhere."""

import pytest
from tests.campaign.people import check_problem, new_desk

import quietcrowd


@pytest.mark.parametrize(
    ("host", "address", "local"),
    [
        ("crowd.example", "https://crowd.example", False),
        ("crowd.example:8443", "https://crowd.example:8443", False),
        ("LOCALHOST:80", "http://localhost", True),
        ("127.0.0.1:8000", "http://127.0.0.1:8000", True),
    ],
)
def test_links_begin_with_the_host_of_the_request(desk, host, address, local):
    answer = desk.client.get("/server", headers={"Host": host})
    assert answer.json() == {
        "address": address,
        "local": local,
        "version": quietcrowd.__version__,
    }


def test_or_with_the_public_address(start_server):
    desk = new_desk(start_server(public_url="https://crowd.example/polls"))
    found = desk.client.get("/server").json()
    assert (found["address"], found["local"]) == ("https://crowd.example/polls", False)
    invites = f"/campaigns/{desk.campaign()}/invites"
    desk.client.post(invites, json={"count": 1}).raise_for_status()


def test_a_host_that_is_none_is_refused(desk):
    answer = desk.client.get("/server", headers={"Host": "a b"})
    assert answer.status_code == 400


def test_invites_of_a_local_server_are_for_a_trial(desk):
    invites = f"/campaigns/{desk.campaign()}/invites"
    check_problem(desk.client.post(invites, json={"count": 1}), 409, "address-local")
    assert desk.client.get(invites).json() == {"invites": 0, "used": 0}
    desk.client.post(invites, json={"count": 1, "local": True}).raise_for_status()
    desk.client.post(invites, json={"count": 1}, headers={"Host": "c.example"}).raise_for_status()
