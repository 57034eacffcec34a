"""What mechanisms state and send, what ledgers count, and what a trusted collector releases."""

import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from tests.compatibility.crowds import (
    MECHANISMS,
    OF_CROWD,
    RANGE,
    SEED,
    answers_of,
    draw_rows,
    known_of,
)
from tests.compatibility.inferring import Case
from tests.compatibility.spelling import plain

import quietcrowd as qc
from quietcrowd.auditing import audit
from quietcrowd.auditing.audits import plan_audit
from quietcrowd.evaluation import Experiment
from quietcrowd.exceptions import QuietcrowdError, QuietcrowdWarning
from quietcrowd.mechanisms import Mechanism, TwoLayerRandomizedResponse
from quietcrowd.mechanisms.channels import TableChannel
from quietcrowd.synthesis import PrisCrowd, SyntheticClaims, plan_releases
from quietcrowd_research.huai2019.baselines import Basic, Histogram
from quietcrowd_research.moon2025.baselines import PrivTDSILike, TeslaLike

TASKS = [f"t{place:02d}" for place in range(16)]

AUDITED = (
    "one-layer-three",
    "one-layer-null",
    "two-layer-claimed",
    "laplace-released",
    "factors",
)

RELEASES = {
    "uniform": {"epsilon0": 0.5, "bandwidth": 0.5, "claims": 5, "gamma": 2.0, "k": 5},
    "combined": {
        "epsilon0": 0.5,
        "bandwidth": 0.5,
        "claims": 5,
        "gamma": 2.0,
        "k": 5,
        "weights": "combined",
        "kernel": "epanechnikov",
    },
    "paper": {
        "epsilon0": 1.0,
        "bandwidth": "silverman",
        "claims": 5,
        "gamma": 2.0,
        "k": 3,
        "release": "paper",
    },
}


def statements(folder: Path) -> Iterator[Case]:
    """Give what computes each figure; reports and the ledger are in a folder."""
    for name, mechanism in MECHANISMS.items():
        yield f"guarantee/{name}", lambda m=mechanism: _guarantees(m)
        yield f"channel/{name}", lambda m=mechanism: _channel(m)
        yield f"chance/{name}", lambda m=mechanism: _chance(m)
        yield f"read/{name}", lambda n=name: _read(folder / "reports" / f"{n}.parquet")
        if name in AUDITED:
            yield f"audit/{name}", lambda m=mechanism: _audit(m)
    for delta in (0.0, 1e-6):
        yield f"ledger/{delta:g}", lambda d=delta: _spent(folder / "ledger.json", d)
    for name, parameters in RELEASES.items():
        yield f"density/{name}", lambda p=parameters: _density(p)
        yield f"release/{name}", lambda p=parameters: _release(p)
    yield "release/plans", _plans
    yield "release/baselines", _baselines
    yield "experiment", _experiment
    yield "crowds", _crowds


EXACT = ("guarantee", "channel")
"""Stated in whole numbers, quotients and decimals that are rounded up: alike on every machine."""


def _guarantees(mechanism: Mechanism) -> Any:
    asked = [
        {"answers": 1, "tasks": 1},
        {"answers": 5, "tasks": 16, "linked": 2},
        {"answers": 16, "tasks": 16},
        {"answers": 3, "tasks": TASKS},
    ]
    found = []
    for one in asked:
        guarantee = mechanism.guarantee(**one)
        stated = plain(guarantee)
        del stated["tail"]
        found.append(stated)
    return found


def _chance(mechanism: Mechanism) -> Any:
    distributions = []
    loss = mechanism.loss(answers=5, tasks=16)
    for distribution in (loss.answer, loss.each):
        sums = float(distribution.masses.sum()), float(distribution.losses @ distribution.masses)
        distributions.append(
            [
                len(distribution.masses),
                distribution.lost,
                distribution.epsilon,
                distribution.pure_epsilon,
                *sums,
            ]
        )
    tails = [mechanism.tail(1e-6, answers=answers, tasks=16, linked=1) for answers in (1, 5)]
    return {
        "count": int(loss.count),
        "laws": plain(distributions),
        "tails": plain(tails),
        "stated": str(mechanism.guarantee(answers=5, tasks=16)),
    }


def _channel(mechanism: Mechanism) -> Any:
    channel = mechanism.channel
    weights = channel.weights.tolist() if isinstance(channel, TableChannel) else None
    exact = plan_audit(mechanism, 3).exact
    return {
        "epsilon": float(channel.epsilon),
        "weights": weights,
        "domain": mechanism.report_domain.example(),
        "exact": None if exact is None else float(exact.epsilon),
    }


def _read(path: Path) -> Any:
    reports = qc.read_reports(path)
    table = reports.table
    return {
        "tasks": plain(table.tasks),
        "workers": plain(table.workers),
        "offsets": plain(table.offsets),
        "who": plain(table.worker_codes),
        "values": plain(table.values),
        "bits": None if reports.participation is None else plain(reports.participation),
        "sketches": None if reports.sketches is None else plain(reports.sketches),
    }


def _audit(mechanism: Mechanism) -> Any:
    report = audit(mechanism, 3, draws=200, random_state=SEED)
    found = plain(report)
    del found["guarantee"], found["curve"]
    return {**found, "curve": plain(report.curve[:, ::20]), "verdict": report.verdict}


def ledger() -> qc.PrivacyLedger:
    """Return a ledger of some workers in some campaigns."""
    found = qc.PrivacyLedger()
    for place, (name, mechanism) in enumerate(MECHANISMS.items()):
        answers = 1 + place % 5
        found = found.charge(
            ("ann", "bea", 7)[place % 3], mechanism, answers=answers, tasks=16, campaign=name
        )
    factors = MECHANISMS["factors"]
    return found.charge("eve", factors, answers=16, tasks=TASKS, campaign="named")


def _spent(path: Path, delta: float) -> Any:
    found = qc.PrivacyLedger.from_json(path.read_text())
    assert found == ledger()
    return {
        "spent": plain(list(found.spending(delta))),
        "used": {one: found.used(one, 40.0, delta) for one in found.workers},
    }


def claims() -> qc.Answers:
    """Return claims of 40 users about 5 tasks."""
    rows = draw_rows(RANGE, tasks=5, workers=40, share=0.9, seed=SEED)
    return qc.Answers.from_frame(rows.drop(columns="truth"), RANGE)


def _density(parameters: dict[str, Any]) -> Any:
    density = PrisCrowd(**parameters).fit(claims())
    places = np.arange(0.0, 10.5, 2.5)
    return {
        "bandwidths": plain(density.bandwidths),
        "workers": plain(density.worker_weights.weights[:10]),
        "weights": [
            plain(density.claim_weights(kind)[:10]) for kind in ("local", "global", "combined")
        ],
        "density": [plain(density.pdf(task, places)) for task in ("t00", "t03")],
        "guarantee": plain(density.guarantee(1e-6)),
    }


def released(parameters: dict[str, Any]) -> SyntheticClaims:
    """Return synthetic claims."""
    return PrisCrowd(**parameters).fit(claims()).release(random_state=SEED)


def _release(parameters: dict[str, Any]) -> Any:
    return _claims(released(parameters))


def _claims(found: SyntheticClaims) -> Any:
    return {
        "attempts": plain(found.attempts),
        "passed": plain(found.passed),
        "values": plain(found.values[:60]),
    }


def _baselines() -> Any:
    rng = np.random.default_rng(SEED)
    return {
        "basic": _claims(Basic(epsilon=4.0).release(claims(), rng)),
        "histogram": _claims(
            Histogram(epsilon=4.0, bin_width=1.0, claims=9).release(claims(), rng)
        ),
    }


def _plans() -> Any:
    plans = [
        *plan_releases(3.0, bandwidth=0.4, users=200, claims=5, k=80, gamma=4.0),
        *plan_releases(20.0, bandwidth=0.4, users=60, claims=5, k=10, gamma=2.0),
    ]
    return [
        [one.method.k, one.method.gamma, one.method.epsilon0, one.guarantee.epsilon, one.expected]
        for one in plans
    ]


def _experiment() -> Any:
    crowd = qc.make_crowd(tasks=30, workers=8, answers_per_task=4, random_state=8)
    methods = {"majority": qc.MajorityVote(), "weighted-vote": qc.WeightedVote()}
    kinds = [qc.RandomizedResponse, TwoLayerRandomizedResponse]
    run = Experiment(
        dataset=crowd, mechanisms=kinds, epsilons=[1.0], methods=methods, trials=3
    ).run()
    frame = run.frame
    columns = {name: plain(frame[name].to_numpy()) for name in frame.columns}
    return {"columns": columns, "like": _alike()}


def _alike() -> Any:
    """Return what the stand-ins for methods without a public formula do, or why they do not."""
    found = {}
    for kind in (TeslaLike, PrivTDSILike):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", QuietcrowdWarning)
            try:
                reports = MECHANISMS["laplace"].simulate(answers_of("numbers"), random_state=SEED)
                truths = kind().fit(reports).truths_as("pyarrow")["truth"]
                found[kind.__name__] = plain(truths)
            except (QuietcrowdError, TypeError, AttributeError) as error:
                found[kind.__name__] = type(error).__name__
    return found


def _crowds() -> Any:
    made = {
        "synthetic": qc.make_crowd(tasks=20, workers=6, answers_per_task=3, random_state=1),
        "sensors": qc.make_crowd(kind="sensors", tasks=5, workers=4, random_state=1),
        "sparse": qc.make_crowd(kind="sparse", tasks=8, workers=20, random_state=1),
    }
    found = {name: plain(one.answers.values) for name, one in made.items()}
    own = {name: len(answers_of(name)) for name in OF_CROWD}
    return {**found, "own": own, "known": plain(known_of("numbers")["label"].tolist())}
