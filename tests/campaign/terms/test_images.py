import pytest
from tests.campaign.pictures import HEADERS, NO_IMAGES, PICTURES, PNG, hash_of, image, png

from quietcrowd.campaign.terms.images import (
    SUFFIXES,
    image_in,
    image_kind,
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
    with pytest.raises(ValueError, match="no PNG, JPEG or WebP"):
        image_kind(NO_IMAGES[name])


@pytest.mark.parametrize(("content", "shown"), HEADERS)
def test_the_header_says_how_many_pixels_there_are(content, shown):
    if shown:
        assert image_kind(content) == media_type(content)
    else:
        with pytest.raises(ValueError, match=r"at most 40,000,000 are|damaged or cut off"):
            image_kind(content)


@pytest.mark.parametrize("content", PICTURES.values())
def test_a_header_that_is_cut_off_is_no_image(content):
    for end in range(12, 20):
        with pytest.raises(ValueError, match=r"no PNG|cut off"):
            image_kind(content[:end])


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
