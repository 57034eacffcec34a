"""Sketches: sums over all of a worker's answers, exact before noise.

The task profile matrix V has public numbers for each task. A row ``v_j`` depends only on the
public seed and the text of the task's id. SHAKE-256 and integers make it, so every device and every
version of every library gets the same one.

With ``x_j`` the answer's distance from a public center in steps of the grid, 0 without an answer, a
worker's *profile sum* is ``sum_j v_j x_j``. Its *second moments* are ``sum v_j v_j'`` over the
answered tasks. All tasks are processed, so the time reveals nothing. Matrix products use floats
that are integers below 2^53, so they are exact.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import field, frozen
from typing_extensions import override

from quietcrowd.domains import Domain
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms.channels.base import Channel
from quietcrowd.mechanisms.channels.grid import Grid
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace, Floats
from quietcrowd.mechanisms.channels.reading import (
    MAX_NUMBERS,
    check_members,
    invalid_member,
    real,
    whole,
)
from quietcrowd.privacy.rounding import least_meant, ratio_up
from quietcrowd.privacy.sketches import largest_signed_norm
from quietcrowd.validation import one_of, whole_number

Profile: TypeAlias = Literal["gaussian", "rademacher", "buckets"]

UNIT = 2**24
"""Stored value of 1.0."""

MAX_RANK = 4096
_SUMMANDS = 12  # uniform 16-bit numbers whose sum is nearly normal
_MIDDLE = _SUMMANDS * (2**16 - 1) // 2
_EXACT = 2**53

_SOLUTIONS = ("ridge", "paper")

_MOST_NUMBERS = 2**24
"""Largest number of products of all tasks in memory at once."""


@frozen(kw_only=True)
class TaskProfile:
    """Distribution of the task profile matrix V: random and independent of all answers.

    `rank` is the number of coordinates d of a task, 1 to 4,096; `seed` is public. Entries are
    nearly normal, scaled to a 1-norm of 1 ("gaussian"), ``+-1/d`` ("rademacher"), or a single 1 at
    a random coordinate ("buckets"). See H. Sun et al., IEEE Big Data 2018, section V.

    Examples
    --------
    >>> matrix = TaskProfile(rank=3, kind="buckets", seed=1).matrix(pa.array(["a", "b"]))
    >>> (matrix / UNIT).tolist()
    [[0.0, 1.0, 0.0], [1.0, 0.0, 0.0]]
    """

    rank: int = field(validator=whole_number(1, MAX_RANK))
    kind: Profile = field(validator=one_of(*get_args(Profile)))
    seed: int = field(validator=whole_number(0, 2**64 - 1))

    def matrix(self, tasks: pa.Array) -> npt.NDArray[np.int64]:
        """Return V transposed, in units of 2^-24, shape (tasks, rank).

        Every row has a 1-norm of at most 2^24.
        """
        prefix = f"quietcrowd task profile\n{self.kind}\n{self.rank}\n{self.seed}\n".encode()
        texts = tasks.cast(pa.large_string()).to_pylist()
        stream = b"".join(
            hashlib.shake_256(prefix + text.encode()).digest(self._bytes_per_task) for text in texts
        )
        octets = np.frombuffer(stream, np.uint8).reshape(len(texts), self._bytes_per_task)
        match self.kind:
            case "gaussian":
                return _nearly_normal(octets, self.rank)
            case "rademacher":
                return _signs(octets, self.rank)
            case "buckets":
                return _one_hot(octets, self.rank)

    @property
    def _bytes_per_task(self) -> int:
        return {
            "gaussian": 2 * _SUMMANDS * self.rank,
            "rademacher": (self.rank + 7) // 8,
            "buckets": 8,
        }[self.kind]


def _nearly_normal(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    summands = octets.view("<u2").reshape(len(octets), rank, _SUMMANDS)
    raw = summands.sum(axis=2, dtype=np.int64) - _MIDDLE
    norms = np.maximum(np.abs(raw).sum(axis=1, keepdims=True), 1)
    scaled: npt.NDArray[np.int64] = np.sign(raw) * (np.abs(raw) * UNIT // norms)
    return scaled


def _signs(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    bits = np.unpackbits(octets, axis=1, count=rank, bitorder="little").astype(np.int64)
    return (2 * bits - 1) * (UNIT // rank)


def _one_hot(octets: npt.NDArray[np.uint8], rank: int) -> npt.NDArray[np.int64]:
    buckets = octets.view("<u8")[:, 0] % np.uint64(rank)
    matrix = np.zeros((len(octets), rank), np.int64)
    matrix[np.arange(len(octets)), buckets.astype(np.intp)] = UNIT
    return matrix


def check_exact(tasks: int, largest: int) -> None:
    """Raise ParameterError if profile sums of answers up to `largest` steps could be inexact."""
    if tasks * largest * UNIT >= _EXACT:
        raise ParameterError(
            "mechanisms.too-many-tasks-for-sums",
            tasks=tasks,
            largest=largest,
            exact=_EXACT // (largest * UNIT),
        )


def profile_sums(
    profile: npt.NDArray[np.int64], cells: npt.NDArray[np.int32]
) -> npt.NDArray[np.int64]:
    """Return every worker's profile sum, shape (workers, rank), in units of ``2^-24`` steps.

    `profile`, shape (tasks, rank), is in units of 2^-24; `cells`, shape (workers, tasks), are
    distances from the center in steps, 0 without an answer.
    """
    return (cells.astype(np.float64) @ profile.astype(np.float64)).astype(np.int64)


def upper_triangle(rank: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return rows and columns of the second moments, in the order in which they are sent."""
    return np.triu_indices(rank)


def _outer_row(profile: npt.NDArray[np.int64], place: int) -> npt.NDArray[np.int64]:
    """Return ``v_jk v_jl`` for k = `place` and all l from k on, in units of 2^-24, truncated."""
    products = profile[:, place : place + 1] * profile[:, place:]
    truncated: npt.NDArray[np.int64] = np.sign(products) * (np.abs(products) // UNIT)
    return truncated


def second_moments(
    profile: npt.NDArray[np.int64], answered: npt.NDArray[np.bool_]
) -> npt.NDArray[np.int64]:
    """Return the second moments of every worker, shape (workers, rank (rank + 1) / 2).

    They are in the order of `upper_triangle`. The products of a task are truncated to units of
    2^-24 before they are added. The truncation depends only on the public profile, and the sums are
    exact.
    """
    wide = answered.astype(np.float64)
    parts = [
        (wide @ _outer_row(profile, place).astype(np.float64)).astype(np.int64)
        for place in range(profile.shape[1])
    ]
    return np.concatenate(parts, axis=1)


def moment_sensitivity(profile: npt.NDArray[np.int64]) -> int:
    """Bound the change of the second moments by one task: a 1-norm in units of 2^-24."""
    norms = sum(np.abs(_outer_row(profile, place)).sum(axis=1) for place in range(profile.shape[1]))
    return max(1, int(np.max(norms, initial=0)))


def largest_moments(profile: npt.NDArray[np.int64]) -> int:
    """Return a bound on how much all tasks together move the second moments, as a 1-norm."""
    rank = profile.shape[1]
    if len(profile) * rank * (rank + 1) // 2 > _MOST_NUMBERS:
        return len(profile) * moment_sensitivity(profile)
    rows = np.concatenate([_outer_row(profile, place) for place in range(rank)], axis=1)
    return largest_signed_norm(rows)


@frozen(kw_only=True)
class LargestSums:
    """Bounds on how much all tasks together move the sums, as 1-norms in units of 2^-24.

    `sums` bounds the profile sums, for answers that move by one step. If second moments are sent,
    `moments` bounds them, and `of_one_task` bounds how much one task moves them.
    """

    sums: int
    moments: int = 0
    of_one_task: int = 0


@lru_cache(maxsize=64)
def largest_sums(
    distribution: TaskProfile, names: tuple[str, ...], *, moments: bool
) -> LargestSums:
    """Return by how much tasks of these names move the sums; `moments`: whether these are sent."""
    profile = distribution.matrix(pa.array(names, pa.large_string()))
    sums = largest_signed_norm(profile)
    if not moments:
        return LargestSums(sums=sums)
    return LargestSums(
        sums=sums,
        moments=largest_moments(profile),
        of_one_task=moment_sensitivity(profile),
    )


def farthest(grid: Grid, centre: int) -> int:
    """Return the largest distance of a place on the grid from the center."""
    return max(abs(centre), abs(grid.steps - centre))


@frozen(kw_only=True, slots=False)
class SketchChannel(Channel):
    """Distribution of a worker's sketch: exact sums over all tasks, plus noise.

    Attributes
    ----------
    profile : TaskProfile
        Public numbers of each task.
    grid : Grid
        Answers are rounded to it.
    centre : int
        Place from which answers are measured; also that of a missing answer.
    noise : DiscreteLaplace
        Noise of each profile sum, in units of 2^-24 steps.
    moments_epsilon : float
        Loss about one cell from the noisy second moments; 0 if none are sent.
    solution : str or None
        The variant of `MatrixFactorization`, if devices solve for a profile and send it instead
        of the sums.
    """

    kind: ClassVar[str] = "sketch"

    profile: TaskProfile
    grid: Grid
    centre: int
    noise: DiscreteLaplace
    moments_epsilon: float = 0.0
    solution: str | None = None

    @classmethod
    def read(cls, document: Mapping[str, Any], domain: Domain) -> SketchChannel:
        """Return the channel of a document; raise ParameterError if it is invalid."""
        names = "kind grid centre noise_scale noise_unit moments_epsilon profile"
        check_members(document, names, "solution")
        solution, profile = document.get("solution"), document["profile"]
        if (solution is None) == ("solution" in document) or solution not in (None, *_SOLUTIONS):
            raise invalid_member("solution", "ridge or paper, or absent")
        check_members(profile, "kind rank seed")
        distribution = TaskProfile(
            rank=whole("rank", profile["rank"], 1, MAX_RANK),
            kind=profile["kind"],
            seed=whole("seed", profile["seed"], 0, 2**64 - 1),
        )
        grid = Grid.read(document["grid"], domain)
        beyond = 0 if solution is None else 2**31
        channel = cls(
            profile=distribution,
            grid=grid,
            centre=whole("centre", document["centre"], -beyond, grid.steps + beyond),
            noise=DiscreteLaplace.read(document["noise_scale"]),
            moments_epsilon=real("moments_epsilon", document["moments_epsilon"], 0, 2**48),
            solution=solution,
        )
        real("noise_unit", document["noise_unit"], 1 / UNIT, 1 / UNIT)
        if channel.length > MAX_NUMBERS:
            raise invalid_member("rank", f"so low that at most {MAX_NUMBERS:,} numbers are sent")
        return channel

    @property
    def length(self) -> int:
        """Number of numbers that a worker sends."""
        rank = self.profile.rank
        return rank + (rank * (rank + 1) // 2 if self.moments_epsilon else 0)

    @cached_property
    def epsilon(self) -> float:
        """Loss about one cell, rounded up."""
        return ratio_up(self.exact_epsilon)

    @property
    @override
    def exact_epsilon(self) -> Fraction:
        """Exact loss about one cell.

        If second moments are sent, it is the larger of two losses: for another answer, and for no
        answer, which moves both the sums and the moments.
        """
        value = Fraction(self.grid.steps * UNIT) / Fraction(self.noise.scale)
        if not self.moments_epsilon:
            return value
        moved = Fraction(farthest(self.grid, self.centre) * UNIT) / Fraction(self.noise.scale)
        return max(value, moved + least_meant(self.moments_epsilon))

    def moment_noise(self, profile: npt.NDArray[np.int64]) -> DiscreteLaplace | None:
        """Return the noise of second moments for a matrix of profiles; None if none are sent."""
        if not self.moments_epsilon:
            return None
        return DiscreteLaplace.for_loss(moment_sensitivity(profile), self.moments_epsilon)

    @property
    def scale(self) -> float:
        """Scale of the noise of a profile sum, in the unit of the answers."""
        return self.noise.scale * self.grid.step / UNIT

    def log_likelihood(self, reports: npt.NDArray[Any], answers: npt.NDArray[Any]) -> Floats:
        """Return ``ln P(noisy sums | exact sums)`` of each worker; see `Channel.log_likelihood`.

        `reports` and `answers` are profile sums with and without noise, shape (workers, rank), in
        units of 2^-24 steps.
        """
        moved = np.asarray(reports, np.int64) - np.asarray(answers, np.int64)
        logs: Floats = self.noise.log_mass(moved).sum(axis=-1)
        return logs

    @override
    def describe(self) -> Mapping[str, Any]:
        return {
            "kind": self.kind,
            "grid": self.grid.describe(),
            "centre": self.centre,
            "noise_scale": self.noise.scale,
            "noise_unit": 1 / UNIT,
            "moments_epsilon": self.moments_epsilon,
            "profile": {
                "kind": self.profile.kind,
                "rank": self.profile.rank,
                "seed": self.profile.seed,
            },
            **({} if self.solution is None else {"solution": self.solution}),
        }


def pivot(columns: pa.Table, workers: pa.Array, length: int, kind: pa.DataType) -> npt.NDArray[Any]:
    """Return the numbers of a long table, shape (workers, length); raise AnswerError if invalid."""
    import pyarrow.compute as pc

    try:
        coordinates = columns["coordinate"].cast(pa.int32()).to_numpy()
        numbers = columns["number"].cast(kind)
    except pa.ArrowInvalid as error:
        raise AnswerError(
            "mechanisms.report-not-a-number", reason=" ".join(str(error).split())
        ) from None
    who = pc.index_in(columns["worker"], workers)
    if numbers.null_count or who.null_count or columns["coordinate"].null_count:
        raise AnswerError("mechanisms.report-incomplete")
    places = who.to_numpy().astype(np.int64) * length + coordinates
    inside = (coordinates >= 0) & (coordinates < length)
    counts = np.bincount(places[inside], minlength=len(workers) * length)
    if not inside.all() or (counts != 1).any():
        raise AnswerError("mechanisms.coordinates-invalid", length=length, last=length - 1)
    sketches = np.empty(len(places), numbers.to_numpy().dtype)
    sketches[places] = numbers.to_numpy()
    if sketches.dtype == np.float64 and not np.isfinite(sketches).all():
        raise AnswerError("mechanisms.report-not-finite")
    return sketches.reshape(len(workers), length)
