from urllib.parse import urlsplit

import pytest

from quietcrowd.campaign.device.link import CampaignLink
from quietcrowd.campaign.terms.tokens import new_token
from quietcrowd.exceptions import ParameterError

ID = "0123456789abcdef" * 2
INVITE = new_token("qci_")


@pytest.mark.parametrize(
    ("url", "server"),
    [
        (f"https://crowd.example/j/{ID}", "https://crowd.example"),
        (f" https://Crowd.Example:8443/a/b-c/j/{ID}/ ", "https://crowd.example:8443/a/b-c"),
        (f"http://127.0.0.1:8000/j/{ID}", "http://127.0.0.1:8000"),
        (f"http://127.8.8.8/j/{ID}", "http://127.8.8.8"),
        (f"http://[::1]:80/j/{ID}", "http://[::1]"),
        (f"http://localhost/j/{ID}", "http://localhost"),
    ],
)
def test_a_link_names_a_server_and_a_campaign(url, server):
    link = CampaignLink.read(url)
    assert (link.server, link.campaign, link.invite) == (server, ID, None)
    assert link.name == f"{link.origin}{urlsplit(server).path}/j/{ID}"
    assert link.local == url.strip().startswith("http:")


def test_an_invite_is_in_the_fragment_or_beside_it():
    url = f"https://crowd.example/j/{ID}"
    for link in (
        CampaignLink.read(f"{url}#i={INVITE}"),
        CampaignLink.read(url, INVITE),
        CampaignLink.read(f"{url}#i={INVITE}", INVITE),
        CampaignLink.read(f"{url}#", INVITE),
    ):
        assert link.invite == INVITE
        assert INVITE not in link.name
        assert INVITE not in repr(link)


@pytest.mark.parametrize(
    ("url", "told"),
    [
        (f"https://crowd.example/{ID}", "must have the form"),
        (f"https://crowd.example/j/{ID[1:]}", "must have the form"),
        (f"https://crowd.example/j/{ID}?i={INVITE}", "must have the form"),
        (f"https://crowd.example/{INVITE}/j/{ID}", "must have the form"),
        (f"https://me:secret@crowd.example/j/{ID}", "must have the form"),
        (f"https://crowd.example:x/j/{ID}", "must have the form"),
        (f"https://[crowd/j/{ID}", "must have the form"),
        (7, "must be a text"),
        (f"http://crowd.example/j/{ID}", "without encryption"),
        (f"http://127.0.0.1.crowd.example/j/{ID}", "without encryption"),
        (f"http://10.0.0.1/j/{ID}", "without encryption"),
        (f"http:///j/{ID}", "must have the form"),
        (f"https://crowd.example/a/../j/{ID}", "must have the form"),
        (f"https://crowd.example/./j/{ID}", "must have the form"),
        (f"https://crowd%2eexample/j/{ID}", "must have the form"),
        (f"ftp://crowd.example/j/{ID}", "without encryption"),
        (f"https:///j/{ID}", "must have the form"),
        (f"https://crowd.example/j/{ID}#{INVITE}", "i= and an invite"),
        (f"https://crowd.example/j/{ID}#i={INVITE[:-1]}", "43 letters"),
        (f"https://crowd.example/j/{ID}#i={INVITE.replace('qci', 'qcw')}", "43 letters"),
    ],
)
def test_other_links_are_refused_and_no_invite_is_repeated(url, told):
    with pytest.raises(ParameterError, match=told) as caught:
        CampaignLink.read(url)
    assert INVITE[4:20] not in str(caught.value)
    assert "secret" not in str(caught.value)


def test_two_invites_are_one_too_many():
    with pytest.raises(ParameterError, match="use one of them"):
        CampaignLink.read(f"https://crowd.example/j/{ID}#i={INVITE}", new_token("qci_"))
    with pytest.raises(ParameterError, match="43 letters"):
        CampaignLink.read(f"https://crowd.example/j/{ID}", "invite")


@pytest.mark.parametrize("path", ["", "/a", "/a/b"])
def test_the_paths_of_a_server_have_one_origin(path):
    link = CampaignLink.read(f"https://Crowd.example:8443{path}/j/" + 32 * "0")
    assert link.origin == "https://crowd.example:8443"
