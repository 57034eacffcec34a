"""Matrix factorization: a few noisy numbers per worker represent all of its answers."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import Factory, field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.mechanisms import factor_solve
from quietcrowd.mechanisms.channels.grid import Grid, bounded_domain
from quietcrowd.mechanisms.channels.noise import REACH, DiscreteLaplace
from quietcrowd.mechanisms.channels.sketch import (
    UNIT,
    Profile,
    SketchChannel,
    TaskProfile,
    check_exact,
    farthest,
    largest_sums,
    pivot,
    profile_sums,
    second_moments,
    upper_triangle,
)
from quietcrowd.mechanisms.mechanism import Mechanism, Reports, SketchBounds
from quietcrowd.mechanisms.randomness import Randomness, word_source
from quietcrowd.mechanisms.taskwise import check_cells, dense_blocks, dense_table
from quietcrowd.privacy.guarantee import (
    ABOUT_TASKS,
    PUBLIC_TASKS,
    PrivacyGuarantee,
    Tasks,
    add_losses,
    are_named,
    check_counts,
    check_linked,
    task_names,
)
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.report_domains import Reals
from quietcrowd.validation import (
    at_least,
    check_positive,
    number,
    one_of,
    optional_number,
    plain,
    positive,
    whole_number,
)

Variant: TypeAlias = Literal["fill", "ridge", "statistics", "paper"]

_HIDING: tuple[Variant, ...] = ("fill", "statistics")

MAX_STEPS = 100_000

_MOST_NUMBERS = 2**26
"""Largest size of profiles that are computed to state a guarantee."""


def _usual_ridge(mechanism: MatrixFactorization) -> float:
    return 0.0 if mechanism.variant == "paper" else 1.0


def _usual_fill(mechanism: MatrixFactorization) -> Literal["midpoint"] | float:
    return 0.0 if mechanism.variant == "paper" else "midpoint"


def _fill(value: Any) -> Literal["midpoint"] | float:
    return "midpoint" if isinstance(value, str) and value == "midpoint" else number(value)


@frozen(kw_only=True, slots=False)
class MatrixFactorization(Mechanism):
    """Noisy profile of each worker that predicts an answer to every task.

    Every task j has a public random profile ``v_j`` of `rank` numbers with a 1-norm of at most 1.
    The profile u of a worker with answers ``a_j`` on its tasks T makes ``c + u.v_j`` fit them, for
    a public center c. Methods read this prediction for every worker and task. The device adds exact
    noise of scale ``width / epsilon`` to each of the sums ``b = sum_T v_j (a_j - c)``, and u
    follows from the noisy sums:

    - ``"fill"``: a missing answer counts as c. ``u = (V V' + ridge I)^-1 b`` over all tasks.
    - ``"statistics"``: ``u = (H + ridge I)^-1 b`` with a noisy ``H = sum_T v_j v_j'``.
    - ``"ridge"``: the same with the exact H, on the device. H reveals which tasks were answered.
    - ``"paper"``: equations 9 and 10 with c = 0 and no ridge: gradient descent on
      ``sum_T (a_j - u.v_j)^2 + 2 u.eta``. It has no minimum if V_T has a rank below `rank`.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Privacy loss of one cell, natural logarithm, above 0.
    variant : {"fill", "ridge", "statistics", "paper"}
        See above.
    rank : int
        Numbers per worker and task, d; 1 to 4,096.
    profile : {"gaussian", "rademacher", "buckets"}
        Distribution of the task profiles; see `TaskProfile`.
    ridge : float
        At least 0; above 0 for "ridge" and "statistics", and 0 for "paper".
    fill : "midpoint" or float
        The center c; in the domain, unless the variant is "ridge". Always 0 for "paper".
    seed : int
        Public seed of the task profiles.
    step : float, optional
        Step of the grid, a power of two; see `Grid.over`.
    learning_rate : float, optional
        For "paper"; see `factor_solve.descend`.
    max_steps : int
        For "paper": limit of gradient descent.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or does not fit the variant.

    Guarantee
    ---------
    "fill" and "statistics" protect values and participation at epsilon: one cell moves b by at most
    the width in 1-norm, noise is drawn before the linear algebra, and what follows uses only public
    numbers and noisy ones. "ridge" and "paper" protect values among rows with the same tasks, and
    nothing about which tasks these are: there the loss is infinite. Theorem 4 claims epsilon for
    both. With the noise of "paper", number of levels / epsilon, the loss about a value is
    ``epsilon width / levels``.

    The loss about all answers to n tasks together is at most n times as much. If the tasks are
    named, as in ``guarantee(tasks=["a", "b"])``, the bound can be smaller: rows of answers move b
    by a sum of profiles with signs, and few of these point the same way.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equations 9 and 10, Algorithm 2, Theorem 4. Which part of it
    holds, and the repairs: ``research/docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> mechanism = MatrixFactorization(domain=Ordinal(range(10)), epsilon=1.0)
    >>> mechanism.guarantee(tasks=200).epsilon, mechanism.guarantee(tasks=200).claim_holds
    (1.0, True)
    >>> named = mechanism.guarantee(tasks=range(200))
    >>> mechanism.guarantee(tasks=200).total_epsilon, round(named.total_epsilon, 1)
    (200.0, 54.7)
    """

    name: ClassVar[str] = "matrix-factorization"
    no_memo: ClassVar[str] = (
        "its numbers represent all answers together. Editing an answer under the same noise would "
        "reveal the size of the change. Send its reports once and store nothing, or use "
        "LaplaceMechanism"
    )
    domain: Ordinal | Interval = field(validator=bounded_domain)
    epsilon: float = field(converter=number, validator=positive)
    variant: Variant = field(default="fill", validator=one_of(*get_args(Variant)))
    rank: int = field(default=20, converter=plain)
    profile: Profile = field(default="gaussian", validator=one_of(*get_args(Profile)))
    ridge: float = field(
        default=Factory(_usual_ridge, takes_self=True), converter=plain, validator=at_least(0)
    )
    fill: Literal["midpoint"] | float = field(
        default=Factory(_usual_fill, takes_self=True), converter=_fill
    )
    seed: int = field(default=0, converter=plain)
    step: float | None = field(default=None, converter=optional_number)
    learning_rate: float | None = field(default=None, converter=optional_number)
    max_steps: int = field(default=MAX_STEPS, converter=plain, validator=whole_number(1))

    def __attrs_post_init__(self) -> None:
        inside = self.fill == "midpoint" or self.domain.low <= self.fill <= self.domain.high
        if self.variant in _HIDING and not inside:
            raise ParameterError(
                "mechanisms.fill-outside-domain", domain=self.domain.describe(), fill=self.fill
            )
        if self.variant in ("ridge", "statistics") and self.ridge == 0:
            raise ParameterError("mechanisms.ridge-not-positive", variant=self.variant)
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)
        self._check_variant()
        _ = self.channel  # rejects an epsilon, a rank or a seed out of range

    def _check_variant(self) -> None:
        if self.variant == "paper" and (self.ridge, self.fill) != (0, 0):
            raise ParameterError(
                "mechanisms.paper-variant-options", ridge=self.ridge, fill=self.fill
            )
        descends = (self.learning_rate, self.max_steps) != (None, MAX_STEPS)
        if self.variant != "paper" and descends:
            raise ParameterError(
                "mechanisms.descent-options",
                learning_rate=self.learning_rate,
                max_steps=self.max_steps,
            )
        if self.variant == "paper" and not isinstance(self.domain, FiniteDomain):
            raise ParameterError(
                "mechanisms.paper-variant-needs-levels", domain=self.domain.example()
            )

    @property
    def every_task(self) -> bool:
        """Whether every worker reports every task: always, by its predictions."""
        return True

    @property
    def loss_depends_on_tasks(self) -> bool:
        """Whether a loss depends on which tasks there are: always, by their public profiles."""
        return True

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return ("worker", "coordinate", "number")

    @cached_property
    def channel(self) -> SketchChannel:
        """Distribution of a device's noisy sums, the same for every worker."""
        grid = Grid.over(self.domain, self.step)
        centre = grid.middle if self.fill == "midpoint" else grid.nearest(self.fill)
        if self.variant == "paper":
            levels = self.domain.size  # type: ignore[union-attr]
            distance = levels / Fraction(grid.step) * UNIT
        else:
            distance = Fraction(self._steps_per_epsilon(grid, centre) * UNIT)
        return SketchChannel(
            profile=TaskProfile(rank=self.rank, kind=self.profile, seed=self.seed),
            grid=grid,
            centre=centre,
            noise=DiscreteLaplace.for_loss(distance, self.epsilon),
            moments_epsilon=self.epsilon / 2 if self.variant == "statistics" else 0.0,
            solution=None if self.variant in _HIDING else self.variant,
        )

    def _steps_per_epsilon(self, grid: Grid, centre: int) -> int:
        """Return the scale of the noise times epsilon, in steps.

        For "statistics", half of epsilon must cover the second moments. Then it is at least twice
        the largest distance from the center.
        """
        if self.variant != "statistics":
            return grid.steps
        return max(grid.steps, 2 * farthest(grid, centre))

    @property
    def sketch_length(self) -> int:
        """Number of numbers that a worker sends."""
        return self.channel.length

    def sketch_bounds(self, tasks: int) -> SketchBounds:
        """Return bounds of the noisy sums, or of the profile that a device solves for from them.

        The norm of a solution with a ridge is at most that of the sums, divided by the ridge.
        Without a ridge there is no such bound, and it is cut off 2^24 times beyond the sums.
        """
        channel = self.channel
        answers = tasks * farthest(channel.grid, channel.centre) * UNIT
        largest = math.ceil(answers + REACH * channel.noise.scale)
        if self.variant in _HIDING:
            return SketchBounds(length=self.sketch_length, low=-largest, high=largest, whole=True)
        sums = largest / UNIT * channel.grid.step * math.sqrt(self.rank)
        solution = sums / self.ridge if self.ridge else sums * UNIT
        bound = min(solution, sys.float_info.max)
        return SketchBounds(length=self.sketch_length, low=-bound, high=bound, whole=False)

    @override
    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:
        return workers * self.sketch_length

    @property
    def report_domain(self) -> Reals:
        """Domain of a predicted answer."""
        return Reals()

    @property
    def claimed_epsilon(self) -> float:
        """Loss according to Theorem 4."""
        return self.epsilon

    @override
    def guarantee(
        self, answers: int = 1, tasks: Tasks | None = None, *, linked: int = 1
    ) -> PrivacyGuarantee:
        hides = self.variant in _HIDING
        count = check_counts(answers, tasks, every_task=hides)
        one = self.channel.epsilon
        whole = min(add_losses(one, count), self._row_loss(tasks))
        return PrivacyGuarantee(
            answers=answers,
            epsilon=one,
            total_epsilon=whole,
            linked=linked,
            linked_epsilon=min(whole, add_losses(one, check_linked(linked, count))),
            participation_protected=hides,
            tasks=count if hides else None,
            claimed_epsilon=self.claimed_epsilon,
            participation_claimed=True,
            assumptions=("the profile is reported once, with fresh noise", *PUBLIC_TASKS)
            if hides
            else (
                "the profile is reported once, with fresh noise",
                "the other row has answers to the same tasks: which tasks these are is not "
                "protected at any epsilon, though the paper claims that it is",
                *ABOUT_TASKS,
            ),
            source="Sun et al., IEEE Big Data 2018, Theorem 4; docs/theory/sparse-answers.md",
        )

    def _row_loss(self, tasks: Tasks | None) -> float:
        """Return the loss about all answers to named tasks; infinity if no bound is known.

        Changed answers move b by at most the width times each row of the profile. If participation
        is hidden, each row of products also moves the second moments once.
        """
        names = task_names(tasks) if are_named(tasks) else ()
        if not names or len(names) * self.rank > _MOST_NUMBERS:
            return math.inf
        largest = largest_sums(self.channel.profile, names, moments=self.variant == "statistics")
        steps, scale = self.channel.grid.steps, Fraction(self.channel.noise.scale)
        moved = steps * largest.sums / scale
        if largest.moments:
            noise = DiscreteLaplace.for_loss(largest.of_one_task, self.channel.moments_epsilon)
            moved += Fraction(largest.moments) / Fraction(noise.scale)
        return max(self.channel.epsilon, ratio_up(moved))

    def _randomize(self, answers: Answers, rng: Randomness) -> Reports:
        channel = self.channel
        check_cells(
            len(answers.tasks), len(answers.workers), beside=max(self.sketch_length, self.rank)
        )
        check_exact(len(answers.tasks), farthest(channel.grid, channel.centre))
        profile = channel.profile.matrix(answers.tasks)
        self._require_solution(answers, profile)
        places = channel.grid.places(self.domain.numbers(answers.values))
        null = np.iinfo(np.int32).min
        moment_noise = channel.moment_noise(profile)
        parts = []
        for _, cells in dense_blocks(answers, places, null):
            answered = cells != null
            centred = np.where(answered, cells - np.int32(channel.centre), np.int32(0))
            sums = profile_sums(profile, centred)
            part = _with_noise(sums, channel.noise, rng)
            if moment_noise is not None:
                moments = second_moments(profile, answered)
                part = np.concatenate([part, _with_noise(moments, moment_noise, rng)], axis=1)
            parts.append(part)
        sketches: npt.NDArray[Any] = np.concatenate(parts)
        if self.variant in ("ridge", "paper"):
            sketches = self._profiles(answers, profile, sketches, rng)
        return Reports(
            table=self._predictions(sketches, answers, profile),
            mechanism=self,
            simulated=isinstance(rng, np.random.Generator),
            sketches=sketches,
        )

    def _profiles(
        self,
        answers: Answers,
        profile: npt.NDArray[np.int64],
        sums: npt.NDArray[np.int64],
        rng: Randomness,
    ) -> npt.NDArray[np.float64]:
        ends, rows = answers.rows_by_worker
        tasks = answers.task_codes[rows]
        answered = [tasks[start:stop] for start, stop in pairwise(ends)]
        solved = np.empty(sums.shape)
        for block in factor_solve.worker_blocks(*sums.shape):
            matrices = factor_solve.least_squares_matrices(profile / UNIT, answered[block])
            targets = self._in_units(sums[block])
            if self.variant == "paper":
                words = word_source(rng)(targets.size).reshape(targets.shape)
                start = words / 2**31 - 1.0
                solved[block] = factor_solve.descend(
                    matrices, targets, start, self.learning_rate, self.max_steps
                )
            else:
                solved[block] = factor_solve.ridge_solve(matrices, targets, self.ridge)
        return solved

    def _require_solution(self, answers: Answers, profile: npt.NDArray[np.int64]) -> None:
        """Raise if there is no solution: ParameterError for all workers, AnswerError for one."""
        if self.variant == "paper":
            self._require_minimum(answers, profile)
        elif self.ridge == 0 and np.linalg.matrix_rank(profile / UNIT) < self.rank:
            raise ParameterError(
                "mechanisms.ridge-0-unsolvable", rank=self.rank, count=len(profile)
            )

    def _require_minimum(self, answers: Answers, profile: npt.NDArray[np.int64]) -> None:
        """Raise AnswerError if equation 10 has no minimum for one of the workers."""
        ends, rows = answers.rows_by_worker
        tasks = answers.task_codes[rows]
        for worker, (start, stop) in enumerate(pairwise(ends)):
            if np.linalg.matrix_rank(profile[tasks[start:stop]] / UNIT) < self.rank:
                raise AnswerError(
                    "mechanisms.profile-undetermined",
                    value=answers.workers[worker].as_py(),
                    count=int(stop - start),
                    rank=self.rank,
                )

    def _in_units(self, sums: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        return sums.astype(np.float64) * (self.channel.grid.step / UNIT)

    def _predictions(
        self, sketches: npt.NDArray[Any], answers: Answers, whole_profile: npt.NDArray[np.int64]
    ) -> Answers:
        profile = whole_profile / UNIT
        if self.variant in ("ridge", "paper"):
            solved = sketches
        elif self.variant == "fill":
            solved = factor_solve.ridge_solve(
                (profile.T @ profile)[np.newaxis], self._in_units(sketches), self.ridge
            )
        else:
            solved = self._solve_statistics(sketches)
        centre = self.channel.grid.number(self.channel.centre)
        return dense_table(answers, self.report_domain, profile @ solved.T + centre)

    def _solve_statistics(self, sketches: npt.NDArray[np.int64]) -> npt.NDArray[np.float64]:
        rows, columns = upper_triangle(self.rank)
        solved = np.empty((len(sketches), self.rank))
        for block in factor_solve.worker_blocks(*solved.shape):
            moments = np.empty((len(sketches[block]), self.rank, self.rank))
            moments[:, rows, columns] = sketches[block, self.rank :] / UNIT
            moments[:, columns, rows] = moments[:, rows, columns]
            solved[block] = factor_solve.ridge_solve(
                factor_solve.semidefinite(moments),
                self._in_units(sketches[block, : self.rank]),
                self.ridge,
            )
        return solved

    @override
    def _read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        nobody = pa.table({"task": tasks[:0], "worker": workers[:0], "label": pa.array([], "f8")})
        answers = Answers.from_frame(nobody, self.report_domain, tasks=tasks, workers=workers)
        check_cells(len(answers.tasks), len(answers.workers), beside=self.sketch_length)
        kind = pa.float64() if self.variant in ("ridge", "paper") else pa.int64()
        sketches = pivot(columns, workers, self.sketch_length, kind)
        return Reports(
            table=self._predictions(sketches, answers, self.channel.profile.matrix(tasks)),
            mechanism=self,
            simulated=simulated,
            sketches=sketches,
        )

    def _parameters(self) -> dict[str, Any]:
        return {
            "epsilon": self.epsilon,
            "rank": self.rank,
            "profile": self.profile,
            "ridge": self.ridge,
            "variant": self.variant,
            "fill": self.fill,
            "seed": self.seed,
            "step": self.step,
            "learning_rate": self.learning_rate,
            "max_steps": self.max_steps,
            "grid_step": self.channel.grid.step,
            "steps": self.channel.grid.steps,
            "noise_scale": self.channel.noise.scale,
        }


def _with_noise(
    sums: npt.NDArray[np.int64], noise: DiscreteLaplace, rng: Randomness
) -> npt.NDArray[np.int64]:
    return sums + noise.sample(sums.size, rng).reshape(sums.shape)
