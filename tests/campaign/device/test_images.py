"""The images of tasks on a worker's device: all fetched on joining, and checked."""

import pytest
from tests.campaign.devices import NOWHERE, Fake
from tests.campaign.mechanisms import MECHANISMS
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png

from quietcrowd.campaign import Client
from quietcrowd.campaign.device import images
from quietcrowd.exceptions import CampaignError

CONTENTS = {hash_of(one): one for one in PICTURES.values()}
SHOWN = [{"q": f"{place}?", "a": image(one)} for place, one in enumerate(PICTURES.values())]


@pytest.fixture
def fake():
    fake = Fake.of(MECHANISMS["one-layer"], data=[*SHOWN, *SHOWN[:1], {"q": "?"}])
    fake.images.update(CONTENTS)
    return fake


@pytest.fixture
def device(fake, tmp_path):
    return Client(NOWHERE, folder=tmp_path / "device", transport=fake)


def fetched(fake):
    """Return the hashes of images that were asked for, in order."""
    paths = [request.url.path for request in fake.requests]
    return [path.rpartition("/")[2] for path in paths if "/me/images/" in path]


def test_all_images_are_fetched_on_joining_in_one_order(fake, device):
    assert device.images == {}
    device.join()
    assert fetched(fake) == sorted(CONTENTS)
    assert {hash_: file.read_bytes() for hash_, file in device.images.items()} == CONTENTS
    assert {file.suffix for file in device.images.values()} == {".png", ".jpg", ".webp"}
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in device.images.values())
    assert len({request.headers["authorization"] for request in fake.requests[2:]}) == 1


def test_answering_asks_for_no_image_and_the_receipt_ends_them(fake, device):
    device.join()
    joined = len(fake.requests)
    device.answer({"t3": "yes"})
    assert len(fetched(fake)) == len(CONTENTS)
    assert not any("/me/images/" in one.url.path for one in fake.requests[joined:])
    assert device.images == {}
    device.resume()
    assert len(fetched(fake)) == len(CONTENTS)


def test_what_was_interrupted_goes_on(fake, device):
    last = max(CONTENTS)
    del fake.images[last]
    with pytest.raises(CampaignError, match="the server refuses"):
        device.join()
    assert len(device.images) == len(CONTENTS) - 1
    fake.images[last] = CONTENTS[last]
    device.join()
    assert fetched(fake) == [*sorted(CONTENTS), last]
    assert set(device.images) == set(CONTENTS)


def test_leaving_ends_them(device, tmp_path):
    device.join()
    device.withdraw()
    assert list((tmp_path / "device").glob("campaigns/*/image-*")) == []


@pytest.mark.parametrize("other", [png(9), PNG + bytes(2**20), *NO_IMAGES.values()])
def test_another_image_is_refused(fake, device, other):
    fake.images[hash_of(PNG)] = other
    with pytest.raises(CampaignError, match=r"the image [0-9a-f]{12}\.\.\. that the server sends"):
        device.join()
    assert hash_of(PNG) not in device.images
    assert fake.posted == []


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (NO_IMAGES["SVG"], "this is no PNG, JPEG or WebP"),
        (NO_IMAGES["a GIF"], "this is no PNG, JPEG or WebP"),
        (png(width=60_000, height=60_000), "60,000 x 60,000 pixels; at most 40,000,000"),
    ],
)
def test_what_has_its_hash_and_is_not_shown_is_refused(tmp_path, content, told):
    fake = Fake.of(MECHANISMS["one-layer"], data=[{"a": image(content)}])
    fake.images[hash_of(content)] = content
    with pytest.raises(CampaignError, match=told):
        Client(NOWHERE, folder=tmp_path, transport=fake).join()


@pytest.mark.parametrize(
    ("limit", "value", "told"),
    [
        ("MAX_IMAGES", 2, "show 3 images; at most 2"),
        ("MAX_IMAGE_BYTES", 200, "more than 200 bytes"),
    ],
)
def test_a_device_fetches_so_much_at_most(device, monkeypatch, limit, value, told):
    monkeypatch.setattr(images, limit, value)
    with pytest.raises(CampaignError, match=told):
        device.join()
