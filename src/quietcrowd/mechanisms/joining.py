"""Join reports of several mechanisms into one table."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc
from attrs import evolve

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, NumericDomain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import offsets_of, positions_by_text, sort_rows, together
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, check_reports
from quietcrowd.mechanisms.mixture import Mixture, NonPrivate, check_joinable
from quietcrowd.mechanisms.sent_again import Marks


def join_reports(*reports: Reports | Answers, mechanisms: Iterable[Mechanism] = ()) -> Reports:
    """Return reports of several mechanisms, and non-private answers, as one table.

    `NoiseAware` infers truths from all of them. Tasks and workers match if their ids print alike.
    Reports that were sent again, see `Reports.again`, count only if all reports are of one
    campaign.

    Parameters
    ----------
    *reports : Reports or Answers
        At least one, over one domain of answers. `Answers` are non-private.
    mechanisms : iterable of Mechanism
        Further mechanisms of the mixture. `extend` needs reports of the same mixture, also if some
        of its mechanisms have no new report.

    Returns
    -------
    Reports
        With the attributes `mechanisms` and `part_codes`; `split` undoes the join. They do not
        depend on the order of the arguments. Reports of equal mechanisms have that mechanism.

    Raises
    ------
    AnswerError
        If a worker has two reports on one task, since their errors are not independent, or if
        domains differ.
    ParameterError
        If reports of a mechanism cannot be joined: sketches, reports on tasks without an answer,
        participation bits, options per task.

    Warns
    -----
    DroppedRowsWarning
        If reports that were sent again do not count.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> crowd = qc.make_crowd(tasks=20, workers=10, random_state=1)
    >>> frame = crowd.answers.to_frame()
    >>> first = frame["worker"] < frame["worker"].median()
    >>> sent = [
    ...     qc.RandomizedResponse(domain=crowd.answers.domain, epsilon=epsilon).randomize(rows)
    ...     for epsilon, rows in [(0.5, frame[first]), (4.0, frame[~first])]
    ... ]
    >>> joined = qc.join_reports(*sent)
    >>> len(joined) == len(frame), [part.epsilon for part in joined.mechanisms]
    (True, [0.5, 4.0])
    """
    given = _all_reports(reports)
    if not given:
        raise ParameterError("mechanisms.nothing-to-join")
    mechanism = Mixture.of([*(one.mechanism for one in given), *mechanisms])
    if len(given) == 1 and mechanism == given[0].mechanism:
        return given[0]
    for one in given:
        check_joinable(one.mechanism)
    marks = _marks(given)
    if marks is not None:
        marks.warn(1)
        if marks.campaign is None:
            given = [first_sent(one) for one in given]
    tables = [one.table for one in given]
    tasks, task_codes = _joined([(one.tasks, one.task_codes) for one in tables])
    workers, worker_codes = _joined([(one.workers, one.worker_codes) for one in tables])
    values = np.concatenate([_values(one, mechanism) for one in given])
    order, task_codes, worker_codes = sort_rows(task_codes, worker_codes, len(tasks), len(workers))
    _check_once(tasks, task_codes, workers, worker_codes)
    table = Answers(
        domain=mechanism.report_domain,
        tasks=tasks,
        workers=workers,
        offsets=offsets_of(task_codes, len(tasks)),
        worker_codes=worker_codes,
        values=values[order],
    )
    campaign = None if marks is None else marks.campaign
    return Reports(
        table=table,
        mechanism=mechanism,
        simulated=any(one.simulated for one in given),
        again=None if marks is None or campaign is None else marks.again[order],
        campaign=campaign,
    )


def _all_reports(given: Sequence[Any]) -> list[Reports]:
    """Return the reports of each mechanism; non-private levels are numbers if reports are."""
    plain = [one for one in given if isinstance(one, Answers)]
    found: list[Reports] = []
    for one in given:
        if not isinstance(one, Answers):
            check_reports(one)
            found += one.split()
    tables = [*(one.table for one in found), *plain]
    numbers = any(not _has_labels(one) for one in tables)
    answers = (NonPrivate(domain=one.domain, as_numbers=numbers).reports_of(one) for one in plain)
    return [*found, *answers]


def _has_labels(table: Answers) -> bool:
    domain = table.domain
    return isinstance(domain, FiniteDomain) or not isinstance(domain, NumericDomain)


def _values(reports: Reports, mechanism: Mechanism) -> npt.NDArray[Any]:
    """Return the values of reports as their mechanism, or a mixture with it, stores them."""
    values = reports.table.values
    if not isinstance(mechanism, Mixture):
        return values
    part = mechanism.parts.index(reports.mechanism)
    return mechanism.report_domain.values_of(part, values)


def _marks(given: Sequence[Reports]) -> Marks | None:
    """Return the marks of all reports; None if none was sent again."""
    if all(one.again is None for one in given):
        return None
    campaigns = {one.campaign for one in given}
    return Marks(
        again=np.concatenate(
            [np.zeros(len(one), np.bool_) if one.again is None else one.again for one in given]
        ),
        campaign=campaigns.pop() if len(campaigns) == 1 else None,
    )


def first_sent(reports: Reports) -> Reports:
    """Return the reports that were not sent again."""
    if reports.again is None:
        return reports
    return evolve(reports, table=reports.table.of_rows(~reports.again), again=None)


def _joined(
    given: Sequence[tuple[pa.Array, npt.NDArray[np.int32]]],
) -> tuple[pa.Array, npt.NDArray[np.int32]]:
    """Return all ids in order, and the position of each row's id there."""
    ids = pc.unique(together(*(ids for ids, _ in given)))
    ids = ids.take(pc.sort_indices(ids))
    codes = [positions_by_text(own, ids)[codes] for own, codes in given]
    return ids, np.concatenate(codes).astype(np.int32)


def _check_once(
    tasks: pa.Array, task_codes: npt.NDArray[Any], workers: pa.Array, worker_codes: npt.NDArray[Any]
) -> None:
    twice = (np.diff(task_codes) == 0) & (np.diff(worker_codes) == 0)
    if twice.any():
        row = int(np.argmax(twice))
        raise AnswerError(
            "mechanisms.joined-twice",
            worker=workers[int(worker_codes[row])].as_py(),
            task=tasks[int(task_codes[row])].as_py(),
            count=int(twice.sum()),
        )
