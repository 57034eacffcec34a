"""Ranking of mechanisms by simulated error, from public facts and a fixed public seed only.

So the same facts give the same choice on every device. Float rounding may differ between machines
and swap mechanisms that are equally good.
"""

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
from attrs import fields_dict, frozen

from quietcrowd.domains import FiniteDomain
from quietcrowd.exceptions import ParameterError, QuietcrowdError
from quietcrowd.inference.noise_aware import NoiseAware
from quietcrowd.mechanisms.mechanism import Mechanism
from quietcrowd.mechanisms.randomized_response import RandomizedResponse
from quietcrowd.planning.crowd_assumption import CrowdAssumption
from quietcrowd.planning.public_facts import PublicFacts
from quietcrowd.planning.simulation import SimulatedError, simulate_size
from quietcrowd.validation import check_whole

SEED = 20_180_819

DRAWS = 8

MORE_DRAWS = 16
"""Additional crowds for mechanisms that may be the best."""

MAY_BE_BEST = 3.0
"""Largest distance from the best, in standard errors of the difference."""

AS_GOOD = 1.01
"""Alternatively, largest ratio of an error to the least one."""

MOST_LEFT = 4


@frozen(kw_only=True)
class RankedMechanism:
    """Mechanism with its mean error over `draws` crowds, under public facts.

    `name` includes parameters. `times_least` is the ratio of the error to that of the best
    mechanism on the same crowds.
    """

    name: str
    mechanism: Mechanism
    error: float
    standard_error: float
    times_least: float
    draws: int


@frozen(kw_only=True)
class MechanismRanking:
    """Mechanisms in order of their error, the best one first.

    Attributes
    ----------
    facts : PublicFacts
        Facts that determine the ranking.
    rows : tuple of RankedMechanism
        The best one first.
    constant, plain : float
        Errors of the best constant guess, and of non-private answers.
    left_out : tuple of str
        Unsuitable mechanisms, with reasons.
    """

    facts: PublicFacts
    rows: tuple[RankedMechanism, ...]
    constant: float
    plain: float
    left_out: tuple[str, ...]

    @property
    def best(self) -> Mechanism:
        """Mechanism with the least error."""
        return self.rows[0].mechanism

    @property
    def name(self) -> str:
        """Name of the best mechanism with its parameters, as on the command line."""
        return self.rows[0].name

    @property
    def why(self) -> str:
        """Sentence that justifies the best mechanism."""
        first, size, facts = self.rows[0], self.facts.size, self.facts
        labels = isinstance(facts.domain, FiniteDomain)
        score = "error rate" if labels else "mean absolute error"
        second = (
            f", that of {self.rows[1].name} is {self.rows[1].times_least:.2f} times as large"
            if len(self.rows) > 1
            else ""
        )
        return (
            f"{first.name} has the least {score} at epsilon {facts.epsilon:g} in {first.draws} "
            f"simulated crowds of {size.workers:,} workers with {size.answers:,} answers each to "
            f"{size.tasks:,} tasks: {first.error:.3g}{second}. Without noise it is "
            f"{self.plain:.3g}, and for a constant guess {self.constant:.3g}. Assumed: "
            f"{facts.assumption.sentence()}."
        )

    def to_dict(self) -> dict[str, Any]:
        """Return a JSON-ready description."""
        return {
            "best": self.name,
            "mechanism": self.best.to_dict(),
            "why": self.why,
            "epsilon": self.facts.epsilon,
            "tasks": self.facts.tasks,
            "workers": self.facts.workers,
            "answers_of_each_worker": self.facts.size.answers,
            "constant": self.constant,
            "plain": self.plain,
            "ranking": [
                {
                    "mechanism": row.name,
                    "error": row.error,
                    "standard_error": row.standard_error,
                    "times_least": row.times_least if math.isfinite(row.times_least) else None,
                    "draws": row.draws,
                }
                for row in self.rows
            ],
            "left_out": list(self.left_out),
        }


def best_mechanism(
    *,
    domain: Any,
    epsilon: float,
    tasks: int = 1_000,
    workers: int = 100,
    answers_per_task: float = 10.0,
    quality: CrowdAssumption | Mapping[str, Any] | None = None,
    prior: Mapping[Any, float] | None = None,
    draws: int = DRAWS,
) -> MechanismRanking:
    """Rank the suitable mechanisms by the error of `NoiseAware` under public facts.

    Suitable mechanisms protect answers but not participation, with independent noise for each
    answer. So the loss about one answer is at most `epsilon`, however many a worker gives. All
    mechanisms see the same sampled crowds. See ``research/docs/best-mechanism.md``.

    Parameters
    ----------
    domain, epsilon, tasks, workers, answers_per_task, quality, prior
        See `PublicFacts`; nothing else affects the choice. None of them may depend on the answers
        that are to be protected.
    draws : int
        Number of simulated crowds for each mechanism, at least 3. Mechanisms that may be the best
        get twice as many additional crowds.

    Raises
    ------
    ParameterError
        If a fact is out of its range, or no mechanism is suitable.

    Examples
    --------
    >>> import quietcrowd as qc
    >>> domain = qc.Categorical([f"kind {i}" for i in range(8)])
    >>> ranking = best_mechanism(domain=domain, epsilon=1.0, tasks=40, workers=40, draws=3)
    >>> ranking.rows[0].error < [row.error for row in ranking.rows if row.name == "one-layer"][0]
    True
    """
    check_whole("draws", draws, 3)
    facts = PublicFacts(
        domain=domain,
        epsilon=epsilon,
        tasks=tasks,
        workers=workers,
        answers_per_task=answers_per_task,
        quality=quality,
        prior=prior,
    )
    makers, left_out = candidates(facts)
    if not makers:
        raise ParameterError("planning.no-mechanism", reasons="; ".join(left_out))
    names = list(makers)
    mechanisms = [makers[name] for name in names]
    tried = partial(simulate_size, facts.assumption, facts.size)
    *found, plain = tried(mechanisms, draws, SEED)
    errors = [[one.error for one in cell] for cell in found]
    constant = float(np.mean([one.constant for one in plain]))
    again = may_be_best(errors)
    if len(again) > 1:
        more: list[list[SimulatedError]]
        *more, _ = tried(
            [mechanisms[place] for place in again], MORE_DRAWS * draws // DRAWS, SEED + 1
        )
        for place, cell in zip(again, more, strict=True):
            errors[place] += [one.error for one in cell]
    rows = _ranked(names, mechanisms, errors)
    return MechanismRanking(
        facts=facts,
        rows=rows,
        constant=constant,
        plain=float(np.mean([one.error for one in plain])),
        left_out=tuple(left_out),
    )


def candidates(facts: PublicFacts) -> tuple[dict[str, Mechanism], list[str]]:
    """Return the suitable mechanisms of the registry by name, and reasons against the others."""
    chosen: dict[str, Mechanism] = {}
    left_out: list[str] = []
    for kind, maker in Mechanism.registry().items():
        for name, parameters in _variants(kind, maker, facts):
            try:
                mechanism = maker.from_claimed_epsilon(
                    domain=facts.domain, epsilon=facts.epsilon, **parameters
                )
                reason = _why_not(mechanism, facts)
            except (QuietcrowdError, NotImplementedError) as error:
                reason = str(error)
            if reason is None:
                chosen[name] = mechanism
            else:
                left_out.append(f"{name}: {reason}")
    distributions: dict[Any, str] = {}
    for name in sorted(chosen, key=lambda name: _rank_among_equals(chosen[name])):
        distribution = _distribution(chosen[name])
        if distribution is not None and distributions.setdefault(distribution, name) != name:
            del chosen[name]
            left_out.append(
                f"{name}: its distribution equals that of {distributions[distribution]}"
            )
    return chosen, left_out


def _rank_among_equals(mechanism: Mechanism) -> tuple[bool, bool]:
    """Return a sort key: of equal distributions, prefer reports like answers, then one layer."""
    return (
        mechanism.report_domain != mechanism.domain,
        not isinstance(mechanism, RandomizedResponse),
    )


def _variants(
    kind: str, maker: type[Mechanism], facts: PublicFacts
) -> list[tuple[str, dict[str, Any]]]:
    known = fields_dict(maker)
    if "fill" in known:  # unanswered tasks are not reported
        return [(f"{kind}:fill=none", {"fill": None})]
    frequencies = facts.answer_frequencies
    found: list[tuple[str, dict[str, Any]]] = [(kind, {})]
    if "prior" in known and frequencies is not None:
        pairs = "/".join(f"{_escaped(label)}={share:g}" for label, share in frequencies.items())
        found.append((f"{kind}:prior={pairs}", {"prior": frequencies}))
    return found


def _escaped(label: str) -> str:
    return label.replace("%", "%25").replace("/", "%2F").replace(":", "%3A")


def _why_not(mechanism: Mechanism, facts: PublicFacts) -> str | None:
    size = facts.size
    if not mechanism.independent_reports:
        return "a worker's reports share noise, so the privacy loss grows with their number"
    guarantee = mechanism.guarantee(answers=size.answers, tasks=size.tasks)
    if guarantee.delta or guarantee.epsilon > facts.epsilon * (1 + 1e-9):
        return f"one answer has epsilon {guarantee.epsilon:g}, delta {guarantee.delta:g}"
    if mechanism.every_task:
        return "every worker reports every task"
    channel, labels = mechanism.channel, isinstance(facts.domain, FiniteDomain)
    if labels and channel.probabilities is None and channel.sets is None:
        return "its reports are numbers, and the answers are labels"
    if not NoiseAware().models_noise(mechanism):
        return "the noise-aware method does not support its channel"
    return None


def _distribution(mechanism: Mechanism) -> Any:
    """Return a key that equivalent channels share; None without a small table."""
    channel = mechanism.channel
    table = channel.probabilities
    if table is None and channel.sets is not None and channel.sets.members == 1:
        table = np.exp(channel.log_likelihood(*np.indices((channel.sets.labels,) * 2)))
    if table is None:
        return None
    columns = np.round(table, 7)
    return tuple(map(tuple, columns[:, np.lexsort(columns)].T.tolist()))


def may_be_best(errors: Sequence[Sequence[float]]) -> list[int]:
    """Return the positions of at most four mechanisms that need additional crowds.

    On the same crowds, their errors differ from the least by at most 3 standard errors of the
    difference, or by at most 1 %.
    """
    table = np.array(errors)
    means = table.mean(axis=1)
    least = int(means.argmin())
    apart = table - table[least]
    deviations = apart.std(axis=1, ddof=1) / math.sqrt(table.shape[1])
    near = (apart.mean(axis=1) <= MAY_BE_BEST * deviations) | (means <= AS_GOOD * means[least])
    order = [int(place) for place in means.argsort(kind="stable") if near[place]]
    return order[:MOST_LEFT]


def _ranked(
    names: Sequence[str], mechanisms: Sequence[Mechanism], errors: Sequence[Sequence[float]]
) -> tuple[RankedMechanism, ...]:
    most = max(map(len, errors))
    order = sorted(range(len(names)), key=lambda i: (len(errors[i]) < most, np.mean(errors[i])))
    best = errors[order[0]]
    rows = []
    for place in order:
        own = np.array(errors[place])
        least = float(np.mean(best[: len(own)]))
        mean = float(own.mean())
        rows.append(
            RankedMechanism(
                name=names[place],
                mechanism=mechanisms[place],
                error=mean,
                standard_error=float(own.std(ddof=1) / math.sqrt(len(own))),
                times_least=mean / least if least else (1.0 if not mean else math.inf),
                draws=len(own),
            )
        )
    return tuple(rows)
