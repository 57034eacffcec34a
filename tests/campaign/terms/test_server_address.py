from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from quietcrowd.campaign.terms.server_address import (
    CampaignLink,
    ServerAddress,
    address_in_page,
    address_of_host,
    is_protected,
    origin_of,
    spell_server,
)
from quietcrowd.campaign.terms.tokens import new_token
from quietcrowd.exceptions import ParameterError


@pytest.mark.parametrize(
    ("text", "url"),
    [
        ("https://crowd.example", "https://crowd.example"),
        (" https://Crowd.Example:8443/a/b-c// ", "https://crowd.example:8443/a/b-c"),
        ("http://127.0.0.1:8000/", "http://127.0.0.1:8000"),
        ("http://[::1]:80", "http://[::1]"),
        ("http://localhost", "http://localhost"),
    ],
)
def test_an_address_has_no_slash_at_its_end(text, url):
    address = ServerAddress.read(text)
    assert address.url == url
    assert address.local == url.startswith("http:")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("http://crowd.example", "without encryption"),
        ("http://127.0.0.1.crowd.example", "without encryption"),
        ("http://10.0.0.1:8000/", "without encryption"),
        ("crowd.example", "must have the form"),
        ("ftp://crowd.example", "must have the form"),
        ("https:///a", "must have the form"),
        ("https://crowd.example:x", "must have the form"),
        ("https://[crowd", "must have the form"),
        ("https://me:secret@crowd.example", "must have the form"),
        ("https://crowd.example?secret", "must have the form"),
        ("https://crowd.example#secret", "must have the form"),
        ("", "must have the form"),
    ],
)
def test_what_is_no_safe_address_is_refused(text, told):
    with pytest.raises(ParameterError, match=told) as caught:
        ServerAddress.read(text)
    assert "secret" not in str(caught.value)


LETTERS = st.sampled_from("abcxyzäéßøλжא中0123456789")
LABEL = st.text(LETTERS, min_size=1, max_size=12).filter(lambda one: one.strip("0123456789") != "")
HOSTS = st.lists(LABEL, min_size=1, max_size=4).map(lambda labels: ".".join([*labels, "example"]))
PORTS = st.none() | st.integers(1, 65_535)


def spelled(host, port, scheme="https"):
    return spell_server(urlsplit(f"{scheme}://{host}{'' if port is None else f':{port}'}"))


def known(host):
    """Return a host that has an address at all: letters of two directions may not."""
    try:
        return spelled(host, None).removeprefix("https://")
    except ValueError:
        return None


@given(HOSTS, PORTS, st.data())
def test_every_spelling_of_a_server_gives_one_address(host, port, data):
    ascii_host = known(host)
    if ascii_host is None:
        return
    assert ascii_host.isascii()
    dot = data.draw(st.sampled_from(["", ".", "\u3002"]))
    shown = "".join(data.draw(st.sampled_from([one, _upper(one)])) for one in host)
    also = data.draw(st.sampled_from([host, shown, ascii_host, ascii_host.upper()]))
    usual = data.draw(st.sampled_from([None, 443])) if port in (None, 443) else port
    padded = usual if usual is None else f"{data.draw(st.sampled_from(['', '0', '00']))}{usual}"
    one = spelled(host, port)
    assert spelled(f"{also}{dot}", padded) == one
    assert spell_server(urlsplit(one)) == one
    assert origin_of(one) == origin_of(f"{one}/a/b") == one
    assert is_protected(one)


def _upper(letter):
    """Return a capital that means the same letter; none has one that is two letters."""
    return letter.upper() if letter.upper().lower() == letter else letter


@given(st.lists(st.tuples(HOSTS, PORTS), min_size=2, max_size=2))
def test_two_servers_stay_two(pairs):
    hosts = [known(host) for host, _ in pairs]
    ports = [443 if port is None else port for _, port in pairs]
    if None in hosts:
        return
    one, other = (spelled(*pair) for pair in pairs)
    assert (one == other) == (hosts[0] == hosts[1] and ports[0] == ports[1])


def of_a_server(address):
    """Return whether it is the address of a server: all zeros are that of none."""
    return int(address) not in (0, 0xFFFF << 32)


@given(st.ip_addresses(v=4).filter(of_a_server), PORTS)
def test_an_address_of_numbers_has_one_spelling(address, port):
    number = int(address)
    forms = [str(address), str(number), hex(number), f"[::ffff:{address}]"]
    first, rest = divmod(number, 2**24)
    forms.append(f"{first}.{rest}")
    assert len({spelled(form, port) for form in forms}) == 1
    local = address.is_loopback
    assert is_protected(spelled(str(address), port, "http")) == local
    assert (urlsplit(origin_of(spelled(str(address), port))).hostname == "localhost") == local


@given(st.ip_addresses(v=6).filter(of_a_server), PORTS)
def test_so_has_a_long_one(address, port):
    assert spelled(f"[{address.exploded.upper()}]", port) == spelled(f"[{address}]", port)


@given(PORTS, st.sampled_from(["http", "https"]))
def test_this_machine_is_one_origin(port, scheme):
    names = ("localhost", "LOCALHOST.", "127.0.0.1", "127.1", "[::1]", "[0:0::0:1]", "127.8.8.8")
    assert len({origin_of(spelled(name, port, scheme)) for name in names}) == 1
    assert len({spelled(name, port, scheme) for name in ("localhost", "127.0.0.1", "[::1]")}) == 3


@pytest.mark.parametrize(
    "host",
    [
        "",
        ".",
        "0.0.0.0",
        "0",
        "[::]",
        "[::ffff:0.0.0.0]",
        "[fe80::1%lo]",
        "a..b",
        "a b",
        "a%2eb",
        "999.1.1.1",
        "a.0x",
        "-\u20ac-.",
    ],
)
def test_what_names_no_server_is_refused(host):
    with pytest.raises(ValueError, match=r"."):
        spelled(host, None)


@pytest.mark.parametrize(
    ("host", "address"),
    [
        ("Crowd.Example", "https://crowd.example"),
        ("crowd.example:443", "https://crowd.example"),
        ("crowd.example:8443", "https://crowd.example:8443"),
        ("LOCALHOST:8000", "http://localhost:8000"),
        ("127.0.0.1:80", "http://127.0.0.1"),
        ("10.0.0.1", "https://10.0.0.1"),
    ],
)
def test_a_server_is_known_by_the_host_that_is_asked(host, address):
    assert address_of_host(host) == address


@pytest.mark.parametrize(
    "host",
    [
        *("", "[::1]:8000", "a b", "a/b", 'a"b', "a;b", "a@b", "a?b", "a#b", "ä.example"),
        *("a:", "a:b", "a:0", "a:99999", "a..b", "-.-..", "0.0.0.0", "a\n"),
    ],
)
def test_no_other_host_is_an_address(host):
    with pytest.raises(ParameterError):
        address_of_host(host)


@pytest.mark.parametrize("path", ["/a;b", '/a"b', "/a b", "/a,b", "/a%20b", "/ä"])
def test_an_address_in_a_page_has_plain_marks_alone(path):
    assert address_in_page("https://crowd.example/a/b-c~") == "https://crowd.example/a/b-c~"
    with pytest.raises(ParameterError, match="path of letters"):
        address_in_page(f"https://crowd.example{path}")
    with pytest.raises(ParameterError, match="must have a name"):
        address_in_page("http://[::1]:8000")


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
