"""What PrisCrowd is compared with: noise on every claim, and a noisy histogram of each task."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from attrs import field, frozen

from quietcrowd.answers import Answers
from quietcrowd.exceptions import ParameterError
from quietcrowd.mechanisms.channels.noise import DiscreteLaplace
from quietcrowd.mechanisms.laplace import LaplaceMechanism
from quietcrowd.mechanisms.randomness import WordSource, word_source
from quietcrowd.privacy.guarantee import ABOUT_TASKS, PrivacyGuarantee, add_losses
from quietcrowd.privacy.rounding import ratio_up
from quietcrowd.synthesis.claim_arrays import public_range
from quietcrowd.synthesis.release import SyntheticClaims
from quietcrowd.validation import check_whole, number, positive

MOST_CELLS = 10**8
SENSITIVITY = 2
"""A claim that moves to another bin changes two counts by 1."""


def _most_claims(claims: Answers) -> int:
    return max(1, int(claims.answers_per_worker.max(initial=1)))


@frozen(kw_only=True)
class Basic:
    """Release every claim with Laplace noise of scale ``width / epsilon``.

    Parameters
    ----------
    epsilon : float
        Loss of one claim, above 0.

    References
    ----------
    The baseline of Huai et al., IJCAI 2019, section 5, which names epsilon alone: Laplace's
    distribution and its scale, the width of the public range over epsilon, are ours.

    Examples
    --------
    >>> from quietcrowd import make_crowd
    >>> Basic(epsilon=1.0).release(make_crowd(
    ...     kind="sensors", tasks=5
    ... ).answers, np.random.default_rng(0))
    SyntheticClaims(300 claims about 5 tasks, 0 rejected, simulated)
    """

    epsilon: float = field(converter=number, validator=positive)

    def release(self, claims: Answers, rng: np.random.Generator | None = None) -> SyntheticClaims:
        """Return the claims with noise, unlimited by the range.

        Parameters
        ----------
        claims : Answers
            In an `Interval` or `Ordinal`, the public range.
        rng : numpy.random.Generator, optional
            For simulations. Default: exact noise from the operating system.

        Raises
        ------
        AnswerError
            Where these are no numbers.
        """
        public = public_range(claims)
        table = claims.canonical
        counts = table.answers_per_task
        mechanism = LaplaceMechanism(domain=public, epsilon=self.epsilon, fill=None)
        if rng is None:
            reports = mechanism.randomize(table).table
        else:
            reports = mechanism.simulate(table, random_state=rng).table
        return SyntheticClaims(
            task_ids=table.tasks,
            users=counts,
            attempts=counts,
            offsets=reports.offsets,
            values=mechanism.report_domain.numbers(reports.values),
            wanted=int(counts.max(initial=0)),
            least_users=1,
            guarantee=mechanism.guarantee(answers=_most_claims(table)),
            simulated=rng is not None,
        )


@frozen(kw_only=True)
class Histogram:
    """Count the claims of each task in bins, add Laplace noise, draw synthetic claims from it.

    Counts get whole-numbered Laplace noise of scale ``2 / epsilon``; those below 0 count as 0. A
    synthetic claim is drawn evenly from a bin that is chosen by the noisy counts, or from the whole
    range where all of them are 0.

    Parameters
    ----------
    epsilon : float
        Loss of one claim, above 0, pure.
    bin_width : float
        In the unit of the claims, public, above 0; the last bin may reach beyond the range and is
        cut off there.
    claims : int
        How many synthetic claims are drawn per task.

    References
    ----------
    C. Dwork, F. McSherry, K. Nissim, A. Smith, "Calibrating Noise to Sensitivity in Private Data
    Analysis", TCC 2006.

    Examples
    --------
    >>> from quietcrowd import make_crowd
    >>> method = Histogram(epsilon=1.0, bin_width=0.5)
    >>> method.release(make_crowd(kind="sensors", tasks=5).answers, np.random.default_rng(0))
    SyntheticClaims(150 claims about 5 tasks, 0 rejected, simulated)
    """

    epsilon: float = field(converter=number, validator=positive)
    bin_width: float = field(converter=number)
    claims: int = 30

    def __attrs_post_init__(self) -> None:
        if not 0 < self.bin_width < math.inf:
            raise ParameterError(f"bin_width must be above 0; got {self.bin_width!r}")
        check_whole("claims", self.claims, 1, 10**6)

    def release(self, claims: Answers, rng: np.random.Generator | None = None) -> SyntheticClaims:
        """Return synthetic claims; see `Basic.release`.

        Raises
        ------
        ParameterError
            Where tasks and bins are more than 10^8 together.
        """
        public = public_range(claims)
        table = claims.canonical
        bins = max(1, math.ceil(public.width / self.bin_width))
        tasks = np.flatnonzero(table.answers_per_task)
        if bins * len(tasks) > MOST_CELLS:
            raise ParameterError(
                f"{len(tasks):,} tasks of {bins:,} bins are too many; at most {MOST_CELLS:,} "
                "together. Take a larger bin_width."
            )
        places = ((public.numbers(table.values) - public.low) / self.bin_width).astype(np.int64)
        cells = table.task_codes * np.int64(bins) + np.minimum(places, bins - 1)
        counts = np.bincount(cells, minlength=len(table.tasks) * bins).reshape(-1, bins)[tasks]
        noise = DiscreteLaplace(scale=ratio_up(SENSITIVITY / Fraction(self.epsilon)))
        noisy = np.maximum(counts + noise.sample(counts.size, rng).reshape(counts.shape), 0)
        values = public.low + self._draw(noisy, word_source(rng)) * self.bin_width
        released = np.zeros(len(table.tasks), np.int64)
        released[tasks] = self.claims
        return SyntheticClaims(
            task_ids=table.tasks,
            users=table.answers_per_task,
            attempts=released,
            offsets=np.concatenate([[0], np.cumsum(released)]),
            values=np.minimum(values, public.high).reshape(-1),
            wanted=self.claims,
            least_users=1,
            guarantee=self._guarantee(noise, _most_claims(table)),
            simulated=rng is not None,
        )

    def _draw(self, noisy: npt.NDArray[np.int64], words: WordSource) -> npt.NDArray[np.float64]:
        """Return synthetic claims of each task, in bins from the lower end, shape (tasks, claims).

        The noise is in the counts already: rounding here tells nothing.
        """
        noisy[noisy.sum(axis=1) == 0] = 1
        totals = noisy.cumsum(axis=1)
        drawn = words(2 * len(noisy) * self.claims).reshape(2, len(noisy), self.claims) / 2.0**32
        places: npt.NDArray[np.float64] = drawn[1]
        for task, total in enumerate(totals):
            places[task] += np.searchsorted(total, drawn[0, task] * total[-1], side="right")
        return places

    def _guarantee(self, noise: DiscreteLaplace, answers: int) -> PrivacyGuarantee:
        epsilon = noise.loss(SENSITIVITY)
        return PrivacyGuarantee(
            answers=answers,
            epsilon=epsilon,
            total_epsilon=add_losses(epsilon, answers),
            participation_protected=False,
            claimed_epsilon=self.epsilon,
            assumptions=(*ABOUT_TASKS, "of the same claims nothing else is released"),
            source="Dwork et al., TCC 2006, Proposition 1: two counts change by 1",
        )
