import io
import zlib
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from tests.campaign.pictures import HEADERS, NO_IMAGES, PICTURES, PNG, hash_of, image, png

from quietcrowd.campaign.terms import images
from quietcrowd.campaign.terms.images import (
    SUFFIXES,
    image_in,
    image_kind,
    media_type,
    name_image,
    named_images,
    plain_image,
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


SECRET = b"by Anna, at 52.5 degrees north"
MODEL, ARTIST, ORIENTATION, GPS = 0x0110, 0x013B, 0x0112, 0x8825
KINDS = ("PNG", "JPEG", "WEBP")


def drawn(mode="RGB"):
    """Return an image whose sides and corners differ."""
    image = Image.linear_gradient("L").resize((24, 16)).rotate(20)
    return Image.merge("RGB", [image, image.transpose(Image.Transpose.ROTATE_180), image]).convert(
        mode
    )


def exif(turn=1):
    written = Image.Exif()
    written[MODEL], written[ARTIST], written[ORIENTATION] = SECRET.decode(), SECRET.decode(), turn
    written.get_ifd(GPS)[2] = (52.0, 31.0, 12.0)
    return written


def saved(kind, image=None, **options):
    file = io.BytesIO()
    (image or drawn()).save(file, kind, **options)
    return file.getvalue()


def pixels(content):
    """Return what is seen of an image."""
    with Image.open(io.BytesIO(content)) as image:
        turn, profile = image.getexif().get(ORIENTATION, 1), image.info.get("icc_profile")
        return image.size, turn, profile, image.convert("RGBA").tobytes()


def note():
    chunks = PngInfo()
    chunks.add_text("Author", SECRET.decode())
    chunks.add_itxt("XML:com.adobe.xmp", SECRET.decode())
    return chunks


WRITTEN = {
    "a PNG": lambda: saved("PNG", exif=exif(), pnginfo=note(), icc_profile=b"profile", dpi=(9, 9)),
    "a JPEG": lambda: saved("JPEG", exif=exif(), comment=SECRET, icc_profile=b"profile"),
    "a progressive JPEG": lambda: saved("JPEG", exif=exif(), progressive=True),
    "a JPEG on its side": lambda: saved("JPEG", exif=exif(6)),
    "a JPEG upside down": lambda: saved("JPEG", exif=exif(3)),
    "a JPEG of other colours": lambda: saved("JPEG", drawn("CMYK"), exif=exif()),
    "a JPEG with XMP": lambda: saved("JPEG", xmp=SECRET),
    "a JPEG with more behind it": lambda: saved("JPEG") + saved("JPEG", exif=exif()),
    "a WebP": lambda: saved("WEBP", exif=exif(), xmp=SECRET, icc_profile=b"profile"),
    "a WebP without losses": lambda: saved("WEBP", lossless=True, exif=exif()),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_shows_stays_and_nothing_else(name):
    before = WRITTEN[name]()
    after = plain_image(before)
    assert pixels(after) == pixels(before)
    assert media_type(after) == media_type(before)
    assert SECRET not in after
    assert SECRET in before
    assert plain_image(after) == after
    with Image.open(io.BytesIO(after)) as image:
        assert set(image.getexif()) <= {ORIENTATION}


@pytest.mark.parametrize("kind", PICTURES)
def test_images_plain_image_stay_as_they_are(kind):
    assert plain_image(PICTURES[kind]) == PICTURES[kind]


def test_chunks_that_do_not_show_are_taken_out():
    hidden = png(0, (b"tEXt", SECRET), (b"tIME", bytes(7)), (b"eXIf", SECRET), (b"prVt", SECRET))
    assert plain_image(hidden + SECRET) == PNG


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused(name):
    with pytest.raises(ValueError, match=r"no PNG, JPEG or WebP|cut off"):
        plain_image(NO_IMAGES[name])


def test_an_image_of_too_many_pixels_is_refused():
    with pytest.raises(ValueError, match=r"60,000 x 60,000 pixels; at most 40,000,000"):
        plain_image(png(width=60_000, height=60_000))


@pytest.mark.parametrize(
    "write",
    [
        lambda: saved("PNG", save_all=True, append_images=[drawn().rotate(90)]),
        lambda: saved("WEBP", save_all=True, append_images=[drawn().rotate(90)], duration=70),
    ],
)
def test_frames_are_refused(write):
    with pytest.raises(ValueError, match="the image is animated: save one of its frames"):
        plain_image(write())


PAGE = b"<!doctype html><script>alert(1)</script>"
WHOLE = {**PICTURES, **{f"image/{kind}".lower(): saved(kind) for kind in KINDS}}


@pytest.mark.parametrize("kind", WHOLE)
def test_no_page_hides_in_an_image(kind):
    content = WHOLE[kind]
    assert plain_image(content) == content
    assert plain_image(content + PAGE) == content
    hidden = {
        "image/png": [png(0, (b"tEXt", PAGE)), png(0, (b"ABCD", PAGE))],
        "image/jpeg": [
            content[:2] + bytes([0xFF, code, 0, 2 + len(PAGE)]) + PAGE + content[2:]
            for code in (0xE0, 0xE4, 0xFE)
        ],
        "image/webp": [
            b"RIFF"
            + (len(content) + len(PAGE)).to_bytes(4, "little")
            + content[8:]
            + b"PAGE"
            + len(PAGE).to_bytes(4, "little")
            + PAGE
        ],
    }
    for one in hidden[kind]:
        assert PAGE in one
        assert PAGE not in plain_image(one)


def test_pixels_of_a_png_are_one_stream(monkeypatch):
    stream = zlib.compress(bytes(2))
    for content in (stream + PAGE, stream[:-1], stream[:-1] + b"!", b"", PAGE):
        with pytest.raises(ValueError, match="damaged"):
            plain_image(png(pixels=content))
    large = png(pixels=zlib.compress(bytes(2**23)))
    assert plain_image(large) == large
    monkeypatch.setattr(images, "_PNG_MOST", 2**22)
    with pytest.raises(ValueError, match="damaged"):
        plain_image(large)


@pytest.mark.parametrize("kind", WHOLE)
def test_an_image_that_is_cut_off_is_refused(kind):
    content = WHOLE[kind]
    for end in range(len(content) - 1, 0, -1 - len(content) // 200):
        with pytest.raises(ValueError, match=r"cut off|damaged|no PNG"):
            plain_image(content[:end])


@given(st.data())
def test_no_change_of_a_file_is_more_than_refused(data):
    kind = data.draw(st.sampled_from(sorted(WHOLE)))
    content = bytearray(WHOLE[kind])
    for _ in range(data.draw(st.integers(1, 4))):
        start = data.draw(st.integers(0, len(content)))
        end = start + data.draw(st.integers(0, 4))
        content[start:end] = data.draw(st.binary(max_size=4))
    with suppress(ValueError):
        plain = plain_image(bytes(content))
        assert plain_image(plain) == plain
        assert image_kind(plain) == media_type(bytes(content))
