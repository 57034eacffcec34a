"""Run times on reports, against plain answers: the form of the table."""

from functools import partial

import quietcrowd as qc
from quietcrowd.inference import CRH
from quietcrowd_research.moon2025.fit_times import fit_times


def test_a_row_for_each_epsilon_and_method():
    crowd = qc.make_crowd(kind="sensors", tasks=10, workers=8)
    laplace = partial(qc.LaplaceMechanism, domain=crowd.answers.domain, fill=None)
    frame = fit_times(
        crowd,
        methods={"mean": qc.Mean(), "crh": CRH()},
        plain=CRH(),
        mechanisms={1.0: laplace(epsilon=1.0), 5.0: laplace(epsilon=5.0)},
        trials=2,
        seed=0,
    )
    assert list(zip(frame["claimed_epsilon"], frame["method"], strict=True)) == [
        (1.0, "mean"),
        (1.0, "crh"),
        (5.0, "mean"),
        (5.0, "crh"),
    ]
    assert (frame["times_plain"] > 0).all()
    assert (frame["trials"] == 2).all()
