"""Laplace perturbation: numeric answers plus noise, optionally for unanswered tasks, too."""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, TypeAlias, get_args

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from attrs import Factory, evolve, field, frozen
from typing_extensions import override

from quietcrowd.answers import Answers
from quietcrowd.domains import FiniteDomain, Interval, Ordinal
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.grid import Grid, bounded_domain, cut_off
from quietcrowd.mechanisms.channels.noise import (
    DiscreteLaplace,
    laplace_bytes,
    laplace_noise,
)
from quietcrowd.mechanisms.channels.shift import BIT_GRID, Fill, LaplaceChannel
from quietcrowd.mechanisms.mechanism import Reports
from quietcrowd.mechanisms.randomness import (
    Randomness,
    Secret,
    WordSource,
    uniform_integers,
    word_source,
)
from quietcrowd.mechanisms.taskwise import (
    TaskwiseMechanism,
    cell_name,
    cells_of,
    check_cells,
    dense_blocks,
    dense_table,
    fixed_table,
)
from quietcrowd.privacy.guarantee import (
    Tasks,
    check_counts,
)
from quietcrowd.privacy.loss import ReleaseLoss, laplace_distribution, pure_distribution
from quietcrowd.report_domains import Lattice
from quietcrowd.validation import number, one_of, optional_number, positive

NoiseScale: TypeAlias = Literal["width", "paper"]

NULL = -1
"""Marks a cell without an answer before it is filled."""


def _fill(value: Any) -> Any:
    return value if isinstance(value, str) else optional_number(value)


def _default_fill(mechanism: LaplaceMechanism) -> Fill:
    return "uniform" if mechanism.participation is None else "midpoint"


@frozen(kw_only=True, slots=False)
class LaplaceMechanism(TaskwiseMechanism):
    """Laplace perturbation: the answer, clipped and rounded to a public grid, plus noise.

    By default the noise has the scale ``width / epsilon``. The sensitivity is the width of the
    domain, rounded up to an even number of steps of the grid. If every worker reports every task, a
    number replaces a missing answer.

    With ``participation="released"`` every cell gives two numbers, for the middle c of the domain:
    ``a - c`` and 1 for an answer a, 0 and 0 for none. Their noise has the scales
    ``width / epsilon`` and ``2 / epsilon``. An answer differs from NULL by at most half of the
    width and by 1, which costs ``epsilon / 2`` each. So the noisy bit costs no further privacy, and
    truths can be estimated without the bias of filled values.

    Parameters
    ----------
    domain : Ordinal or Interval
        At least two numbers.
    epsilon : float
        Privacy loss of one cell, natural logarithm, above 0.
    fill : {"uniform", "midpoint"}, float or None
        Replacement for a missing answer: a random level or number of the grid, the middle of the
        domain, or a number of it. None: missing answers are not reported, and participation is not
        protected. Default: "uniform", or "midpoint" if participation is released.
    scale : {"width", "paper"}
        Noise of scale width / epsilon, or, as printed, number of levels / epsilon.
    participation : {None, "released"}
        Whether a noisy participation bit is released.
    step : float, optional
        Step of the grid, a power of two; see `Grid.over`.

    Raises
    ------
    ParameterError
        If an argument is invalid, or parameters exclude each other.

    Guarantee
    ---------
    Pure and exact: the number of steps over the scale of the noise, rounded up. It protects an
    answer against another one and, unless ``fill`` is None, against none. With ``scale="paper"``
    the loss is ``epsilon width / levels``: less than claimed for the levels 0 to 9, more for 0 and
    100. The loss about all cells of a worker together is their number times as much.

    References
    ----------
    H. Sun et al., IEEE Big Data 2018, equations 6 and 7, Theorem 1. The sensitivity, the
    participation bit and the grid: ``research/docs/theory/sparse-answers.md``.

    Examples
    --------
    >>> mechanism = LaplaceMechanism(domain=Ordinal(range(10)), epsilon=1.0)
    >>> mechanism.guarantee(tasks=200).epsilon, mechanism.guarantee(tasks=200).total_epsilon
    (1.0, 200.0)
    >>> paper = LaplaceMechanism(domain=Ordinal([0, 100]), epsilon=1.0, scale="paper")
    >>> paper.guarantee(tasks=200).epsilon
    50.0
    """

    name: ClassVar[str] = "laplace"
    claimed_by_paper: ClassVar[bool] = True
    no_memo: ClassVar[None] = None
    source: ClassVar[str] = (
        "Sun et al., IEEE Big Data 2018, Theorem 1; docs/theory/sparse-answers.md"
    )
    domain: Ordinal | Interval = field(validator=bounded_domain)
    epsilon: float = field(converter=number, validator=positive)
    participation: Literal["released"] | None = field(
        default=None, validator=one_of(None, "released")
    )
    fill: Fill = field(default=Factory(_default_fill, takes_self=True), converter=_fill)
    scale: NoiseScale = field(default="width", validator=one_of(*get_args(NoiseScale)))
    step: float | None = field(default=None, converter=optional_number)

    def __attrs_post_init__(self) -> None:
        if isinstance(self.fill, str) and self.fill not in ("uniform", "midpoint"):
            raise ParameterError("mechanisms.fill-unknown", fill=self.fill)
        if isinstance(self.fill, float) and not self.domain.low <= self.fill <= self.domain.high:
            raise ParameterError(
                "mechanisms.fill-outside-domain", domain=self.domain.describe(), fill=self.fill
            )
        if self.participation is not None and (self.fill, self.scale) != ("midpoint", "width"):
            raise ParameterError(
                "mechanisms.released-participation-options", fill=self.fill, scale=self.scale
            )
        _ = self.channel  # rejects an epsilon out of range for the grid

    @property
    @override
    def every_task(self) -> bool:
        return self.fill is not None

    @property
    @override
    def columns(self) -> tuple[str, ...]:
        return super().columns + ("participation",) * (self.participation is not None)

    @cached_property
    def grid(self) -> Grid:
        """Public grid that answers are rounded to."""
        return Grid.over(self.domain, self.step)

    @cached_property
    def channel(self) -> LaplaceChannel:
        """Distribution of a report given its answer, the same for every worker."""
        distance: Fraction | int = self.grid.steps
        if self.scale == "paper":
            if not isinstance(self.domain, FiniteDomain):
                raise ParameterError(
                    "mechanisms.paper-scale-needs-levels", domain=self.domain.example()
                )
            distance = self.domain.size / Fraction(self.grid.step)
        return LaplaceChannel(
            grid=self.grid,
            noise=DiscreteLaplace.for_loss(distance, self.epsilon),
            fill=self.fill,
            participation_noise=DiscreteLaplace.for_loss(2 * BIT_GRID.steps, self.epsilon)
            if self.participation is not None
            else None,
        )

    @property
    def report_domain(self) -> Lattice:
        """Domain of the reports: numbers in steps of the grid, also outside the answers' domain."""
        return self.grid.lattice(self.channel.noise.scale)

    @property
    @override
    def participation_domain(self) -> Lattice | None:
        noise = self.channel.participation_noise
        return None if noise is None else BIT_GRID.lattice(noise.scale)

    @override
    def noise_draws(self, *, answers: int, tasks: int, workers: int) -> int:
        if not self.every_task:
            return answers
        per_cell = 1 if self.participation is None else 2
        return per_cell * workers * tasks

    @property
    def claimed_epsilon(self) -> float:
        """Loss according to Theorem 1."""
        return self.epsilon

    def loss(self, answers: int = 1, tasks: Tasks | None = None) -> ReleaseLoss:
        """Return the loss distribution; see `Mechanism.loss`.

        The two numbers of a cell, if participation is released, count as a coin of the same loss.
        """
        count = check_counts(answers, tasks, every_task=self.every_task)
        epsilon = self.channel.epsilon
        if self.participation is None:
            distribution = laplace_distribution(self.grid.steps, self.channel.noise.scale, epsilon)
        else:
            distribution = pure_distribution(epsilon)
        return ReleaseLoss(answer=distribution, each=distribution, count=count)

    @override
    def randomize_tasks(
        self,
        answers: Answers,
        drawn: npt.NDArray[Any] | None,
        rng: Randomness,
    ) -> Reports:
        places = self.grid.places(self.domain.numbers(answers.values))
        if self.every_task:
            return self._randomize_every_task(answers, places, rng)
        reports = self._with_noise(places, rng)
        table = answers.with_values(self.report_domain, reports)
        return Reports(table=table, mechanism=self, simulated=isinstance(rng, np.random.Generator))

    def _randomize_every_task(
        self, answers: Answers, places: npt.NDArray[np.int32], rng: Randomness
    ) -> Reports:
        check_cells(len(answers.tasks), len(answers.workers))
        shape = (len(answers.tasks), len(answers.workers))
        reports = np.empty(shape, self.report_domain.dtype)
        bit_domain = self.participation_domain
        bits = None if bit_domain is None else np.empty(shape, bit_domain.dtype)
        for workers, cells in dense_blocks(answers, places, NULL):
            filled = np.where(cells == NULL, self.fillings(cells.shape, word_source(rng)), cells)
            reports[:, workers] = self._with_noise(filled, rng).T
            if bits is not None:
                bits[:, workers] = self._noisy_bits(cells != NULL, rng).T
        return Reports(
            table=dense_table(answers, self.report_domain, reports),
            mechanism=self,
            simulated=isinstance(rng, np.random.Generator),
            participation_codes=None if bits is None else bits.reshape(-1),
        )

    def fillings(self, shape: tuple[int, ...], words: WordSource) -> npt.NDArray[np.int32]:
        """Return a random filling place for every cell, answered or not.

        So the number of words does not depend on how many are used.
        """
        places = self.filling_places
        if len(places) == 1:
            return np.full(shape, places[0], np.int32)
        drawn = uniform_integers(words, 0, len(places) - 1, int(np.prod(shape)))
        return places[drawn.astype(np.intp)].reshape(shape)

    @property
    @override
    def filling_places(self) -> npt.NDArray[np.int32]:
        if self.fill == "midpoint":
            return np.array([self.grid.middle], np.int32)
        if isinstance(self.fill, float):
            return np.array([self.grid.place(self.fill)], np.int32)
        if isinstance(self.domain, FiniteDomain):
            return self.grid.places(np.array(self.domain.levels, np.float64))
        return np.arange(self.grid.steps + 1, dtype=np.int32)

    def fixed_reports(self, answers: Answers, secret: Secret) -> Reports:
        """Add noise that depends on secret, task and answer only; see `Mechanism.fixed_reports`."""
        places = self.grid.places(self.domain.numbers(answers.values))
        cells = cells_of(answers, places, null=NULL if self.every_task else 0)
        noise, bit_noise = self.channel.noise, self.channel.participation_noise
        filled, bits = cells, None
        if self.every_task:
            fillings = self.fillings(cells.shape, secret.words("fill"))
            filled = np.where(cells == NULL, fillings, cells)
        tasks = answers.tasks.to_pylist()
        numbers = filled + _fixed_noise("number", noise, tasks, cells, secret)
        if bit_noise is not None:
            noisy = np.where(cells == NULL, 0, BIT_GRID.steps)
            noisy += _fixed_noise("bit", bit_noise, tasks, cells, secret)
            bits = cut_off(noisy, BIT_GRID.lattice(bit_noise.scale))
        reports = cut_off(numbers, self.report_domain)
        return Reports(
            table=fixed_table(answers, self, reports), mechanism=self, participation_codes=bits
        )

    def _with_noise(self, places: npt.NDArray[np.int32], rng: Randomness) -> npt.NDArray[Any]:
        return _add_noise(places, self.channel.noise, self.report_domain, rng)

    def _noisy_bits(self, answered: npt.NDArray[np.bool_], rng: Randomness) -> npt.NDArray[Any]:
        noise, domain = self.channel.participation_noise, self.participation_domain
        assert noise is not None
        assert domain is not None
        bits = np.where(answered, np.int32(BIT_GRID.steps), np.int32(0))
        return _add_noise(bits, noise, domain, rng)

    @override
    def _read_reports(
        self, columns: pa.Table, tasks: pa.Array, workers: pa.Array, *, simulated: bool
    ) -> Reports:
        reports = super()._read_reports(columns, tasks, workers, simulated=simulated)
        domain = self.participation_domain
        if domain is None:
            return reports
        bits = Answers.from_frame(
            columns,
            domain,
            label="participation",
            tasks=tasks,
            workers=workers,
            advice="reports",
        )
        return evolve(reports, participation_codes=bits.values)

    def _parameters(self) -> dict[str, Any]:
        bit = self.channel.participation_noise
        return {
            "epsilon": self.epsilon,
            "fill": self.fill,
            "scale": self.scale,
            "participation": self.participation,
            "step": self.step,
            "grid_step": self.grid.step,
            "steps": self.grid.steps,
            "noise_scale": self.channel.noise.scale,
            "participation_noise_scale": None if bit is None else bit.scale,
        }


def _add_noise(
    places: npt.NDArray[np.int32],
    noise: DiscreteLaplace,
    domain: Lattice,
    rng: Randomness,
) -> npt.NDArray[Any]:
    noisy = noise.sample(places.size, rng).reshape(places.shape)
    noisy += places
    return cut_off(noisy, domain)


def _fixed_noise(
    name: str,
    noise: DiscreteLaplace,
    tasks: list[str | int],
    cells: npt.NDArray[np.int64],
    secret: Secret,
) -> npt.NDArray[np.int64]:
    """Return the noise of each task at the place of its answer, shape (tasks,)."""
    size = laplace_bytes(noise.scale)
    return np.array(
        [
            laplace_noise(noise.scale, secret.give((name, task, cell_name(cell)), size))
            for task, cell in zip(tasks, cells, strict=True)
        ],
        np.int64,
    )
