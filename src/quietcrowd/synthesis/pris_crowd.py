"""PrisCrowd: synthetic claims from a collector who may see the real ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.bandwidths import RULES
from quietcrowd.synthesis.claim_arrays import public_range
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.loss import ReleaseSize, release_guarantee
from quietcrowd.synthesis.parameters import Parameters

__all__ = ["PrisCrowd"]

MOST_STEPS = 2**50


@frozen(kw_only=True, slots=False)
class PrisCrowd(Parameters):
    """Learn a density of each task's claims, and release synthetic claims that pass a test.

    A candidate is a claim, chosen by its weight, and a step of the kernel's law. It passes where at
    least k claims, more or less by Laplace noise, could have given it about as likely.

    Parameters
    ----------
    epsilon0 : float
        The noise of the test has the scale ``1 / epsilon0``; above 0. `plan_releases` finds it for
        an epsilon.
    bandwidth : float or {"silverman", "mad"}
        Of the kernel, in the unit of the claims; public. As printed it may be a rule, for each
        task, which no guarantee allows.
    claims : int
        How many synthetic claims are wanted per task. A release makes ``claims / (1 - drop)``
        attempts and gives what passes: at most about so many, and fewer where claims lie apart.
    gamma : float
        Largest ratio of two likelihoods that count as about equal; above 1.
    k : int
        How many claims the test asks for; a task with fewer users is refused. At least 1.
    weights : {"uniform", "local", "global", "combined", "printed"}
        What claims are chosen by. Default: "uniform", which is public; "combined" as printed.
        Local weights are learnt from the claims about one task, global ones from all.
    floor : float
        The part of learnt weights that is shared evenly, above 0 and below 1; 0 as printed.
    combination : {"product", "geometric"}
        How local and global weights become one; see
        `quietcrowd.synthesis.weights.combined_weights`.
    release : {"attempts", "paper"}
        A fixed number of attempts, or the paper's loop until enough pass.
    drop : float
        The probability that a candidate is dropped whatever it is, above 0 and below 1; 0 as
        printed.
    most_attempts : int, optional
        As printed the loop has no end; this many attempts about a task end it. Default: ten times
        as many as isolated claims need, at most 100,000.
    kernel : {"gaussian", "epanechnikov"}
        Of the densities and the steps.
    cells : int
        Candidates lie on a grid of ``bandwidth / cells`` from the lower end of the range on.
    quantiles : tuple of three float
        See `quietcrowd.synthesis.weights.local_weights`.
    max_iterations : int
        Of learning weights; at least 1.
    tolerance : float
        Weights have converged when none changes by more than this part of the largest.

    Raises
    ------
    ParameterError
        Where a parameter is out of its range, or parameters do not go together.

    References
    ----------
    M. Huai, D. Wang, C. Miao, J. Xu, A. Zhang, "Privacy-aware Synthesizing for Crowdsourced Data",
    IJCAI 2019. What fails there, and the repair: ``docs/theory/pris-crowd.md``.

    Examples
    --------
    >>> from quietcrowd.datasets import sensor_crowd
    >>> claims = sensor_crowd(tasks=5, workers=200, sigmas=(0.5, 0.5)).answers
    >>> method = PrisCrowd(epsilon0=0.5, bandwidth=0.3, claims=5, gamma=1.5, k=25)
    >>> density = method.fit(claims)
    >>> round(density.guarantee(delta=1e-6).epsilon, 2)
    6.31
    >>> density.release(np.random.default_rng(0))
    SyntheticClaims(16 claims about 5 tasks, 0 refused, simulated)
    """

    def guarantee(
        self,
        users: int,
        *,
        most_users: int | None = None,
        answers: int = 1,
        tasks: int | None = None,
        delta: float = 1e-6,
    ) -> PrivacyGuarantee:
        """Return what the claims of one user lose at most in one release.

        Parameters
        ----------
        users, most_users : int
            Claims per task, at least and at most; only tasks with at least k count. The second is
            by default as the first.
        answers : int
            How many claims the user makes, each about another task.
        tasks : int, optional
            How many tasks are released, at least `answers`, which is the default; it matters for
            global weights, which couple them.
        delta : float
            Of the pairs (epsilon, delta), at least 0 and below 1.

        Raises
        ------
        ParameterError
            Where a number is out of its range.
        """
        size = ReleaseSize(
            fewest=users,
            most=users if most_users is None else most_users,
            answers=answers,
            tasks=answers if tasks is None else tasks,
        )
        return release_guarantee(self, size, delta)

    def fit(self, claims: Answers) -> CrowdDensity:
        """Return the densities of claims. They are for the collector's eyes only.

        Parameters
        ----------
        claims : Answers
            In an `Interval`, or an `Ordinal` of numbers: the public range.

        Raises
        ------
        ParameterError
            Where these are no answers of numbers, or the bandwidth is too small for the range.
        """
        domain = public_range(claims)
        table = claims.canonical
        if self.release == "attempts" and claims.dropped.out_of_domain:
            raise AnswerError(
                f"{claims.dropped.out_of_domain:,} claims were left out for their value, which "
                'tells of them: read the claims without out_of_domain="skip", and clip them by '
                "a rule that is fixed beforehand"
            )
        density = CrowdDensity(
            method=self, claims=table, bandwidths=self._bandwidths(table, domain)
        )
        density.claim_weights()
        return density

    def _bandwidths(self, table: Answers, domain: Ordinal | Interval) -> npt.NDArray[np.float64]:
        """Return one bandwidth per task."""
        if isinstance(self.bandwidth, str):
            rule, values = RULES[self.bandwidth], domain.numbers(table.values)
            return rule(table.offsets, values, value_range=domain.width)
        if domain.width / self.bandwidth * self.cells > MOST_STEPS:
            raise ParameterError(
                f"bandwidth={self.bandwidth!r} is too small for claims from {domain.describe()}: "
                f"its grid has more than 2^{MOST_STEPS.bit_length() - 1} points"
            )
        return np.full(len(table.tasks), self.bandwidth)
