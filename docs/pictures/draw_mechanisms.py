"""Draw what devices report, from the channel documents that devices read.

``python docs/pictures/draw_mechanisms.py`` writes the pictures.
"""

from collections.abc import Iterator, Mapping, Sequence
from math import comb, exp
from typing import Any

from svg import AMBER, FIGURES, GRID, INK, QUIET, TEAL, WIDTH, box, line, picture, text

import quietcrowd as qc
from quietcrowd.mechanisms import Mechanism, PiecewiseMechanism

WORDS = 2**32
"""Weights of a channel document sum to this number."""

YES_NO = qc.Categorical(["yes", "no"])
DRUGS = qc.Categorical([f"drug {letter}" for letter in "ABCDEFGHIJKL"])
RANGE = qc.Interval(low=0, high=10)
ANSWER = 7.0
LOW, HIGH = -14, 24
"""Reports of numbers that the picture shows."""


def label_chances(document: Mapping[str, Any]) -> list[float]:
    """Return the probability that a report contains each label, if the first is the answer."""
    if document["kind"] == "table":
        return [weight / WORDS for weight in document["weights"][0]]
    labels, members = document["labels"], document["members"]
    inside, outside = document["inside"], document["outside"]
    without = comb(labels - 1, members) * outside
    whole = comb(labels - 1, members - 1) * inside + without
    other = comb(labels - 2, members - 2) * inside if members > 1 else 0
    other += comb(labels - 2, members - 1) * outside
    return [1 - without / whole, *[other / whole] * (labels - 1)]


def density(mechanism: Mechanism) -> list[tuple[float, float]]:
    """Return corners of the density of a report, by the report's number, if `ANSWER` is true."""
    document = mechanism.channel.describe()
    grid = document["grid"]
    if document["kind"] == "shift":
        scale = document["noise_scale"] * grid["step"]
        values = [half / 2 for half in range(2 * LOW, 2 * HIGH + 1)]
        return [(value, exp(-abs(value - ANSWER) / scale) / (2 * scale)) for value in values]
    answer = round((ANSWER - grid["low"]) / grid["step"])
    base, window, lifted = document["base"], document["window"], document["base"] + document["lift"]
    reports = mechanism.report_domain  # the numbers that make reports unbiased
    corners = [
        (place, weight / WORDS / reports.step)
        for first, last, weight in (
            (0, answer, base),
            (answer, answer + window, lifted),
            (answer + window, grid["steps"] + window, base),
        )
        for place in (first, last)
    ]
    return [(reports.origin + place * reports.step, height) for place, height in corners]


def bars(title: str, y: float, names: Sequence[str], chances: Sequence[float]) -> Iterator[str]:
    """Return a row of bars for each label; the first is the answer."""
    yield text(10, y, title)
    for row, (name, chance) in enumerate(zip(names, chances, strict=True)):
        top = y + 10 + row * 24
        yield text(66, top + 15, name, anchor="end")
        yield box(74, top, 270, 20, GRID)
        yield box(74, top, 270 * chance, 20, AMBER if row else TEAL)
        yield text(352, top + 15, f"{chance:.0%}")


def yes_no() -> str:
    """Return randomized response for two labels."""
    parts = [text(10, 22, "The answer is yes. The device reports …", size=14)]
    for row, epsilon in enumerate((0.5, 1.0, 3.0)):
        document = qc.RandomizedResponse(domain=YES_NO, epsilon=epsilon).channel.describe()
        title = f"ε = {epsilon:g}"
        parts += bars(title, 50 + row * 84, YES_NO.labels, label_chances(document))
    return picture(
        290, "Randomized response: probability of each report if the answer is yes", parts
    )


def labels() -> str:
    """Return randomized response and subset selection for twelve labels."""
    made = {
        "one label": qc.RandomizedResponse(domain=DRUGS, epsilon=1.0),
        "a set of labels": qc.SubsetSelection(domain=DRUGS, epsilon=1.0),
    }
    parts = [text(10, 22, "The answer is drug A of 12, and ε = 1.", size=14)]
    for row, (what, mechanism) in enumerate(made.items()):
        document = mechanism.channel.describe()
        chances = label_chances(document)[:2]
        title = f"{mechanism.name}: reports {what}"
        if "members" in document:
            title = f"{mechanism.name}: reports a set of {document['members']} labels"
        parts += bars(title, 52 + row * 92, ["drug A", "drug B"], chances)
    parts.append(text(10, 228, "Every other drug is as likely as drug B.", fill=QUIET))
    return picture(242, "Reports about twelve labels: one label, or a set of labels", parts)


def numbers() -> str:
    """Return the piecewise mechanism and Laplace noise for numbers."""
    left, right, bottom, top = 20, WIDTH - 20, 200, 60
    curves = [
        (density(PiecewiseMechanism(domain=RANGE, epsilon=2.0)), TEAL, ""),
        (density(qc.LaplaceMechanism(domain=RANGE, epsilon=2.0, fill=None)), AMBER, "6 3"),
    ]
    most = max(height for points, *_ in curves for _, height in points)

    def across(value: float) -> float:
        return left + (right - left) * (value - LOW) / (HIGH - LOW)

    parts = [
        text(10, 22, "The answer is 7, on a scale from 0 to 10; ε = 2.", size=14),
        box(across(0), top - 16, across(10) - across(0), bottom - top + 16, GRID),
        line([(across(ANSWER), top - 16), (across(ANSWER), bottom)], INK, width=1, dash="2 3"),
    ]
    for points, color, dash in curves:
        corners = [(points[0][0], 0.0), *points, (points[-1][0], 0.0)]
        shown = [(across(x), bottom - (bottom - top) * y / most) for x, y in corners]
        parts.append(line(shown, color, dash=dash))
    parts.append(line([(left, bottom), (right, bottom)], INK, width=1))
    parts += [
        text(across(value), bottom + 18, f"{value}", fill=QUIET, anchor="middle")
        for value in (-10, 0, 7, 10, 20)
    ]
    parts += [
        line([(10, 240), (34, 240)], TEAL),
        text(40, 244, "piecewise"),
        line([(124, 240), (148, 240)], AMBER, dash="6 3"),
        text(154, 244, "Laplace noise"),
        box(266, 231, 16, 16, GRID),
        text(288, 244, "the scale"),
    ]
    return picture(260, "Reports of a number: how likely each is if the answer is 7", parts)


PICTURES = {
    "mechanism-yes-no.svg": yes_no,
    "mechanism-labels.svg": labels,
    "mechanism-numbers.svg": numbers,
}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")
