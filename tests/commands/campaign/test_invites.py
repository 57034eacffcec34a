"""``quietcrowd campaign invites``, against a server."""

import io

import pytest
from tests.campaign.people import check_problem

from quietcrowd.campaign.terms.tokens import new_token

ANY = "f" * 32


@pytest.mark.parametrize("by", ["argument", "input"])
def test_invites_are_revoked_by_presenting_them(run, at_desk, monkeypatch, by):
    campaign = at_desk.campaign()
    links = run("campaign", "invites", "create", campaign, "--count", 2)[1].split()
    tokens = [link.partition("#i=")[2] for link in links]
    written = [links[0], tokens[1], new_token("qci_")]
    if by == "input":
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(written) + "\n\n"))
        written = []
    status, printed, errors = run("campaign", "invites", "revoke", campaign, *written)
    assert (status, printed, errors) == (0, "", "3 invites let nobody in from now on.\n")
    for token in tokens:
        check_problem(at_desk.join(at_desk.guest(campaign), token), 403, "invite-invalid")


@pytest.mark.usefixtures("at_desk")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((ANY, "secret"), "link 1 has no invite"),
        ((ANY, f"http://h/j/{'0' * 32}#i={new_token('qci_')}"), "to another campaign"),
        ((ANY, new_token("qci_")), "There is no such thing here"),
        ((ANY,), "name the links to revoke"),
    ],
)
def test_what_goes_wrong_is_one_sentence_without_the_invite(run, monkeypatch, words, told):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, printed, error = run("campaign", "invites", "revoke", *words)
    assert (status, printed) == (2, "")
    assert told in error
    assert len(error.strip().splitlines()) == 1
    assert "qci_" not in error.replace("#i=qci_...", "")
    assert "secret" not in error
