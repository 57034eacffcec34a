"""Inference from the rounds of a campaign: one chain of fits, from the first stored round on."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.campaign.results.reports import Inferred, ReportRows, StoredReports
from quietcrowd.exceptions import AnswerError
from quietcrowd.frames import positions_by_text, to_native
from quietcrowd.inference import METHODS, NoiseAware, method_from_dict, usual_method
from quietcrowd.inference.rounds.results import round_columns


def method_of(named: str | None, rows: ReportRows, *, in_rounds: bool = False) -> Any:
    """Return the method of a campaign, by default one whose truths follow the rounds.

    No group of workers is named while answers can still be withdrawn.
    """
    if named is None:
        found: Any = METHODS[usual_method(rows.domain, rows.mechanism)]()
        if in_rounds and isinstance(found, NoiseAware):
            found = evolve(found, over_time="follow")
    else:
        found = method_from_dict(json.loads(named))
    return evolve(found, groups=False) if isinstance(found, NoiseAware) else found


def infer_rounds(
    named: str | None,
    rounds: Mapping[int, StoredReports],
    names: list[str],
    *,
    lasting: bool = False,
) -> dict[int, Inferred]:
    """Return the results of each round, given all rounds if the method's truths follow time.

    Workers are those of the round, as the rounds until then show them. `names` are all questions.
    Where facts last, no method follows time: a worker's mistake would count anew in each round.
    """
    method = method_of(named, next(iter(rounds.values())).rows, in_rounds=True)
    if lasting and method.follows_time:
        method = evolve(method, over_time="anew")
    try:
        return _infer(method, rounds, names)
    except AnswerError as error:
        if named is not None or error.code != "inference.over-time-unsupported":
            raise
        return _infer(evolve(method, over_time="anew"), rounds, names)


def _infer(
    method: Any, rounds: Mapping[int, StoredReports], names: list[str]
) -> dict[int, Inferred]:
    found, estimate = {}, None
    for number, stored in rounds.items():
        reports, gold = stored.independent.reports, stored.known_truths
        if not method.follows_time:
            estimate = method.fit(reports, gold=gold, n_jobs=1)
        elif estimate is None:
            estimate = method.fit(reports, gold=gold, n_jobs=1, round=number)
        else:
            estimate = method.extend(estimate, reports, gold=gold, round=number)
        found[number] = Inferred(
            method=method,
            iterations=estimate.n_iter,
            converged=estimate.converged,
            truths=estimate.truths_as("pyarrow"),
            workers=_of_round(estimate.workers_as("pyarrow"), stored),
            start=None,
            suggest=lambda answers: np.zeros(answers, np.int64),
        )
    if not method.follows_time:
        return found
    smoothed = to_native(round_columns(estimate, smoothed=True), "pyarrow")
    return {
        number: evolve(one, truths=_of_all(smoothed, number, names))
        for number, one in found.items()
    }


def _of_round(workers: pa.Table, stored: StoredReports) -> pa.Table:
    """Return the workers of a round, in the order of its reports, with their counts in it."""
    places = positions_by_text(stored.independent.workers, workers["worker"].combine_chunks())
    found = workers.take(pa.array(places))
    counts = pa.array(stored.independent.per_worker)
    return found.set_column(found.schema.get_field_index("answers"), "answers", counts)


def _of_all(smoothed: pa.Table, number: int, names: list[str]) -> pa.Table:
    """Return the truths of a round with a row per question; null for those without a report yet."""
    found = smoothed.filter(pc.equal(smoothed["round"], number)).drop_columns("round")
    places = positions_by_text(pa.array(names), found["task"].combine_chunks())
    rows = found.take(pa.array(places, mask=places < 0))
    counts = pc.fill_null(rows["answers"], 0)
    return rows.set_column(0, "task", pa.array(names)).set_column(
        rows.schema.get_field_index("answers"), "answers", counts
    )
