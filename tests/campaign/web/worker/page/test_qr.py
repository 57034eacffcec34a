"""QR codes that the worker's page draws: the same as segno's."""

import re

import pytest
import segno
import segno.encoder
from tests.campaign.web.browser import serve_modules

DRAW = """async (texts) => {
  const { qrCode } = await import("./worker/page/qr.js");
  return texts.map((text) => {
    const drawn = qrCode(text, "to copy");
    return [drawn.getAttribute("viewBox"), drawn.querySelector("path").getAttribute("d")];
  });
}"""
REFUSE = """async (text) => {
  const { qrCode } = await import("./worker/page/qr.js");
  try { qrCode(text); } catch (error) { return error.name; }
}"""
MOST = 666
"""Bytes that the largest of the page's codes holds: version 20, error correction M."""

FULL = [14, 26, 42, 62, 84, 106, 122, 152, 180, 213, 251, 287, 331, 362, 412, 450, 504, 560, 624]
"""The same of each version below."""

SIGNS = "0123456789abcdefABCDEF-_:/#. ?&~"


@pytest.fixture(scope="module")
def page(browser):
    with browser.new_page() as page:
        serve_modules(page)
        yield page


@pytest.fixture(autouse=True)
def padding_of_the_standard(monkeypatch):
    """Keep segno 1.6 from adding a byte of zeros to data that already end with a whole byte."""
    monkeypatch.setattr(
        segno.encoder,
        "write_padding_bits",
        lambda buffer, _, length: buffer.extend([0] * (-length % 8)),
    )


def lines_of(box, path):
    """Return the lines of a drawing, 1 for dark."""
    size = int(box.removeprefix("-4 -4 ").partition(" ")[0]) - 8
    assert box == f"-4 -4 {size + 8} {size + 8}"
    lines = [bytearray(size) for _ in range(size)]
    assert re.fullmatch(r"(M\d+ \d+h\d+v1H\d+z)*", path)
    for x, y, width in re.findall(r"M(\d+) (\d+)h(\d+)", path):
        lines[int(y)][int(x) : int(x) + int(width)] = b"\1" * int(width)
    return lines


def check(page, texts):
    for text, drawn in zip(texts, page.evaluate(DRAW, texts), strict=True):
        expected = segno.make(
            text, error="m", mode="byte", encoding="utf-8", boost_error=False, micro=False
        )
        assert lines_of(*drawn) == list(expected.matrix), text


def text_of(size):
    return "".join(SIGNS[place * place % 31 + place % 2] for place in range(size))


@pytest.mark.nightly
def test_codes_are_those_of_segno_at_both_ends_of_every_version(page):
    check(page, [text_of(size) for full in FULL for size in (full, full + 1)])
    check(page, [text_of(1), text_of(MOST)])


@pytest.mark.nightly
@pytest.mark.slow
def test_codes_of_every_length_are_those_of_segno(page):
    for start in range(1, MOST + 1, 111):
        check(page, [text_of(size) for size in range(start, start + 111)])


@pytest.mark.nightly
def test_other_scripts_are_written_as_utf_8(page):
    check(page, ["ä", "日本語", "😀" * 20, "שלום", "\0"])


def test_links_and_codes_are_those_of_segno(page):
    link = f"https://crowd.example/j/{'0123456789abcdef' * 2}#i=qci_{'aB3_-' * 8}xyz"
    check(page, [link, f"qcw_{'b' * 43}", "abcd-efgh-ijkl-mnop"])


@pytest.mark.parametrize("text", ["x" * (MOST + 1), "ä" * (MOST // 2 + 1), "x" * 10_000])
def test_what_is_too_long_is_refused(page, text):
    assert page.evaluate(REFUSE, text) == "RangeError"


def test_a_code_is_an_image_with_a_name_dark_on_white(page):
    told = page.evaluate(
        """async () => {
          const { qrCode } = await import("./worker/page/qr.js");
          const code = qrCode("text", "Your code");
          document.body.append(code);
          const [ground, path] = code.children;
          const fill = (part) => getComputedStyle(part).fill;
          return [code.role, code.ariaLabel, fill(path), fill(ground)];
        }"""
    )
    assert told == ["img", "Your code", "rgb(0, 0, 0)", "rgb(255, 255, 255)"]
    assert page.get_by_role("img", name="Your code").is_visible()
