"""Tables 2 and 3, Figures 3 and 4 of Li et al., KDD 2018: error rates beside their changes.

The printed score is the change of the error rate, from the same method on the plain answers. A
method that errs more on plain answers has the smaller changes for it, and a guess changes little
where the plain answers are bad; so the error rates themselves stand beside, and the constant guess.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from quietcrowd.evaluation.plots import EQUAL_EXACT, check_picture, save_with_legend
from quietcrowd.figures import new_figure
from quietcrowd.privacy.guarantee import show_loss
from quietcrowd_research.li2018.printed import EPSILONS, PRINTED

METHODS = {
    "majority": "MV",
    "weighted-vote": "TD",
    "weighted-vote:smoothing=3": "TD s3",
}
"""The paper's methods by ours, with two smoothings of the weights: it names none."""

BETA = "two-layer beta"
"""The two-layer mechanism of the same claim with a truncated beta as the distribution of p_u."""

EQUAL_CLAIM = "two-layer*"
"""The two-layer mechanism that really loses the claimed epsilon, by a `low` above 0."""

COMPARED = ("one-layer", "two-layer")


def tell_error_changes(frame: pd.DataFrame) -> Sequence[pd.DataFrame | str]:
    """Return the changes, the error rates, and what both say."""
    plain = _plain(frame)
    private = frame[frame["mechanism"] != "none"]
    return [
        _changes(frame),
        "Change of the error rate from the same method on the plain answers. printed: the paper's, "
        "means of 100 trials, where it has this set. TD s3: truth discovery with smoothing 3 "
        "instead of 1. exact: what one answer of a worker with the mean number of answers loses at "
        "most. one-layer*: at the exact epsilon of the row above. two-layer*: it really loses the "
        "claimed epsilon. "
        f"{BETA}: p_u from a beta distribution, truncated. "
        f"Means of {int(private['trials'].max())} trials; "
        f"the largest standard error is {private['change_se'].max():.4f}.",
        _errors(frame, plain["constant"]),
        "Error rates of what is inferred from private reports. †: no better than the constant "
        "guess.",
        *_findings(frame, plain),
    ]


def _plain(frame: pd.DataFrame) -> dict[str, float]:
    """Return what the constant guess and each method on the plain answers err."""
    rows = frame[frame["mechanism"] == "none"]
    return dict(zip(rows["method"], rows["error_rate"], strict=True))


def _cells(frame: pd.DataFrame) -> Iterator[tuple[float, str, float, Any]]:
    """Go through claimed epsilon, mechanism, exact epsilon, and the rows of its methods."""
    private = frame[frame["mechanism"] != "none"]
    keys = ["claimed_epsilon", "mechanism", "exact_epsilon_mean"]
    cells: Any = private.groupby(keys, sort=False)
    for (claimed, mechanism, exact), rows in cells:
        yield claimed, mechanism, exact, rows.set_index("method")


def _changes(frame: pd.DataFrame) -> pd.DataFrame:
    printed = PRINTED.get(frame["dataset"].iloc[0], {})
    rows = []
    for claimed, mechanism, exact, cells in _cells(frame):
        row = {"eps.": f"{claimed:g}", "mechanism": mechanism, "exact": show_loss(exact, 3)}
        for method, name in METHODS.items():
            known = printed.get((mechanism, method), {}).get(claimed)
            if (COMPARED[0], method) in printed:
                row[f"{name}_printed"] = "" if known is None else _signed(known)
            row[name] = _signed(cells.loc[method, "change"])
        rows.append(row)
    return pd.DataFrame(rows)


def _signed(number: float) -> str:
    return f"{number:+.4f}"


def _errors(frame: pd.DataFrame, guess: float) -> pd.DataFrame:
    rows = []
    for claimed, mechanism, exact, cells in _cells(frame):
        row = {"eps.": f"{claimed:g}", "mechanism": mechanism, "exact": show_loss(exact, 3)}
        for method, name in METHODS.items():
            error = cells.loc[method, "error_rate"]
            row[name] = f"{error:.4f}" + ("†" if error >= guess else " ")
        rows.append(row)
    return pd.DataFrame(rows)


def _findings(frame: pd.DataFrame, plain: Mapping[str, float]) -> Iterator[str]:
    """Yield what the rows say, each computed from them."""
    guess = plain["constant"]
    shown = ", ".join(f"{name} {plain[method]:.3f}" for method, name in METHODS.items())
    yield f"Plain answers: {shown}. Constant guess: {guess:.3f}."
    private = frame[frame["mechanism"] != "none"]
    compared = private[private["mechanism"].isin(COMPARED)]
    worse = int((compared["error_rate"] >= guess).sum())
    yield (
        f"Of the {len(compared)} rows of one-layer and two-layer, {worse} are no better than the "
        f"constant guess; of all {len(private)}, {int((private['error_rate'] >= guess).sum())}."
    )
    yield _of_smoothing(plain)
    yield _of_exact(compared)
    yield from _of_equal_privacy(private)
    if frame["dataset"].iloc[0] in PRINTED:
        yield _of_printed(frame)


def _of_smoothing(plain: Mapping[str, float]) -> str:
    one, three = plain["weighted-vote"], plain["weighted-vote:smoothing=3"]
    by = three - one
    if round(by, 4) == 0:
        return f"Smoothing 1 or 3: the same error on the plain answers, {one:.3f}."
    way = "raises" if by > 0 else "lowers"
    return (
        f"Smoothing 3 {way} the plain error from {one:.3f} to {three:.3f}: for that alone each of "
        f"its changes is {'smaller' if by > 0 else 'larger'} by {abs(by):.3f}, and looks "
        f"{'better' if by > 0 else 'worse'}."
    )


def _of_exact(compared: pd.DataFrame) -> str:
    two = compared[compared["mechanism"] == "two-layer"]
    mean, busiest = two["exact_epsilon_mean"], two["exact_epsilon_busiest"]
    claims = two["claimed_epsilon"]
    return (
        f"The two-layer mechanism claims epsilon {claims.min():g} to {claims.max():g} and loses "
        f"{_range(mean)} about an answer of the mean worker, {_range(busiest)} of the busiest."
    )


def _range(losses: pd.Series[Any]) -> str:
    least, most = show_loss(losses.min(), 3), show_loss(losses.max(), 3)
    return least if least == most else f"{least} to {most}"


def _of_equal_privacy(private: pd.DataFrame) -> Iterator[str]:
    """Yield who errs less at the exact epsilon of two-layer, and at the one that it claims."""
    two = private[private["mechanism"] == "two-layer"].set_index(["claimed_epsilon", "method"])
    star = private[private["mechanism"] == EQUAL_EXACT]
    same = star.groupby(["claimed_epsilon", "method"], sort=False).first()
    yield _compared("At the exact epsilon of two-layer", same, EQUAL_EXACT, two, "two-layer")
    one = private[private["mechanism"] == "one-layer"].set_index(["claimed_epsilon", "method"])
    honest = private[private["mechanism"] == EQUAL_CLAIM]
    if len(honest):
        rows = honest.set_index(["claimed_epsilon", "method"])
        yield _compared("At an exact epsilon as claimed", one, "one-layer", rows, EQUAL_CLAIM)


def _compared(when: str, one: pd.DataFrame, name: str, other: pd.DataFrame, beside: str) -> str:
    both = one.merge(other, left_index=True, right_index=True, suffixes=("", "_other"))
    gap = both["error_rate_other"] - both["error_rate"]
    sure = 2 * np.hypot(both["error_rate_se"], both["error_rate_se_other"])
    better, worse = int((gap > sure).sum()), int((gap < -sure).sum())
    return (
        f"{when}, {name} errs less than {beside} in {better} of {len(both)} rows, and more in "
        f"{worse}, by two standard errors; the mean error rates are "
        f"{both['error_rate'].mean():.3f} and {both['error_rate_other'].mean():.3f}."
    )


def _of_printed(frame: pd.DataFrame) -> str:
    printed = PRINTED.get(frame["dataset"].iloc[0], {})
    gaps = {
        method: [
            float(row["change"]) - printed[row["mechanism"], row["method"]][row["claimed_epsilon"]]
            for _, row in frame[frame["method"] == method].iterrows()
            if row["claimed_epsilon"] in printed.get((row["mechanism"], row["method"]), {})
        ]
        for method in METHODS
    }
    differences = ", ".join(
        f"{METHODS[method]} {np.mean(gap):+.3f} (from {min(gap):+.3f} to {max(gap):+.3f})"
        for method, gap in gaps.items()
        if gap
    )
    return f"Our changes less the printed ones, on average: {differences}."


def draw_error_changes(frame: pd.DataFrame, path: Path, title: str) -> None:
    """Draw changes as the paper does, the printed ones beside; and the error rates themselves."""
    check_picture(path)
    figure = new_figure()
    figure.set_size_inches(12, 5)
    every = figure.subplots(1, 2)
    known = [epsilon for epsilon in EPSILONS if epsilon in set(frame["claimed_epsilon"])][::-1]
    places = {epsilon: place for place, epsilon in enumerate(known)}
    shown = frame[frame["method"] != "weighted-vote:smoothing=3"]
    _draw_changes(every[0], shown[shown["mechanism"].isin(COMPARED)], places)
    _draw_errors(every[1], shown, places)
    for axes in every:
        axes.set_xticks(list(places.values()), [f"{one:g}" for one in places], fontsize="small")
        axes.set_xlabel("claimed epsilon")
        axes.grid(alpha=0.3)
    every[0].set_ylabel("change of the error rate")
    every[1].set_ylabel("error rate")
    figure.suptitle(title)
    save_with_legend(figure, every, path)


_COLOURS = {"majority": "C1", "weighted-vote": "C0"}
_LOOKS = {
    "one-layer": ("-", "o"),
    "two-layer": ("--", "s"),
    EQUAL_EXACT: (":", "^"),
    EQUAL_CLAIM: ("-.", "v"),
}


def _draw_line(axes: Any, rows: pd.DataFrame, places: Mapping[float, int], score: str) -> None:
    mechanism, method = rows["mechanism"].iloc[0], rows["method"].iloc[0]
    style, marker = _LOOKS[mechanism]
    axes.errorbar(
        [places[epsilon] for epsilon in rows["claimed_epsilon"]],
        rows[score],
        yerr=2 * rows[f"{score}_se"],
        linestyle=style,
        marker=marker,
        color=_COLOURS[method],
        markersize=4,
        linewidth=1,
        capsize=2,
        label=f"{METHODS[method]}, {mechanism}",
    )


def _draw_changes(axes: Any, rows: pd.DataFrame, places: Mapping[float, int]) -> None:
    printed = PRINTED.get(rows["dataset"].iloc[0], {})
    lines: Any = rows.groupby(["mechanism", "method"], sort=False)
    for (mechanism, method), line in lines:
        _draw_line(axes, line, places, "change")
        known = printed.get((mechanism, method))
        if known is None:
            continue
        axes.plot(
            [places[epsilon] for epsilon in known if epsilon in places],
            [change for epsilon, change in known.items() if epsilon in places],
            linestyle="",
            marker="x" if mechanism == "one-layer" else "+",
            color=_COLOURS[str(method)],
            alpha=0.6,
            label=f"{METHODS[str(method)]}, {mechanism}, printed",
        )
    axes.set_title("as the paper draws it", fontsize="medium")


def _draw_errors(axes: Any, rows: pd.DataFrame, places: Mapping[float, int]) -> None:
    private = rows[rows["mechanism"].isin(_LOOKS)]
    keys = ["mechanism", "claimed_epsilon", "method"]
    once = private.drop_duplicates(keys)  # one-layer* stands first for the uniform distribution
    for _, line in once.groupby(["mechanism", "method"], sort=False):
        _draw_line(axes, line, places, "error_rate")
    for method, error in _plain(rows).items():
        constant = method == "constant"
        axes.axhline(
            error,
            color="grey" if constant else _COLOURS[method],
            linestyle=(0, (1, 3)),
            label="constant guess" if constant else f"{METHODS[method]}, plain answers",
        )
    axes.set_title("error rates, and at equal exact privacy (*)", fontsize="medium")
