import pytest
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, hash_of, image, png

from quietcrowd.campaign.terms.images import (
    SUFFIXES,
    image_in,
    media_type,
    name_image,
    named_images,
)


@pytest.mark.parametrize("kind", SUFFIXES)
def test_images_are_known_by_their_bytes(kind):
    assert media_type(PICTURES[kind]) == kind


@pytest.mark.parametrize("name", NO_IMAGES)
def test_all_else_is_no_image(name):
    assert media_type(NO_IMAGES[name]) is None


def test_a_column_names_an_image():
    assert name_image(hash_of(PNG), "A bird") == image(PNG, "A bird")
    assert image_in(image(PNG)) == hash_of(PNG)


@pytest.mark.parametrize(
    "value",
    [
        *(None, 7, "text", [], {}, {"image": 7, "alt": ""}, {"image": "f" * 64}),
        *({"image": "f" * 63, "alt": ""}, {"image": "F" * 64, "alt": ""}),
        *({"image": "f" * 64, "alt": None}, {"image": "f" * 64 + "\n", "alt": ""}),
        {"image": "f" * 64, "alt": "", "more": 1},
    ],
)
def test_all_else_names_none(value):
    assert image_in(value) is None


def test_images_are_fetched_once_in_the_order_of_their_hashes():
    shown = [image(png(shade)) for shade in (1, 2, 3)]
    tasks = [{"a": shown[2], "q": "?"}, {"a": shown[0], "b": shown[1]}, {"c": shown[2]}, {}]
    assert named_images(tasks) == tuple(sorted(one["image"] for one in shown))
