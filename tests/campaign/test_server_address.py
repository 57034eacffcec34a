import pytest

from quietcrowd.campaign.server_address import ServerAddress
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
        ("crowd.example", "must be like"),
        ("ftp://crowd.example", "must be like"),
        ("https:///a", "must be like"),
        ("https://crowd.example:x", "must be like"),
        ("https://[crowd", "must be like"),
        ("https://me:secret@crowd.example", "must be like"),
        ("https://crowd.example?secret", "must be like"),
        ("https://crowd.example#secret", "must be like"),
        ("", "must be like"),
    ],
)
def test_what_is_no_safe_address_is_refused(text, told):
    with pytest.raises(ParameterError, match=told) as caught:
        ServerAddress.read(text)
    assert "secret" not in str(caught.value)
