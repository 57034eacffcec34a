"""PrisCrowd, which releases synthetic claims from a collector that sees the raw claims."""

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.answers import Answers
from quietcrowd.domains import Interval, Ordinal
from quietcrowd.exceptions import AnswerError, ParameterError
from quietcrowd.privacy.guarantee import PrivacyGuarantee
from quietcrowd.synthesis.claim_arrays import public_range
from quietcrowd.synthesis.density import CrowdDensity
from quietcrowd.synthesis.kde import RULES
from quietcrowd.synthesis.loss import ReleaseSize, release_guarantee
from quietcrowd.synthesis.parameters import Parameters

MOST_STEPS = 2**50


@frozen(kw_only=True, slots=False)
class PrisCrowd(Parameters):
    """Release of synthetic claims, sampled from the density of each task's claims.

    A candidate is a claim, sampled by weight, plus a random step with the kernel's distribution. It
    passes a test if at least k claims, plus Laplace noise, could have produced it with a similar
    likelihood.

    Parameters
    ----------
    epsilon0 : float
        Above 0; the noise of the test has scale ``1 / epsilon0``. See `plan_releases`.
    bandwidth : float or {"silverman", "mad"}
        Public bandwidth of the kernel, in the unit of the claims. With ``release="paper"`` it may
        be a rule per task, for which no guarantee holds.
    claims : int
        Wanted synthetic claims per task. A release makes ``claims / (1 - drop)`` attempts and
        returns those that pass: at most about `claims`, fewer if claims are far apart.
    gamma : float
        Largest ratio of two likelihoods that count as similar; above 1.
    k : int
        Number of claims that the test requires, at least 1. Tasks with fewer are not released.
    weights : {"uniform", "local", "global", "combined", "printed"}
        Weights for sampling claims. Local weights are learned from the claims about one task,
        global ones from all claims. Default: "uniform", which is public; "combined" for the paper's
        release.
    floor : float
        Fraction of learned weights that is divided evenly, above 0 and below 1; 0 for the paper's.
    combination : {"product", "geometric"}
        See `quietcrowd.synthesis.weights.combined_weights`.
    release : {"attempts", "paper"}
        A fixed number of attempts, or the paper's loop until enough candidates pass.
    drop : float
        Probability of dropping any candidate, above 0 and below 1; 0 for the paper's release.
    most_attempts : int, optional
        Limit of the paper's loop per task. Default: ten times the need of isolated claims, at most
        100,000.
    kernel : {"gaussian", "epanechnikov"}
        Kernel of the densities and the steps.
    cells : int
        Grid points per bandwidth; candidates are on this grid.
    quantiles : tuple of three float
        See `quietcrowd.synthesis.weights.local_weights`.
    max_iter : int
        Limit of iterations to learn weights; at least 1.
    tol : float
        Weights have converged when none changes by more than this fraction of the largest.

    Raises
    ------
    ParameterError
        If a parameter is out of range, or parameters are incompatible.

    References
    ----------
    M. Huai, D. Wang, C. Miao, J. Xu, A. Zhang, "Privacy-aware Synthesizing for Crowdsourced Data",
    IJCAI 2019. ``research/docs/theory/pris-crowd.md`` describes what fails there and the repair.

    Examples
    --------
    >>> from quietcrowd import make_crowd
    >>> claims = make_crowd(kind="sensors", tasks=5, workers=200, sigmas=(0.5, 0.5)).answers
    >>> method = PrisCrowd(epsilon0=0.5, bandwidth=0.3, claims=5, gamma=1.5, k=25)
    >>> density = method.fit(claims)
    >>> round(density.guarantee(delta=1e-6).epsilon, 2)
    6.31
    >>> density.release(random_state=0)
    SyntheticClaims(16 claims about 5 tasks, 0 rejected, simulated)
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
        """Return an upper bound of the privacy loss of one user's claims in one release.

        Parameters
        ----------
        users, most_users : int
            Fewest and most claims per released task, at least k. Default of `most_users`: `users`.
        answers : int
            Number of the user's claims, each about another task.
        tasks : int, optional
            Number of released tasks; default: `answers`, the least. Global weights couple tasks.
        delta : float
            The delta of (epsilon, delta), at least 0 and below 1.

        Raises
        ------
        ParameterError
            If a number is out of range.
        """
        size = ReleaseSize(
            fewest=users,
            most=users if most_users is None else most_users,
            answers=answers,
            tasks=answers if tasks is None else tasks,
        )
        return release_guarantee(self, size, delta)

    def fit(self, claims: Answers) -> CrowdDensity:
        """Return the densities of claims, for the collector only.

        Parameters
        ----------
        claims : Answers
            Answers in an `Interval` or `Ordinal` domain, the public range.

        Raises
        ------
        ParameterError
            If `claims` are not Answers, or the bandwidth is too small for the range.
        AnswerError
            If the domain has another kind, or claims were dropped because of their values.
        """
        domain = public_range(claims)
        table = claims.canonical
        if self.release == "attempts" and claims.dropped.out_of_domain:
            raise AnswerError(
                "synthesis.claims-left-out", out_of_domain=claims.dropped.out_of_domain
            )
        density = CrowdDensity(
            method=self, claims=table, bandwidths=self._bandwidths(table, domain)
        )
        density.claim_weights()
        return density

    def _bandwidths(self, table: Answers, domain: Ordinal | Interval) -> npt.NDArray[np.float64]:
        if isinstance(self.bandwidth, str):
            rule, values = RULES[self.bandwidth], domain.numbers(table.values)
            return rule(table.offsets, values, value_range=domain.width)
        if domain.width / self.bandwidth * self.cells > MOST_STEPS:
            raise ParameterError(
                "synthesis.bandwidth-too-small",
                bandwidth=self.bandwidth,
                domain=domain.describe(),
                bits=MOST_STEPS.bit_length() - 1,
            )
        return np.full(len(table.tasks), self.bandwidth)
