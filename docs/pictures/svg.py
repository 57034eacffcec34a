"""Parts of small SVG pictures, narrow enough for a phone; all coordinates are whole numbers."""

from collections.abc import Iterable
from pathlib import Path
from xml.sax.saxutils import escape

FIGURES = Path(__file__).parents[1] / "figures"
WIDTH = 400
INK, QUIET, PAPER, GRID = "#1f2937", "#64748b", "#ffffff", "#e2e8f0"
TEAL, AMBER, RED, GRAY = "#0f766e", "#d97706", "#b91c1c", "#94a3b8"


def text(
    x: float, y: float, words: str, *, size: int = 13, fill: str = INK, anchor: str = "start"
) -> str:
    """Return a line of text; `anchor` is "start", "middle" or "end"."""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}">{escape(words)}</text>'
    )


def box(x: float, y: float, width: float, height: float, fill: str) -> str:
    """Return a filled rectangle."""
    return (
        f'<rect x="{x:.0f}" y="{y:.0f}" width="{width:.0f}" height="{height:.0f}" fill="{fill}"/>'
    )


def line(
    points: Iterable[tuple[float, float]], color: str, *, width: float = 2, dash: str = ""
) -> str:
    """Return a line through points."""
    path = " ".join(f"{x:.0f},{y:.0f}" for x, y in points)
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return (
        f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="{width:g}"{dashed}/>'
    )


def dot(x: float, y: float, color: str, radius: float = 4) -> str:
    """Return a filled circle."""
    return f'<circle cx="{x:.0f}" cy="{y:.0f}" r="{radius:.0f}" fill="{color}"/>'


def picture(height: float, title: str, parts: Iterable[str]) -> str:
    """Return the picture; a screen reader reads its title."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
            f'width="{WIDTH}" font-family="sans-serif" role="img">',
            f"<title>{escape(title)}</title>",
            box(0, 0, WIDTH, height, PAPER),
            *parts,
            "</svg>",
            "",
        ]
    )
