"""A page of QR codes to print, one per link."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape

_PER_PAGE = 12
_STYLE = """
@page { margin: 12mm; }
body { margin: 0; background: #fff; color: #000; font: 10pt/1.3 system-ui, sans-serif; }
.page { display: grid; grid-template-columns: repeat(3, 1fr); gap: 6mm 8mm; }
.page + .page { break-before: page; margin-top: 6mm; }
figure { margin: 0; text-align: center; break-inside: avoid; overflow-wrap: anywhere; }
svg { display: block; width: 46mm; margin: 0 auto; }
@media print { .page + .page { margin-top: 0; } }
"""


def qr_sheet(title: str, links: Sequence[str]) -> str:
    """Return an HTML document that loads nothing, with twelve codes per page."""
    figures = [
        f"<figure>{_code(link)}<figcaption><bdi>{escape(title)}</bdi><br>"
        f"{place} of {len(links)}, for one person</figcaption></figure>"
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


def _code(link: str) -> str:
    import segno

    code = segno.make(link, error="m", micro=False)
    svg: str = code.svg_inline(omitsize=True, light="#fff", svgclass=None, lineclass=None)
    return svg
