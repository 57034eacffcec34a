"""``quietcrowd campaign invites``, against a server."""

import io
import os
import stat
from html.parser import HTMLParser

import pytest
import segno
from hypothesis import given
from hypothesis import strategies as st
from tests.campaign.people import check_problem

from quietcrowd.campaign.terms.tokens import new_token
from quietcrowd.commands.campaign.invites import _invite
from quietcrowd.commands.campaign.sheet import qr_sheet
from quietcrowd.exceptions import ParameterError

ANY = "f" * 32
HERE = ["http://127.0.0.1:8000", "http://localhost", "https://localhost:8443/a", "http://[::1]:81"]


@pytest.mark.parametrize("server", HERE)
@pytest.mark.parametrize("words", [("create", ANY), ("replace", ANY, new_token("qci_"))])
def test_links_that_others_cannot_open_are_not_made(run, monkeypatch, server, words):
    monkeypatch.setenv("QUIETCROWD_KEY", new_token("qck_"))
    status, printed, errors = run("campaign", "invites", *words, "--server", server)
    assert (status, printed) == (2, "")
    assert errors == (
        f"quietcrowd: error: links to {server} open only on this computer. Set --server to the "
        "server's public address, such as https://example.org, or use --local for a trial.\n"
    )


def test_nothing_is_made_where_links_are_refused(run, at_desk):
    campaign = at_desk.campaign()
    assert run("campaign", "invites", "create", campaign)[0] == 2
    counts = at_desk.client.get(f"/campaigns/{campaign}/invites").json()
    assert counts == {"invites": 0, "used": 0}


def test_a_sheet_has_the_links_that_are_printed(run, at_desk, tmp_path):
    campaign = at_desk.campaign(about="<birds> & words")
    sheet = tmp_path / "codes.html"
    create = ("campaign", "invites", "create", campaign, "--local", "--count", 2, "--qr", sheet)
    status, printed, errors = run(*create)
    assert (status, errors) == (
        0,
        f"Written to {sheet}. Delete it when the links are given out.\n",
    )
    document = at_desk.client.get(f"/campaigns/{campaign}").json()
    assert sheet.read_text("utf-8") == qr_sheet(document, printed.split())
    if os.name == "posix":
        assert stat.S_IMODE(sheet.stat().st_mode) == 0o600
    again = run(*create)
    assert (again[0], again[1]) == (2, "")
    assert "already exists; name a new file" in again[2]
    assert at_desk.client.get(f"/campaigns/{campaign}/invites").json()["invites"] == 2


@pytest.mark.parametrize(
    ("name", "told"),
    [("codes.svg", "ends in .html"), ("codes", "ends in .html"), ("none/codes.html", "none")],
)
def test_a_sheet_that_cannot_be_written_makes_no_links(run, at_desk, tmp_path, name, told):
    campaign = at_desk.campaign()
    create = ("campaign", "invites", "create", campaign, "--local", "--qr", tmp_path / name)
    status, printed, errors = run(*create)
    assert (status, printed, len(errors.strip().splitlines())) == (2, "", 1)
    assert told in errors
    assert at_desk.client.get(f"/campaigns/{campaign}/invites").json()["invites"] == 0


class Sheet(HTMLParser):
    """What a sheet says and draws, and what it would load."""

    def __init__(self, text):
        super().__init__()
        self.tags, self.words, self.paths, self.loads = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.paths += [value for name, value in attrs if name == "d"]
        self.loads += [name for name, _ in attrs if name in ("src", "href", "action")]
        assert not [name for name, _ in attrs if name.startswith("on")]

    def handle_data(self, data):
        self.words.append(data)


ASKED = {"requester": "Bird <group>", "contact": "birds@example.org", "closes_on": "2099-05-31"}
SHORT, LONG = f"https://example.org/j/{ANY}", f"https://example.org/j/{ANY}#i=qci_{'a' * 43}"


def test_a_slip_says_who_asks_and_where_the_code_leads():
    words = Sheet(qr_sheet({**ASKED, "title": "Birds"}, [LONG, SHORT])).words
    slip = "Birds Who asks: Bird <group>, birds@example.org Scan this code with your phone's camera"
    assert " ".join(" ".join(words[words.index("Birds") :]).split()) == (
        f"{slip}. It opens example.org. 1 of 2, for one person, until 2099-05-31 "
        f"{slip}, or type the address: {SHORT} 2 of 2, for one person, until 2099-05-31"
    )


@given(
    title=st.text(min_size=1, max_size=30),
    links=st.lists(st.from_regex(r"https://[a-z]{1,9}/j/[0-9a-f]{8}", fullmatch=True), max_size=30),
)
def test_a_sheet_loads_nothing_and_has_one_code_per_link(title, links):
    sheet = Sheet(qr_sheet({**ASKED, "title": title}, links))
    assert sheet.loads == []
    assert sheet.tags.count("figure") == sheet.tags.count("svg") == len(links)
    assert sheet.tags.count("div") == -(-len(links) // 12)
    assert set(sheet.tags) <= {
        *("html", "meta", "title", "style", "div", "figure", "figcaption", "bdi", "b", "small"),
        *("svg", "path", "g"),
    }
    for link in links:
        drawn = Sheet(segno.make(link, error="m", micro=False).svg_inline(light="#fff"))
        assert drawn.paths[-1] in sheet.paths


@pytest.mark.parametrize("by", ["argument", "input"])
def test_a_link_is_replaced_after_a_question(run, at_desk, monkeypatch, server, by):
    campaign = at_desk.campaign(at_least=1)
    old = at_desk.link(campaign)
    invite = old.partition("#i=")[2]
    worker = at_desk.guest(campaign)
    at_desk.join(worker, invite).raise_for_status()
    worker.place().raise_for_status()
    worker.send_values(1, 0)
    asked = []
    monkeypatch.setattr("quietcrowd.commands.campaign.invites.agreed", asked.append)
    replace = ("campaign", "invites", "replace", campaign, "--local")
    if by == "argument":
        replace = (*replace, old)

    def ask(*more):
        monkeypatch.setattr("sys.stdin", io.StringIO(f"{old}\n"))
        return run(*replace, *more)

    assert ask() == (1, "", "Nothing was replaced.\n")
    assert "will be deleted permanently" in asked[0]
    assert worker.client.get("/me").status_code == 200
    status, printed, errors = ask("--yes")
    assert (status, "The old link is invalid" in errors, len(asked)) == (0, True, 1)
    assert printed.startswith(f"{server.url}/j/{campaign}#i=qci_")
    assert worker.client.get("/me").status_code == 401
    check_problem(at_desk.join(at_desk.guest(campaign), invite), 403, "invite-invalid")
    new = printed.strip().partition("#i=")[2]
    assert at_desk.join(at_desk.guest(campaign), new).is_success
    assert ask("--yes")[0] == 0  # the same answer where it was replaced before


@pytest.mark.parametrize("by", ["argument", "input"])
def test_invites_are_revoked_by_presenting_them(run, at_desk, monkeypatch, by):
    campaign = at_desk.campaign()
    links = run("campaign", "invites", "create", campaign, "--count", 2, "--local")[1].split()
    tokens = [link.partition("#i=")[2] for link in links]
    written = [links[0], tokens[1], new_token("qci_")]
    if by == "input":
        monkeypatch.setattr("sys.stdin", io.StringIO("\n".join(written) + "\n\n"))
        written = []
    status, printed, errors = run("campaign", "invites", "revoke", campaign, *written)
    told = "Revoked 3 invites. No one can join with a revoked invite.\n"
    assert (status, printed, errors) == (0, "", told)
    for token in tokens:
        check_problem(at_desk.join(at_desk.guest(campaign), token), 403, "invite-invalid")


@pytest.mark.usefixtures("at_desk")
@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("revoke", ANY, "secret"), "link 1 has no invite"),
        (("revoke", ANY, f"http://h/j/{'0' * 32}#i={new_token('qci_')}"), "to another campaign"),
        (("revoke", ANY, new_token("qci_")), "The resource does not exist"),
        (("revoke", ANY), "name the links to revoke"),
        (("replace", ANY, "--local", "secret"), "link 1 has no invite"),
        (("replace", ANY, "--local", "--yes", new_token("qci_")), "The resource does not exist"),
        (("replace", ANY, "--local"), "link 1 has no invite"),
    ],
)
def test_what_goes_wrong_is_one_sentence_without_the_invite(run, monkeypatch, words, told):
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    status, printed, error = run("campaign", "invites", *words)
    assert (status, printed) == (2, "")
    assert told in error
    assert len(error.strip().splitlines()) == 1
    assert "qci_" not in error.replace("#i=qci_...", "")
    assert "secret" not in error


TOKEN = new_token("qci_")
GOOD = [TOKEN, f"#i={TOKEN}", f"https://h/j/{ANY}#i={TOKEN}", f"https://h/a/j/{ANY}/#i={TOKEN}"]


@pytest.mark.parametrize("link", GOOD, ids=["token", "end", "link", "link in a folder"])
def test_a_link_or_its_end_is_taken(link):
    assert _invite(link, ANY, 1) == TOKEN


@given(
    st.text()
    | st.text().map(lambda text: f"{text}{TOKEN}")
    | st.text().map(lambda text: f"{TOKEN}{text}")
)
def test_no_other_text_is_taken_for_a_link(link):
    if link.removeprefix("#i=") != TOKEN:
        with pytest.raises(ParameterError) as refused:
            _invite(link, ANY, 1)
        assert TOKEN not in str(refused.value)
        assert len(str(refused.value).splitlines()) == 1
