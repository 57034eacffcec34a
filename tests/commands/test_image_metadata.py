"""What does not show is taken out of images, and what shows stays."""

import io
from contextlib import suppress

import pytest
from PIL import Image
from PIL.PngImagePlugin import PngInfo
from tests.campaign.pictures import NO_IMAGES, PICTURES, PNG, png

from quietcrowd.campaign.terms.images import media_type
from quietcrowd.commands.image_metadata import without_metadata

SECRET = b"by Anna, at 52.5 degrees north"
MODEL, ARTIST, ORIENTATION, GPS = 0x0110, 0x013B, 0x0112, 0x8825
KINDS = {"PNG": "RGB", "JPEG": "RGB", "WEBP": "RGB", "GIF": "P"}


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
    (image or drawn(KINDS[kind])).save(file, kind, **options)
    return file.getvalue()


def pixels(content):
    """Return what is seen of an image, frame by frame."""
    with Image.open(io.BytesIO(content)) as image:
        seen = []
        for frame in range(getattr(image, "n_frames", 1)):
            image.seek(frame)
            seen.append(image.convert("RGBA").tobytes())
        told = [image.info.get(name) for name in ("icc_profile", "duration", "loop")]
        return image.size, image.getexif().get(ORIENTATION, 1), told, seen


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
    "a GIF": lambda: saved("GIF", comment=SECRET),
    "frames": lambda: saved(
        "GIF",
        comment=SECRET,
        save_all=True,
        append_images=[drawn("P").rotate(90)],
        duration=[70, 70],
        loop=0,
    ),
    "frames of WebP": lambda: saved(
        "WEBP", exif=exif(), save_all=True, append_images=[drawn().rotate(90)], duration=70
    ),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_what_shows_stays_and_nothing_else(name):
    before = WRITTEN[name]()
    after = without_metadata(before)
    assert pixels(after) == pixels(before)
    assert media_type(after) == media_type(before)
    assert SECRET not in after
    assert SECRET in before
    assert without_metadata(after) == after
    with Image.open(io.BytesIO(after)) as image:
        assert set(image.getexif()) <= {ORIENTATION}


@pytest.mark.parametrize("kind", PICTURES)
def test_images_without_metadata_stay_as_they_are(kind):
    assert without_metadata(PICTURES[kind]) == PICTURES[kind]


def test_chunks_that_do_not_show_are_taken_out():
    hidden = png(0, (b"tEXt", SECRET), (b"tIME", bytes(7)), (b"eXIf", SECRET), (b"prVt", SECRET))
    assert without_metadata(hidden + SECRET) == PNG


@pytest.mark.parametrize("name", NO_IMAGES)
def test_what_is_no_image_is_refused(name):
    with pytest.raises(ValueError, match=r"no PNG, JPEG, WebP or GIF|cut off"):
        without_metadata(NO_IMAGES[name])


@pytest.mark.parametrize("kind", PICTURES)
def test_no_damage_is_more_than_refused(kind):
    content = PICTURES[kind]
    for place in range(16, len(content)):
        for damaged in (content[:place], content[:place] + b"\xff" + content[place + 1 :]):
            with suppress(ValueError):
                assert media_type(without_metadata(damaged)) == kind
