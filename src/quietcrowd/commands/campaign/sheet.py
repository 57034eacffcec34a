"""A page of QR codes to print, one per link."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any
from urllib.parse import urlsplit

_PER_PAGE = 12
_TYPED = 72
"""Characters of a link that people type; a longer one shows only its host."""

_STYLE = """
@page { margin: 12mm; }
body { margin: 0; background: #fff; color: #000; font: 10pt/1.3 system-ui, sans-serif; }
.page { display: grid; grid-template-columns: repeat(3, 1fr); gap: 6mm 8mm; }
.page + .page { break-before: page; margin-top: 6mm; }
figure { margin: 0; text-align: center; break-inside: avoid; overflow-wrap: anywhere; }
small { display: block; font-size: 8pt; }
svg { display: block; width: 36mm; margin: 0 auto; }
@media print { .page + .page { margin-top: 0; } }
"""


def qr_sheet(campaign: Mapping[str, Any], links: Sequence[str]) -> str:
    """Return an HTML document that loads nothing, with twelve codes per page.

    `campaign` is its document. The studio prints slips with the same words.
    """
    title, day = campaign["title"], campaign["closes_on"]
    who = ", ".join(filter(None, (campaign["requester"], campaign["contact"])))
    until = "" if day is None else f", until {day}"
    figures = [
        f"<figure><b><bdi>{escape(title)}</bdi></b><small><bdi>Who asks: {escape(who)}</bdi>"
        f"</small>{_code(link)}<small>Scan this code with your phone's camera"
        f"{escape(_or_type(link))}</small><figcaption>{place:,} of {len(links):,}, for one person"
        f"{escape(until)}</figcaption></figure>"
        for place, link in enumerate(links, start=1)
    ]
    starts = range(0, len(figures), _PER_PAGE)
    pages = [
        '<div class="page">{}</div>'.format("\n".join(figures[start : start + _PER_PAGE]))
        for start in starts
    ]
    return "\n".join(
        [
            '<!doctype html>\n<html lang="en">\n<meta charset="utf-8">',
            '<meta name="referrer" content="no-referrer">',
            f"<title>{escape(title)}: links</title>\n<style>{_STYLE}</style>",
            *pages,
            "</html>\n",
        ]
    )


def _or_type(link: str) -> str:
    if len(link) > _TYPED:
        return f". It opens {urlsplit(link).netloc}."
    return f", or type the address: {link}"


def _code(link: str) -> str:
    import segno

    code = segno.make(link, error="m", micro=False)
    svg: str = code.svg_inline(omitsize=True, light="#fff", svgclass=None, lineclass=None)
    return svg
