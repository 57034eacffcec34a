"""Small charts as SVG text: lines, dots and bars, with the same bytes on every machine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from html import escape

COLORS = ("#0072b2", "#d55e00", "#009e73", "#a8558b", "#7a5c00", "#4c4c4c")
DASHES = ("", "7 3", "2 3", "9 3 2 3", "4 4", "1 4")
WIDTH, LEFT, RIGHT, PLOT, BOTTOM = 480, 68, 14, 220, 46
CHARACTER = 7.3
"""Width of a character, about."""

Points = tuple[Sequence[float], Sequence[float]]


def line_chart(
    series: Mapping[str, Points],
    *,
    x: str,
    y: str,
    log: str = "",
    x_range: tuple[float, float] | None = None,
    y_range: tuple[float, float] | None = None,
    dots: Mapping[str, Points] | None = None,
    intervals: Sequence[tuple[float, float, float]] = (),
) -> str:
    """Return a chart of lines, of dots, or of both.

    Parameters
    ----------
    series, dots : mapping of str to (numbers, numbers)
        By the names in the legend.
    x, y : str
        Labels of the axes.
    log : str
        Axes that are logarithmic: "x", "y" or "xy".
    x_range, y_range : (float, float), optional
        Default: those of the points, from 0 on for linear heights.
    intervals : sequence of (x, low, high)
        Vertical lines.
    """
    dots = dots or {}
    points = [*series.values(), *dots.values()]
    across = _Axis.of([v for xs, _ in points for v in xs], x_range, "x" in log, zero=False)
    up = _Axis.of([v for _, ys in points for v in ys], y_range, "y" in log, zero=True)
    legend, top = _legend([*series, *dots], lines=len(series))
    parts = _frame(across, up, top, x, y)

    def at(a: float, b: float) -> tuple[float, float]:
        return (
            LEFT + across.part(a) * (WIDTH - LEFT - RIGHT),
            top + (1 - up.part(b)) * PLOT,
        )

    for a, low, high in intervals:
        (p, q), (_, r) = at(a, low), at(a, high)
        parts.append(f'<path d="M{p:.1f} {q:.1f}V{r:.1f}" stroke="#999" stroke-width="1"/>')
    for place, (xs, ys) in enumerate(series.values()):
        path = " ".join("{:.1f},{:.1f}".format(*at(a, b)) for a, b in zip(xs, ys, strict=True))
        parts.append(f'<polyline points="{path}" {_stroke(place)}/>')
    for place, (xs, ys) in enumerate(dots.values(), start=len(series)):
        for a, b in zip(xs, ys, strict=True):
            p, q = at(a, b)
            parts.append(f'<circle cx="{p:.1f}" cy="{q:.1f}" r="3" fill="{_color(place)}"/>')
    return _whole([*parts, *legend], top + PLOT + BOTTOM)


def bar_chart(
    bars: Mapping[str, Mapping[str, float]],
    *,
    x: str,
    parts: Sequence[str],
    log: bool = False,
    colors: Sequence[str] = COLORS,
    told: Callable[[float], str] = "{:g}".format,
) -> str:
    """Return horizontal bars, one per name, each of stacked parts.

    Parameters
    ----------
    bars : mapping of str to mapping of str to float
        The parts of each bar.
    x : str
        What the length is.
    parts : sequence of str
        Names in the legend; with one there is none.
    log : bool
        Whether the axis is logarithmic; then each bar has one part.
    colors : sequence of str
        Of the parts.
    told : callable
        Writes a number.
    """
    legend, top = _legend(list(parts), lines=0, colors=colors) if len(parts) > 1 else ([], 14)
    left = 12 + CHARACTER * max(map(len, bars))
    totals = [sum(bar.values()) for bar in bars.values()]
    axis = _Axis.of(totals, None, log, zero=True)
    width = WIDTH - left - 60
    body = []
    for row, (name, bar) in enumerate(bars.items()):
        y = top + row * 28
        body.append(_text(left - 6, y + 16, name, "end"))
        start = left
        for part in parts:
            value = bar.get(part, 0)
            if value > 0:
                length = axis.part(value) * width if log else value / axis.high * width
                fill = colors[list(parts).index(part)]
                body.append(
                    f'<rect x="{start:.1f}" y="{y}" width="{length:.1f}" height="22" '
                    f'fill="{fill}"/>'
                )
                if len(parts) > 1 and length > 5 + CHARACTER * len(told(value)):
                    body.append(_text(start + length / 2, y + 16, told(value), "middle", "#fff"))
                start += length
        body.append(_text(start + 5, y + 16, told(sum(bar.values())), "start"))
    height = top + 28 * len(bars)
    body.append(_text(12, height + 14, x, "start"))
    return _whole([*body, *legend], height + 24)


def sequence_chart(steps: Sequence[tuple[str, bool]], *, sender: str, receiver: str) -> str:
    """Return steps from top to bottom, with an arrow for each that sends something.

    Parameters
    ----------
    steps : sequence of (str, bool)
        Words, and whether something is sent.
    sender, receiver : str
        Names of the two sides.
    """
    left, right, top, row = 250, WIDTH - 60, 40, 32
    height = top + row * len(steps) + 8
    parts = [_text(left, 22, sender, "middle"), _text(right, 22, receiver, "middle")]
    parts += [f'<path d="M{x} {top - 8}V{height - 4}" stroke="#888"/>' for x in (left, right)]
    for place, (words, sent) in enumerate(steps):
        y = top + row * place + 12
        parts.append(_text(left - 14, y + 4, words, "end"))
        parts.append(f'<circle cx="{left}" cy="{y}" r="5" fill="{_color(0 if sent else 1)}"/>')
        if sent:
            parts.append(f'<path d="M{left + 8} {y}H{right - 4}m-8 -5l8 5l-8 5" {_stroke(0)}/>')
    return _whole(parts, height)


class _Axis:
    """Numbers along an axis: the ends, whether they are logarithmic, and the ticks."""

    def __init__(self, low: float, high: float, *, log: bool) -> None:
        self.low, self.high, self.log = low, high, log

    @classmethod
    def of(
        cls,
        values: Sequence[float],
        ends: tuple[float, float] | None,
        log: bool,
        *,
        zero: bool,
    ) -> _Axis:
        if ends is not None:
            return cls(*ends, log=log)
        low, high = min(values), max(values)
        if log:
            low, high = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
            return cls(low, high if high > low else 10 * low, log=True)
        if zero:
            low = min(low, 0.0)
            step = _step(high - low)
            return cls(math.floor(low / step) * step, math.ceil(high / step) * step, log=False)
        return cls(low, high, log=False)

    def part(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        return min(max((value - low) / (high - low), 0.0), 1.0)

    def ticks(self) -> list[float]:
        if self.log:
            powers = range(
                math.ceil(math.log10(self.low) - 1e-9), math.floor(math.log10(self.high)) + 1
            )
            if len(powers) > 2:
                every = max(1, math.ceil(len(powers) / 6))
                return [10.0**power for power in powers[::every]]
            found = [
                factor * 10.0**power
                for power in range(powers.start - 1, powers.stop + 1)
                for factor in (1, 2, 5)
            ]
            return [tick for tick in found if self.low * 0.999 <= tick <= self.high * 1.001]
        step = _step(self.high - self.low)
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(step * place, 10) for place in range(first, last + 1)]


def _step(width: float) -> float:
    raw = width / 5 if width > 0 else 1.0
    power = 10.0 ** math.floor(math.log10(raw))
    return float(power * next(factor for factor in (1, 2, 5, 10) if power * factor >= raw * 0.999))


def _frame(across: _Axis, up: _Axis, top: float, x: str, y: str) -> list[str]:
    right, bottom = WIDTH - RIGHT, top + PLOT
    parts = []
    for tick in up.ticks():
        at = top + (1 - up.part(tick)) * PLOT
        parts.append(f'<path d="M{LEFT} {at:.1f}H{right}" stroke="#ddd"/>')
        parts.append(_text(LEFT - 6, at + 4, _number(tick), "end"))
    for tick in across.ticks():
        at = LEFT + across.part(tick) * (right - LEFT)
        parts.append(f'<path d="M{at:.1f} {bottom}v4" stroke="#555"/>')
        parts.append(_text(at, bottom + 18, _number(tick), "middle"))
    parts.append(f'<path d="M{LEFT} {top}V{bottom}H{right}" fill="none" stroke="#555"/>')
    parts.append(_text((LEFT + right) / 2, bottom + 38, x, "middle"))
    middle = top + PLOT / 2
    parts.append(
        f'<text x="14" y="{middle:.1f}" text-anchor="middle" '
        f'transform="rotate(-90 14 {middle:.1f})">{escape(y)}</text>'
    )
    return parts


def _legend(
    names: Sequence[str], *, lines: int, colors: Sequence[str] = COLORS
) -> tuple[list[str], float]:
    """Return the legend, and where the chart begins below it."""
    parts = []
    x, y = 12.0, 18.0
    for place, name in enumerate(names):
        width = 34 + CHARACTER * len(name)
        if x + width > WIDTH and x > 12:
            x, y = 12.0, y + 20
        if place < lines:
            parts.append(f'<path d="M{x:.1f} {y - 4:.1f}h22" {_stroke(place)}/>')
        else:
            color = colors[place % len(colors)]
            parts.append(
                f'<rect x="{x + 6:.1f}" y="{y - 10:.1f}" width="10" height="10" fill="{color}"/>'
            )
        parts.append(_text(x + 28, y, name, "start"))
        x += width + 12
    return parts, y + 16


def _color(place: int) -> str:
    return COLORS[place % len(COLORS)]


def _stroke(place: int) -> str:
    dash = DASHES[place % len(DASHES)]
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    return f'fill="none" stroke="{_color(place)}" stroke-width="2"{dashed}'


def _number(value: float) -> str:
    if value and (abs(value) > 1e4 or abs(value) < 1e-3):
        return f"{value:.0e}".replace("e+0", "e").replace("e-0", "e-").replace("e+", "e")
    return f"{value:,.10g}"


def _text(x: float, y: float, words: str, anchor: str, fill: str = "") -> str:
    color = f' fill="{fill}"' if fill else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{color}>{escape(words)}</text>'


def _whole(parts: Sequence[str], height: float) -> str:
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height:.0f}" '
        f'width="{WIDTH}" height="{height:.0f}" role="img" font-family="sans-serif" '
        f'font-size="13" fill="#222">'
    )
    back = f'<rect width="{WIDTH}" height="{height:.0f}" fill="#fff"/>'
    return "\n".join([head, back, *parts, "</svg>"]) + "\n"
