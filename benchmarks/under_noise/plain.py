"""Real sets without noise, with crowd-kit's methods."""

import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from own_process import HERE
from quietcrowd.formats import write_table
from quietcrowd_research.label_oracle import label_posterior
from under_noise.cells import Cell, best_single, geometric_ratio
from under_noise.labels import SETS, real_set
from under_noise.records import LOSS, measure
from under_noise.rivals import Scene, label_rivals, losses_of
from under_noise.tables import Section, cell_table, difference, mean_table

PEERS = HERE.parent / ".venv-peers" / "bin" / "python"
PEER_METHODS = (
    "MajorityVote",
    "Wawa",
    "ZeroBasedSkill",
    "DawidSkene",
    "OneCoinDawidSkene",
    "GLAD",
    "MMSR",
    "MACE",
)
"""crowd-kit's methods for labels that know of no more than task, worker and label."""

POINTS = 0.015
"""No set may be worse than its best by more."""


def peer_rivals(answers):
    """Return crowd-kit's methods by name, each a function of a scene, fitted all at once."""
    found = {}

    def fitted():
        if not found:
            found.update(fit_peers(answers))
        return found

    def rival(name):
        def record(scene):
            labels = fitted()[name]
            if isinstance(labels, str):
                raise RuntimeError(f"crowd-kit's {name}: {labels}")
            at = scene.score.tasks
            codes = np.array([labels.get(str(task), -1) for task in at])
            return {LOSS: (codes != scene.score.known).astype(np.uint8)}

        return record

    return {f"crowd-kit {name}": rival(name) for name in PEER_METHODS}


def fit_peers(answers):
    """Return labels by task, by method of crowd-kit."""
    columns = {"task": answers.task_codes, "worker": answers.worker_codes, "label": answers.values}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "answers.parquet"
        write_table(pd.DataFrame({k: v.astype(np.int64) for k, v in columns.items()}), path)
        words = [PEERS, HERE / "peers" / "crowd_kit_sets.py", path, *PEER_METHODS]
        return json.loads(subprocess.run(words, capture_output=True, check=True).stdout)


def plain_cell(name, kept):
    """Return the cell of a real set without noise."""
    answers, score, (confusions, prior) = real_set(name)

    def posterior(scene):
        return label_posterior(scene.table, confusions=confusions, prior=prior)

    rivals = label_rivals(posterior) | (peer_rivals(answers) if PEERS.exists() else {})
    found = measure(
        ("plain", name), 1, lambda *_: Scene(reports=answers, score=score), rivals, kept
    )
    return Cell(crowd=name, epsilon=np.inf, losses=losses_of(found))


def plain_part(draws, kept, subject, sets=SETS, epsilons=()):  # noqa: ARG001
    """Real sets without noise."""
    cells = [plain_cell(name, kept) for name in sets]
    section = Section(
        "Labels without noise",
        "The tables show error rates with non-private answers. There is no randomness, so standard"
        " errors are over tasks. A set is missed if its error is more than .015 above the error of"
        " the best other method of both libraries."
        + (
            ""
            if PEERS.exists()
            else " crowd-kit is not installed (`make bench` installs it): its methods are left out."
        ),
    )
    name = best_single(cells, subject)
    ratio = geometric_ratio(cells, subject, name)
    section.bar(
        f"geometric mean, against {name}, the best single other method of both libraries",
        ratio,
        1.0,
    )

    def judge(cell):
        apart = difference(cell, subject, cell.best_other(subject))
        if apart.value + 2 * apart.error <= POINTS:
            return "met"
        return "missed" if apart.value - 2 * apart.error > POINTS else "undecided"

    section.tables += [mean_table(cells, "geometric mean"), cell_table(cells, subject, judge)]
    return section
