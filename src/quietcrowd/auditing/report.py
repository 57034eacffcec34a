"""Results of an audit."""

import math
import textwrap
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from attrs import frozen

from quietcrowd.auditing.reuse import EqualMessages
from quietcrowd.figures import add_legend, new_panels
from quietcrowd.privacy.guarantee import CLAIM_ROUNDING, PrivacyGuarantee, finite_loss, show_loss

WIDTH = 80


@frozen(kw_only=True, eq=False)
class AuditReport:
    """Claimed, stated and found privacy losses of a mechanism.

    Attributes
    ----------
    mechanism : str
        Name of the mechanism.
    domain : str
        Description of the domain.
    guarantee : PrivacyGuarantee
        Claimed and stated losses, for the number of answers of the audit.
    exact_epsilon, exact_total_epsilon : float or None
        Loss about one answer and about all together, from the mechanism's public numbers; None if
        they do not determine it.
    every_row : bool
        Whether `exact_total_epsilon` covers all pairs of rows; otherwise the worst pair found.
    rounding : float
        Relative error of these losses.
    proven_epsilon, proven_delta : float
        Lower bounds from the reports: on epsilon at the stated delta, on delta at the stated
        epsilon.
    proven_total_epsilon : float
        Lower bound on the loss about all answers together, at the stated delta.
    attack, statistic : str
        The attack and the statistic that prove `proven_epsilon`.
    draws : int
        Workers who reported for this proof, for each of the two inputs.
    confidence : float
        Least probability that all three proven bounds hold, and that a verdict of reused randomness
        is true.
    simulated : bool
        Whether the simulation was audited, not real reports.
    devices : EqualMessages or None
        Equal messages of devices with equal answers; None if no distribution bounds how rare they
        are.
    curve : ndarray of float, shape (2, points)
        Epsilons, and at each the least delta that holds if `curve_exact`, else a proven lower
        bound.
    curve_exact : bool
        See `curve`.
    """

    mechanism: str
    domain: str
    guarantee: PrivacyGuarantee
    exact_epsilon: float | None
    exact_total_epsilon: float | None
    every_row: bool
    rounding: float
    proven_epsilon: float
    proven_delta: float
    proven_total_epsilon: float
    attack: str
    statistic: str
    draws: int
    confidence: float
    simulated: bool
    devices: EqualMessages | None
    curve: npt.NDArray[np.float64]
    curve_exact: bool

    @property
    def claimed_epsilon(self) -> float:
        """The epsilon that the paper states."""
        return self.guarantee.claimed_epsilon

    @property
    def stated_epsilon(self) -> float:
        """The epsilon that the mechanism's guarantee states, at `stated_delta`."""
        return self.guarantee.epsilon

    @property
    def stated_delta(self) -> float:
        """The delta of the pair (epsilon, delta) that the guarantee states."""
        return self.guarantee.delta

    @property
    def found_epsilon(self) -> float:
        """The larger of the exact loss, if known, and the proven one."""
        return max(self.exact_epsilon or 0.0, self.proven_epsilon)

    @property
    def holds(self) -> bool:
        """Whether no loss that was found exceeds the guarantee."""
        slack = 1 + self.rounding
        exact, row = (0.0, 0.0) if self.stated_delta else (self.exact_epsilon, self._exact_row)
        return (
            (exact or 0.0) <= self.stated_epsilon * slack
            and row <= self.guarantee.total_epsilon * slack
            and self.proven_epsilon <= self.stated_epsilon
            and self.proven_delta <= self.stated_delta
            and self.proven_total_epsilon <= self.guarantee.total_epsilon
            and not self._reused
        )

    @property
    def _reused(self) -> bool:
        return self.devices is not None and self.devices.reused

    @property
    def _exact_row(self) -> float:
        return self.exact_total_epsilon or 0.0

    @property
    def claim_holds(self) -> bool:
        """Whether the guarantee covers the paper's claim, and no loss that was found exceeds it."""
        least = self.proven_epsilon if self.stated_delta else self.found_epsilon
        return self.guarantee.claim_holds and least <= self.claimed_epsilon + CLAIM_ROUNDING

    @property
    def verdict(self) -> Literal["holds", "broken"]:
        """``"broken"`` if the audit refutes the guarantee, otherwise ``"holds"``."""
        return "holds" if self.holds else "broken"

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description, with None for infinite losses."""
        guarantee = self.guarantee
        return {
            "mechanism": self.mechanism,
            "domain": self.domain,
            "answers": guarantee.answers,
            "tasks": guarantee.tasks,
            "claimed": {
                "epsilon": finite_loss(guarantee.claimed_epsilon),
                "delta": guarantee.claimed_delta,
            },
            "claim_holds": self.claim_holds,
            "stated": {
                "epsilon": finite_loss(guarantee.epsilon),
                "delta": guarantee.delta,
                "total_epsilon": finite_loss(guarantee.total_epsilon),
                "participation_protected": guarantee.participation_protected,
            },
            "exact": None
            if self.exact_epsilon is None
            else {
                "epsilon": finite_loss(self.exact_epsilon),
                "total_epsilon": finite_loss(self._exact_row),
                "every_row": self.every_row,
            },
            "proven": {
                "epsilon": self.proven_epsilon,
                "delta": self.proven_delta,
                "total_epsilon": self.proven_total_epsilon,
                "confidence": self.confidence,
                "draws": self.draws,
                "attack": self.attack,
                "statistic": self.statistic,
                "simulated": self.simulated,
            },
            "devices": None
            if self.devices is None
            else {
                "messages": self.devices.messages,
                "equal_pairs": self.devices.equal_pairs,
                "surprise": self.devices.surprise,
                "randomness_reused": self.devices.reused,
            },
            "verdict": self.verdict,
            "curve": {
                "epsilon": self.curve[0].tolist(),
                "delta": self.curve[1].tolist(),
                "exact": self.curve_exact,
            },
        }

    def plot(self) -> Any:
        """Return a Matplotlib figure of delta against epsilon, with the claimed and stated losses.

        Raises
        ------
        MissingExtraError
            If Matplotlib is not installed.
        """
        figure, (axes,) = new_panels()
        label = "exact delta" if self.curve_exact else "proven lower bound of delta"
        axes.plot(*self.curve, label=label)
        for name, epsilon, delta, look in (
            ("stated", self.stated_epsilon, self.stated_delta, "s"),
            ("claimed", self.claimed_epsilon, self.guarantee.claimed_delta, "^"),
        ):
            if math.isfinite(epsilon):
                axes.plot(
                    [epsilon], [delta], look, label=name, markerfacecolor="none", clip_on=False
                )
        axes.set_xlabel("epsilon (natural logarithm)")
        axes.set_ylabel("delta")
        axes.set_ylim(bottom=0)
        axes.set_title(f"{self.mechanism}: {self._count()}")
        add_legend(figure, [axes])
        return figure

    def __str__(self) -> str:
        lines = [
            ("Audited", f"{self.mechanism}, {self._count()}, domain {self.domain}."),
            ("Claimed", f"{self._claim()}."),
            ("Stated", f"{self._stated()}."),
            ("Exact", f"{self._exact()}."),
            ("Proven", f"{self._proven()}."),
            ("Devices", f"{self._devices()}."),
            ("Verdict", f"{self._verdict()}."),
        ]
        return "\n".join(
            textwrap.fill(
                text,
                width=WIDTH,
                initial_indent=f"{name + ':':<9}",
                subsequent_indent=" " * 9,
                break_on_hyphens=False,
            )
            for name, text in lines
        )

    def _count(self) -> str:
        guarantee = self.guarantee
        count, kind = (
            (guarantee.answers, "answer") if guarantee.tasks is None else (guarantee.tasks, "task")
        )
        return f"{count:,} {kind}{'s' * (count != 1)} a worker"

    def _claim(self) -> str:
        claim = f"epsilon = {self.claimed_epsilon:.4g}"
        if self.guarantee.claimed_delta:
            claim += f" with delta = {self.guarantee.claimed_delta:.3g}"
        return f"{claim}; the claim is " + ("valid" if self.claim_holds else "violated")

    def _stated(self) -> str:
        guarantee = self.guarantee
        one, row = (
            self._pair(show_loss(epsilon))
            for epsilon in (self.stated_epsilon, guarantee.total_epsilon)
        )
        return f"{one} about one of them, {row} about all together; participation is " + (
            "equally protected" if guarantee.participation_protected else "not protected"
        )

    def _pair(self, epsilon: str) -> str:
        if self.stated_delta:
            return f"(epsilon, delta) = ({epsilon}, {show_loss(self.stated_delta, 3)})"
        return f"epsilon = {epsilon}"

    def _exact(self) -> str:
        if self.exact_epsilon is None or self.exact_total_epsilon is None:
            return "unknown; the public numbers do not determine it"
        text = f"epsilon = {show_loss(self.exact_epsilon)} about one"
        if self.stated_delta:
            text += " without any delta"
        least = "" if self.every_row else "at least "
        row = show_loss(self.exact_total_epsilon)
        return f"{text}, {least}{row} about all, from its public numbers"

    def _proven(self) -> str:
        text = f"epsilon is at least {self.proven_epsilon:.3f} about one"
        if self.stated_delta:
            text += f" at the stated delta, delta at least {self.proven_delta:.3g} at that epsilon"
        kind = "simulated" if self.simulated else "real"
        return (
            f"{text}, and at least {self.proven_total_epsilon:.3f} about all, with "
            f"{self.confidence:.4g} confidence; best attack: {self.attack}, on the {kind} reports "
            f"of {self.draws:,} workers per side, by {self.statistic}"
        )

    def _devices(self) -> str:
        devices = self.devices
        if devices is None:
            return "not compared; the frequency of equal messages is unknown"
        start = f"of {devices.messages:,} messages from equal answers "
        if devices.reused:
            return (
                f"{start}{devices.equal_pairs:,} pairs are equal; with fresh randomness the "
                f"probability of this is at most {devices.surprise:.2g}"
            )
        return f"{start}no more are equal than chance explains"

    def _verdict(self) -> str:
        if self.holds:
            return "not refuted; no measured loss exceeds the guarantee"
        if self._reused:
            return "BROKEN; randomness is missing, or used more than once"
        return "BROKEN; the privacy loss exceeds the guarantee"
