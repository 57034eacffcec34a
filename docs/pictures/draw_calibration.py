"""Draw claimed confidence against the fraction that is right, on simulated crowds.

``python docs/pictures/draw_calibration.py`` takes a minute; a nightly test compares.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
from svg import AMBER, FIGURES, GRID, QUIET, TEAL, WIDTH, dot, line, picture, text

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.inference import ignores_noise

CROWDS = 30
EDGES = (0.5, 0.6, 0.7, 0.8, 0.9, 0.97, 1.0)
METHODS = {"Dawid-Skene": (qc.DawidSkene(), AMBER), "NoiseAware": (qc.NoiseAware(), TEAL)}

Spots = list[tuple[float, float, int]]
"""Mean confidence, fraction right and number of truths of each bin."""


def measured() -> dict[str, Spots]:
    """Return the bins of each method, for crowds that share an error on one question in ten."""
    found: dict[str, list[np.ndarray]] = {name: [] for name in METHODS}
    for seed in range(CROWDS):
        crowd = qc.make_crowd(
            "guessing",
            tasks=200,
            workers=60,
            answers_per_task=20,
            skills=[0.75] * 54 + [0.5] * 6,
            misled=0.1,
            pull=0.6,
            random_state=seed,
        )
        device = qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=2.0)
        reports = device.simulate(crowd.answers, random_state=seed)
        true = crowd.truths.to_pandas().set_index("task")["label"]
        with warnings.catch_warnings(), ignores_noise():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            for name, (method, _) in METHODS.items():
                truths = method.fit(reports).truths.set_index("task")
                right = truths["truth"] == true.loc[truths.index]
                found[name].append(np.column_stack([truths["confidence"], right]))
    return {name: bins(np.concatenate(rows)) for name, rows in found.items()}


def bins(rows: np.ndarray) -> Spots:
    """Return the bins that have at least thirty truths."""
    place = np.digitize(rows[:, 0], EDGES[1:-1])
    parts = [rows[place == one] for one in range(len(EDGES) - 1)]
    return [(*part.mean(axis=0).tolist(), len(part)) for part in parts if len(part) >= 30]


def calibration() -> str:
    """Return the picture."""
    return picture(
        400, "Claimed confidence against the fraction of truths that are right", parts(measured())
    )


def parts(found: dict[str, Spots]) -> Iterator[str]:
    """Return the parts of the picture."""
    left, right, top, bottom = 52, WIDTH - 20, 40, 330

    def spot(confidence: float, fraction: float) -> tuple[float, float]:
        return (
            left + (right - left) * (confidence - 0.5) * 2,
            bottom - (bottom - top) * (fraction - 0.4) / 0.6,
        )

    yield text(10, 22, "right, of the truths with this confidence", size=14)
    for percent in range(40, 101, 10):
        y = spot(0, percent / 100)[1]
        yield line([(left, y), (right, y)], GRID, width=1)
        yield text(left - 6, y + 4, f"{percent} %", size=12, fill=QUIET, anchor="end")
        if percent >= 50:
            x = spot(percent / 100, 0)[0]
            yield text(x, bottom + 18, f"{percent} %", size=12, fill=QUIET, anchor="middle")
    yield text((left + right) / 2, bottom + 38, "claimed confidence", fill=QUIET, anchor="middle")
    yield line([spot(0.5, 0.5), spot(1, 1)], QUIET, width=1, dash="2 3")
    yield text(*spot(0.52, 0.6), "as claimed", fill=QUIET)
    most = max(many for spots in found.values() for *_, many in spots)
    for place, (name, (_, color)) in enumerate(METHODS.items()):
        spots = [(*spot(claimed, one), many) for claimed, one, many in found[name]]
        yield line([one[:2] for one in spots], color)
        yield from (dot(x, y, color, 3 + 7 * (many / most) ** 0.5) for x, y, many in spots)
        yield dot(60 + 150 * place, bottom + 56, color, 6)
        yield text(72 + 150 * place, bottom + 60, name)


PICTURES = {"calibration.svg": calibration}

if __name__ == "__main__":
    for name, draw in PICTURES.items():
        (FIGURES / name).write_text(draw(), encoding="utf-8")
