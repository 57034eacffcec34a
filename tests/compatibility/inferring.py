"""Estimates of every method: of answers, reports, known truths, earlier estimates and stores."""

import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pyarrow.parquet as pq
from attrs import evolve
from tests.compatibility.crowds import (
    LABEL_CROWDS,
    LABEL_METHODS,
    MECHANISMS,
    METHODS,
    NUMBER_CROWDS,
    NUMBER_METHODS,
    OF_CROWD,
    PLAIN_ARITHMETIC,
    answers_of,
    known_of,
    rows_of,
)
from tests.compatibility.spelling import plain

import quietcrowd as qc
from quietcrowd.exceptions import QuietcrowdError, QuietcrowdWarning
from quietcrowd.inference import TruthEstimate
from quietcrowd.mechanisms import Mechanism, TwoLayerRandomizedResponse
from quietcrowd.scale import Store, infer_store

Case = tuple[str, Callable[[], Any]]

STORES = {
    "labels": ("weighted-vote", "dawid-skene", "glad"),
    "numbers": ("crh", "catd", "gtm", "weighted-mean", "kdem"),
    "one-layer-null": ("majority", "weighted-vote", "dawid-skene"),
    "laplace-released": ("moon", "ratio-mean"),
}
"""Methods that are run on each store; those that go on from a checkpoint among them."""

INTERRUPTED = {
    "labels": ("weighted-vote", "dawid-skene", "glad"),
    "numbers": ("crh", "catd", "gtm", "weighted-mean", "kdem"),
    "one-layer-null": ("weighted-vote", "dawid-skene"),
    "laplace-released": ("moon",),
}


def estimates(folder: Path) -> Iterator[Case]:
    """Give what computes each estimate; reports and stores are in a folder."""
    for kinds, methods in ((LABEL_CROWDS, LABEL_METHODS), (NUMBER_CROWDS, NUMBER_METHODS)):
        for crowd in kinds:
            for name in methods:
                yield f"answers/{crowd}/{name}", lambda c=crowd, n=name: _fit(n, answers_of(c))
    for kind, mechanism in MECHANISMS.items():
        for name in _methods_for(mechanism):
            yield f"reports/{kind}/{name}", lambda k=kind, n=name: _fit(n, _reports(folder, k))
    for name in METHODS:
        crowd = "three" if name in LABEL_METHODS else "numbers"
        if name == "ratio-mean":
            continue  # it needs participation bits
        yield f"known/{name}", lambda c=crowd, n=name: _fit(n, answers_of(c), gold=known_of(c))
        yield f"continued/{name}", lambda c=crowd, n=name: _continued(n, c)
        yield f"extended/{name}", lambda c=crowd, n=name: _extended(n, c)
    for store, names in STORES.items():
        for name in names:
            yield f"stores/{store}/{name}", lambda s=store, n=name: _stored(folder, s, n)
    for name in ("dawid-skene", "weighted-vote"):
        yield f"stores/known/{name}", lambda n=name: _stored(folder, "labels", n, known_of("three"))


def _methods_for(mechanism: Mechanism) -> tuple[str, ...]:
    if isinstance(mechanism, qc.RandomizedResponse | TwoLayerRandomizedResponse):
        return ("majority", "weighted-vote", "dawid-skene", "glad", "crh-labels")
    if isinstance(mechanism, qc.LaplaceMechanism):
        return ("mean", "weighted-mean", "gtm", "moon", "moon-variance", "ratio-mean")
    return ("mean", "weighted-mean", "gtm", "moon")


def _reports(folder: Path, kind: str) -> qc.Reports:
    return qc.read_reports(folder / "reports" / f"{kind}.parquet")


def _fit(name: str, data: Any, **options: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        try:
            return told(METHODS[name].fit(data, **options))
        except QuietcrowdError as error:
            return {"refused": str(error)}


def told(estimate: TruthEstimate) -> dict[str, Any]:
    """Return all that an estimate says."""
    return _told(
        estimate, estimate.truths_as("pyarrow").to_pydict(), estimate.workers_as("pyarrow")
    )


def _told(estimate: Any, truths: dict[str, list[Any]], workers: Any) -> dict[str, Any]:
    return {
        "truths": plain(truths),
        "workers": plain(workers.to_pydict()),
        "iterations": int(estimate.n_iter),
        "converged": bool(estimate.converged),
        "end": plain(list(estimate.history[-1:])),
    }


def _parts(crowd: str) -> tuple[qc.Answers, qc.Answers]:
    """Return the answers to the first tasks of a crowd, and to the others."""
    rows = rows_of(crowd).drop(columns="truth")
    first = rows["task"] < "t08"
    domain = OF_CROWD[crowd]
    parts = (qc.Answers.from_frame(rows[one], domain) for one in (first, ~first))
    return next(parts), next(parts)


def _continued(name: str, crowd: str) -> Any:
    first, _ = _parts(crowd)
    return told(METHODS[name].fit(answers_of(crowd), init=METHODS[name].fit(first)))


def _extended(name: str, crowd: str) -> Any:
    first, second = _parts(crowd)
    return told(METHODS[name].extend(METHODS[name].fit(first), second))


def _stored(folder: Path, store: str, name: str, gold: Any = None) -> Any:
    with TemporaryDirectory() as place, warnings.catch_warnings():
        warnings.simplefilter("ignore", QuietcrowdWarning)
        return run_store(folder, store, name, Path(place), gold=gold)


def run_store(folder: Path, store: str, name: str, place: Path, **options: Any) -> Any:
    """Infer from a store; what is written goes to `place`."""
    most = options.pop("most", None)
    method = METHODS[name] if most is None else evolve(METHODS[name], max_iter=most)
    opened = Store.open(folder / "stores" / store)
    found = infer_store(opened, method, place / "truths.parquet", **options)
    return _told(found, pq.read_table(found.truths).to_pydict(), found.workers)


def is_exact(name: str) -> bool:
    """Return whether an estimate is the same on every machine, to the last bit.

    What reports of a matrix factorisation estimate is a product of matrices first, whose last bit
    BLAS rounds by the kind of the processor.
    """
    reports, _, method = name.rpartition("/")
    return method in PLAIN_ARITHMETIC and not reports.startswith("reports/factors")
