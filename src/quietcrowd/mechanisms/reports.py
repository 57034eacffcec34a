"""What leaves the workers' devices."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from attrs.validators import instance_of

from quietcrowd.answers import Answers
from quietcrowd.domains import check_numeric
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.frames import Backend, to_native

if TYPE_CHECKING:
    from quietcrowd.mechanisms.mechanism import Mechanism

__all__ = ["Reports", "check_reports"]


@frozen(kw_only=True, eq=False)
class Reports:
    """What workers' devices sent, and the mechanism that made it, kept together.

    Attributes
    ----------
    table : Answers
        What the methods read: one row per report, in the mechanism's report domain. Where
        the devices send sketches, it is what the requester computes from them.
    mechanism : Mechanism
        What was done to the answers; public.
    simulated : bool
        Whether the noise came from a simulation: such reports protect nobody.
    participation_codes : ndarray of int, shape (reports,), or None
        A noisy bit beside each report, in the mechanism's `participation_domain`.
    sketches : ndarray, shape (workers, numbers), or None
        What each worker sent, where that is not the table itself.

    Raises
    ------
    AnswerError
        Where the table is not in the report domain, or a column has another length.
    """

    table: Answers
    mechanism: Mechanism
    simulated: bool = field(default=False, validator=instance_of(bool))
    participation_codes: npt.NDArray[Any] | None = None
    sketches: npt.NDArray[Any] | None = None

    def __attrs_post_init__(self) -> None:
        expected = self.mechanism.report_domain
        if self.table.domain != expected:
            raise AnswerError(
                f"the reports are in {self.table.domain.example()}, "
                f"the mechanism gives {expected.example()}"
            )
        bits = self.participation_codes
        if bits is not None and bits.shape != (len(self.table),):
            raise AnswerError(
                f"participation_codes must be {len(self.table):,} numbers; got {bits.shape}"
            )
        if self.sketches is not None and len(self.sketches) != len(self.table.workers):
            raise AnswerError(
                f"sketches must be {len(self.table.workers):,} rows; got {len(self.sketches):,}"
            )

    @property
    def participation(self) -> npt.NDArray[np.float64] | None:
        """A noisy 1 or 0 beside each report: whether the worker answered the task; or None."""
        domain = self.mechanism.participation_domain
        if self.participation_codes is None or domain is None:
            return None
        return check_numeric(domain, "participation").numbers(self.participation_codes)

    def __len__(self) -> int:
        return len(self.table)

    def __repr__(self) -> str:
        return (
            f"Reports({len(self.table):,} reports, {len(self.table.tasks):,} tasks, "
            f"{len(self.table.workers):,} workers, mechanism={self.mechanism!r}"
            f"{', simulated' * self.simulated})"
        )

    def to_frame(self, backend: Backend = "pandas") -> Any:
        """Return all that left the devices as a dataframe, in an order that depends on ids alone.

        Its columns are ``task``, ``worker``, ``label``, and ``participation`` where that is
        released; or ``worker``, ``coordinate``, ``number`` where sketches are sent.

        The frame says that it holds reports, in a JSON object with the keys ``mechanism``, a
        description, and ``simulated``. It stands as text under the key ``quietcrowd`` in ``attrs``
        of pandas and in the metadata of an Arrow schema, and goes with the frame into a file
        of `write_table`, or into a Parquet file of these libraries. Whatever reads such a frame as
        plain answers warns. Polars has no place for it; it is lost there, and where an Arrow table
        is made into a frame of pandas.

        Parameters
        ----------
        backend : {"pandas", "polars", "pyarrow"}
            Which kind of dataframe.
        """
        if self.sketches is not None:
            workers, length = self.sketches.shape
            who = np.repeat(np.arange(workers), length)
            return to_native(
                {
                    "worker": self.table.workers.take(pa.array(who)),
                    "coordinate": pa.array(np.tile(np.arange(length, dtype=np.int32), workers)),
                    "number": pa.array(self.sketches.reshape(-1)),
                },
                backend,
                self._mark(),
            )
        table = self.table.to_frame("pyarrow")
        if self.participation is not None:
            table = table.append_column("participation", pa.array(self.participation))
        return to_native({name: table[name] for name in table.column_names}, backend, self._mark())

    def _mark(self) -> str:
        """Return what a frame says of the reports in it; see `quietcrowd.frames`."""
        mechanism = self.mechanism
        kind = type(mechanism)
        if mechanism.registry().get(getattr(kind, "name", "")) is kind:
            described = mechanism.to_dict()
        else:  # made for comparison: no file could be read with it
            described = {"mechanism": kind.__name__}
        return json.dumps({"mechanism": described, "simulated": self.simulated})


def check_reports(value: Any) -> None:
    """Raise ParameterError unless `value` is what a mechanism sent."""
    if not isinstance(value, Reports):
        raise ParameterError(
            "reports must be Reports, as mechanism.randomize or read_reports gives them; "
            f"got {type(value).__name__}"
        )
