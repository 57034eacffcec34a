"""How many answers are wrong, by the total epsilon of a person, on real sets of labels.

``python benchmarks/wrong_answers.py`` simulates, and writes research/docs/wrong-answers.csv with
its pictures and tables. ``--draw`` writes only these, from the file. Each person answers a random
subset of the questions that they answered, about as many as are best for the total epsilon. The
other methods were chosen beforehand: a majority vote, and Dawid-Skene as crowd-kit users run it.
"""

import argparse
import re
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

import quietcrowd as qc
from quietcrowd.evaluation.plots import save_picture
from quietcrowd.exceptions import QuietcrowdWarning
from quietcrowd.figures import COLORS, REFERENCE, add_legend, new_panels
from under_noise.cells import variance_of_mean

HERE = Path(__file__).parents[1] / "research" / "docs"
MEASURED, PAGE = HERE / "wrong-answers.csv", HERE / "wrong-answers.md"
SETS = ("wsd", "duck", "dog", "duchenne", "web", "adult")
TOTALS = (3.0, 10.0, 30.0, 100.0)
DRAWS = 12
EACH = {2: 2.2, 3: 2.7, 4: 3.15, 5: 3.4}
"""Epsilon of an answer, by the number of labels, at which a total epsilon shows most."""
METHODS = {
    "NoiseAware": qc.NoiseAware(),
    "majority vote": qc.MajorityVote(),
    "Dawid-Skene": qc.DawidSkene(),
}
CALIBRATED = ("NoiseAware", "Dawid-Skene")
BINS = np.linspace(0.0, 1.0, 11)
FEW = 50
"""Questions in a bin of confidence without a point in the figure."""
SHOWN = (10.0, 100.0, np.inf)
TABLE = re.compile(r"^\| people \|.*?\n(?!\|)", re.MULTILINE | re.DOTALL)


def sent(answers, total, rng):
    """Return simulated reports, or all answers at an infinite total."""
    if np.isinf(total):
        return answers
    count = max(1, round(total / EACH[answers.domain.size]))
    frame = answers.to_frame().sample(frac=1.0, random_state=int(rng.integers(2**31)))
    few = qc.Answers.from_frame(frame.groupby("worker").head(count), answers.domain)
    mechanism = qc.RandomizedResponse(domain=answers.domain, epsilon=total / count)
    return mechanism.simulate(few, random_state=rng)


def judged(estimate, known):
    """Return whether each known truth is missed, and the confidence, which may be missing.

    A question without a report gets the most frequent estimated truth.
    """
    found = estimate.truths.astype({"task": str, "truth": str}).set_index("task")
    common = found["truth"].value_counts(normalize=True)
    found = found.reindex(known.index)
    wrong = found["truth"].fillna(common.index[0]).to_numpy() != known.to_numpy()
    return wrong, found["confidence"].to_numpy(float)


def measure(name, total, draws):
    """Return one row per method: errors, claimed confidence, and the counts of a calibration."""
    dataset = qc.load_dataset(name)
    known = dataset.truths.to_pandas().astype(str).set_index("task")["label"]
    kept = {method: ([], []) for method in METHODS}
    for draw in range(draws if np.isfinite(total) else 1):
        rng = np.random.default_rng([zlib.crc32(f"{name} {total}".encode()), draw])
        reports = sent(dataset.answers, total, rng)
        for method, one in METHODS.items():
            for place, found in enumerate(judged(one.fit(reports, n_jobs=1), known)):
                kept[method][place].append(found)
    for method, found in kept.items():
        wrong, sure = np.array(found[0], float), np.array(found[1])
        asked = np.isfinite(sure)
        gap = np.where(asked, wrong - (1 - sure), 0.0)
        place = np.where(asked, np.clip(np.digitize(sure, BINS) - 1, 0, len(BINS) - 2), -1)
        yield {
            "set": name,
            "total_epsilon": total,
            "method": method,
            "questions": len(known),
            "people": len(dataset.answers.workers),
            "error_rate": wrong.mean(),
            "error_rate_se": variance_of_mean(wrong) ** 0.5,
            "asked": asked.mean(),
            "asked_error_rate": wrong[asked].mean(),
            "claimed_error_rate": 1 - sure[asked].mean(),
            "too_sure": gap.mean() / asked.mean(),
            "too_sure_se": variance_of_mean(gap) ** 0.5 / asked.mean(),
            "guess": 1 - known.value_counts(normalize=True).iloc[0],
            **{f"count_{b}": int((place == b).sum()) for b in range(len(BINS) - 1)},
            **{f"right_{b}": int((wrong[place == b] == 0).sum()) for b in range(len(BINS) - 1)},
            **{f"sure_{b}": float(sure[place == b].sum()) for b in range(len(BINS) - 1)},
        }


def draw_errors(frame):
    """Return the figure of error rates by total epsilon."""
    figure, panels = new_panels(3, 2, width=8.0, height=5.5, share_y=True)
    for axes, name in zip(panels, SETS, strict=True):
        rows = frame[frame["set"] == name]
        private = rows[np.isfinite(rows["total_epsilon"])]
        for color, method in zip(COLORS, METHODS, strict=False):
            line = private[private["method"] == method]
            axes.errorbar(
                line["total_epsilon"],
                line["error_rate"],
                yerr=2 * line["error_rate_se"],
                color=color,
                marker="o",
                markersize=4,
                capsize=2,
                label=method,
            )
        best = rows[~np.isfinite(rows["total_epsilon"]) & (rows["method"] == "NoiseAware")]
        without = best["error_rate"].iloc[0]
        axes.axhline(without, color=COLORS[0], linestyle=REFERENCE, label="no privacy")
        axes.axhline(rows["guess"].iloc[0], color="grey", linestyle=REFERENCE, label="a guess")
        axes.set(title=f"{name}: {rows['people'].iloc[0]:,} people", xscale="log", ylim=(0, 0.8))
        axes.set_xticks(TOTALS, [f"{total:g}" for total in TOTALS])
        axes.minorticks_off()
    figure.supylabel("fraction of wrong answers", fontsize="medium")
    figure.supxlabel("total ε of a person", fontsize="medium")
    add_legend(figure, panels)
    return figure


def draw_calibration(frame):
    """Return the figure of claimed confidence against the fraction of right answers."""
    figure, panels = new_panels(2, height=4.0, share_y=True)
    private = frame[np.isfinite(frame["total_epsilon"])]
    for axes, color, method in zip(
        panels, COLORS[::2], ("NoiseAware", "Dawid-Skene"), strict=False
    ):
        rows = private[private["method"] == method]
        counts, right, sure = (
            rows.filter(regex=f"^{kind}_").sum().to_numpy(float)
            for kind in ("count", "right", "sure")
        )
        some = counts >= FEW
        counts, right, sure = counts[some], right[some] / counts[some], sure[some] / counts[some]
        axes.plot([0, 1], [0, 1], color="grey", linestyle=REFERENCE)
        axes.plot(sure, right, color=color)
        axes.scatter(sure, right, s=400 * counts / counts.sum(), color=color)
        axes.set(title=method, xlabel="claimed confidence", xlim=(0, 1.03), ylim=(0, 1.03))
    panels[0].set_ylabel("fraction of right answers")
    return figure


def table(frame):
    """Return the table of wrong and claimed answers as Markdown."""
    rows = frame[frame["total_epsilon"].isin(SHOWN)]
    lines = ["| people | total ε | " + " | ".join(f"{m}: wrong (claimed)" for m in METHODS) + " |"]
    lines.append("|---" * (2 + len(METHODS)) + "|")
    for (name, total), cell in rows.groupby(["set", "total_epsilon"], sort=False):
        by = cell.set_index("method")
        parts = [
            f"{by['asked_error_rate'][m]:.0%} ± {by['too_sure_se'][m]:.0%} "
            f"({by['claimed_error_rate'][m]:.0%})"
            for m in METHODS
        ]
        shown = "no privacy" if np.isinf(total) else f"{total:g}"
        lines.append(f"| {name}: {cell['people'].iloc[0]:,} | {shown} | {' | '.join(parts)} |")
    return "\n".join(lines) + "\n"


def write():
    """Write the pictures and the table from the measurements."""
    frame = pd.read_csv(MEASURED)
    (HERE / "figures").mkdir(exist_ok=True)
    save_picture(draw_errors(frame), HERE / "figures" / "wrong-answers.png")
    save_picture(draw_calibration(frame), HERE / "figures" / "calibration.png")
    PAGE.write_text(TABLE.sub(lambda _: table(frame), PAGE.read_text()))


def main():
    """Simulate, and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draw", action="store_true", help="from the last measurements")
    parser.add_argument("--draws", type=int, default=DRAWS, help="simulations of each cell")
    given = parser.parse_args()
    warnings.simplefilter("ignore", QuietcrowdWarning)
    if not given.draw:
        rows = [
            row
            for name in SETS
            for total in (*TOTALS, np.inf)
            for row in measure(name, total, given.draws)
        ]
        pd.DataFrame(rows).to_csv(MEASURED, index=False, float_format="%.5g")
    write()


if __name__ == "__main__":
    main()
