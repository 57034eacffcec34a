"""PrisCrowd against what it is compared with: Table 2, Figures 4 and 5."""

from functools import partial

import attrs
import numpy as np
import pytest
from tests.nightly import by_day

from quietcrowd.datasets import load_dataset, make_crowd
from quietcrowd.exceptions import FormatError, ParameterError
from quietcrowd.synthesis import PrisCrowd
from quietcrowd_research.figure import TablePart
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.huai2019.cases import _curves
from quietcrowd_research.huai2019.crowds import DRAWN, NEAR, REAL, SMALL
from quietcrowd_research.huai2019.density_experiment import DensityExperiment
from quietcrowd_research.huai2019.experiment import (
    BANDWIDTHS,
    HUAI_2019,
    common_methods,
    private_methods,
)
from quietcrowd_research.tables import print_figure
from quietcrowd_research.transforms import log10_dataset, selected_tasks

RELEASED = ("PrisCrowd, as meant", "Uniform, as printed")
BASIC = tuple(f"Basic, {level}" for level in ("0.1", "1", "10"))
UNTESTED = ("no test, combined", "no test, uniform")


def scores(crowd, names, *, trials, bandwidth=None):
    """Return the ISE of some methods on a drawn crowd, and its standard errors."""
    width = bandwidth or crowd.bandwidth
    methods = common_methods(width)
    experiment = DensityExperiment(
        datasets=crowd.datasets(trials, 0),
        truths=crowd.truths,
        methods={name: methods[name] for name in names},
        bandwidth=width,
        trials=trials,
    )
    return experiment.run().set_index("method")


@pytest.mark.nightly
def test_half_of_the_users_unreliable():
    """Combined weights are at least 10 % better, where the bandwidth is the honest spread."""
    found = scores(DRAWN[0], (*RELEASED, *BASIC, "even density"), trials=20)
    ise = found["ise"]
    assert ise[RELEASED[0]] <= 0.9 * ise[RELEASED[1]]
    for name in (*BASIC, "even density"):
        assert ise[RELEASED[0]] < 0.2 * ise[name]
    assert (found.loc[[*RELEASED], "released"] == 1).all()
    assert found["ise_se"].max() < 0.02 * ise.max()


@pytest.mark.nightly
def test_a_narrow_bandwidth_turns_the_comparison_round():
    """With Silverman's bandwidth for honest claims, equal weights are the better ones."""
    ise = scores(DRAWN[0], RELEASED, trials=10, bandwidth=BANDWIDTHS[0])["ise"]
    assert ise[RELEASED[0]] > 1.02 * ise[RELEASED[1]]


@pytest.mark.nightly
def test_a_fifth_of_the_users_unreliable():
    """The test filters by itself: weights help without it, and hardly with it."""
    ise = scores(DRAWN[1], (*RELEASED, *UNTESTED), trials=10)["ise"]
    assert ise[UNTESTED[0]] < 0.7 * ise[UNTESTED[1]]
    assert 0.9 < ise[RELEASED[0]] / ise[RELEASED[1]] < 1.1
    assert ise[RELEASED[1]] < ise[UNTESTED[0]]


def test_equal_losses():
    """Baselines at the claim, and at the exact loss, of the release they stand beside."""
    crowd = DRAWN[0]
    experiment = DensityExperiment(
        datasets=crowd.datasets(2, 0),
        truths=crowd.truths,
        methods=private_methods(crowd.bandwidth, 20, 20),
        bandwidth=crowd.bandwidth,
        trials=2,
    )
    frame = experiment.run().set_index("method")
    assert frame.loc["repaired, epsilon0 4", "delta"] == 1e-6
    loss = frame.loc["repaired, epsilon0 4", "epsilon"]
    assert 100 < loss < 1000
    claim = frame.loc["repaired, uniform", "claimed_epsilon"]
    for name in ("Basic", "Histogram"):
        assert frame.loc[f"{name}, equal loss", "epsilon"] == pytest.approx(loss, rel=1e-6)
        assert frame.loc[f"{name}, equal claim", "epsilon"] == pytest.approx(claim, rel=1e-6)
    assert frame.loc["same, one claim", "epsilon"] < 12
    assert np.isinf(frame.loc["repaired, uniform", "epsilon"]), "of 20 claims, at this delta"
    assert frame["released"].between(0, 1).all()


SENTENCES = ("huai2019-test", "huai2019-3-weights")
"""Tables of what the text says without a figure."""


@pytest.mark.nightly
@pytest.mark.parametrize("name", SENTENCES)
def test_what_the_text_says_is_told_in_a_table(name, capsys):
    figure = FIGURES[name]
    result = attrs.evolve(figure, parts=figure.quick or figure.parts).run(trials=2, seed=1)
    print_figure(result)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    assert len(lines) > len(result.frame)
    for score in figure.scores:
        assert result.frame[score].notna().any()


@pytest.fixture
def quick(monkeypatch):
    """Make every crowd small, and the real ones drawn."""

    def small(trials, seed):
        return [
            make_crowd(kind="opinions", tasks=8, workers=12, random_state=seed + trial)
            for trial in range(trials)
        ]

    def shrunk(crowd):
        return attrs.evolve(crowd, datasets=small, bandwidth=1.0)

    monkeypatch.setattr("quietcrowd_research.huai2019.experiment.DRAWN", tuple(map(shrunk, DRAWN)))
    monkeypatch.setattr("quietcrowd_research.huai2019.experiment.REAL", tuple(map(shrunk, REAL)))
    monkeypatch.setattr("quietcrowd_research.huai2019.experiment.NUMBERS", (1, 5))


BY_DAY = ("huai2019-3", "huai2019-4", "huai2019-table-2")
"""Two pictures and a table; the other tables differ in a bandwidth or a trial."""


@pytest.mark.grid
@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", by_day(BY_DAY, [name for name in HUAI_2019 if name not in SENTENCES])
)
@pytest.mark.usefixtures("quick")
def test_tables_and_pictures(name, tmp_path, capsys):
    figure = FIGURES[name]
    result = attrs.evolve(figure, parts=figure.quick or figure.parts).run(trials=2, seed=1)
    if figure.lines == "table":
        result = attrs.evolve(result, figure=attrs.evolve(figure, tell=None))
    else:
        result.plot(tmp_path / "figure.png")
        assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    print_figure(result)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for method in set(result.frame["method" if "method" in result.frame else "weights"]):
        assert any(method in line for line in lines), method
    assert result.frame["dataset"].nunique() == (4 if name == "huai2019-5" else 1)
    for score in figure.scores:
        assert not result.frame[score].isna().any()
        assert (result.frame[f"{score}_se"] >= 0).all()
    if figure.lines == "density" and figure.across != "method":
        assert result.frame[figure.across].nunique() == (2 if name == "huai2019-5" else 3)
    assert bool(result.skipped) == name.endswith(("silverman", "mad"))


@pytest.mark.nightly
def test_densities_of_single_tasks_are_drawn(tmp_path, capsys):
    """Each panel has the densities by all weights and the true one; what is printed is short."""
    parts = [
        TablePart(columns={"dataset": crowd.name}, measure=partial(_curves, crowd, 3))
        for crowd in (SMALL, DRAWN[1])
    ]
    result = attrs.evolve(FIGURES["huai2019-3"], parts=lambda *_: parts).run(trials=2)
    result.plot(tmp_path / "figure.svg")
    assert "claim of low weight" in (tmp_path / "figure.svg").read_text()
    frame = result.frame[result.frame["kind"] == "density"]
    for _, curve in frame.groupby(["dataset", "task"]):
        for kind in ("combined", "global", "uniform"):
            assert np.trapezoid(curve[kind], curve["x"]) == pytest.approx(1, abs=0.01)
    print_figure(result)
    assert len(capsys.readouterr().out.splitlines()) == 6 + 4


def test_printed_weights_favour_outliers():
    """Hampel's loss rises with the distance: what lies apart weighs most, against the text."""
    crowd = make_crowd(kind="opinions", tasks=20)
    density = PrisCrowd(release="paper", epsilon0=1.0, bandwidth=1.0).fit(crowd.answers)
    unreliable = density.claims.worker_codes >= 10
    for kind, more in (("combined", False), ("printed", True)):
        weights = density.claim_weights(kind)
        assert (weights[unreliable].mean() > weights[~unreliable].mean()) == more


@pytest.mark.nightly
def test_the_seed_says_it_all():
    one, other = (scores(DRAWN[0], RELEASED, trials=2) for _ in range(2))
    assert one.equals(other)


def test_a_single_trial_has_no_standard_error():
    with pytest.raises(ParameterError, match="trials"):
        scores(DRAWN[0], RELEASED, trials=1)


@pytest.mark.nightly
def test_real_sets_are_asked_for_by_name(monkeypatch):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    with pytest.raises(FormatError, match="population: this directory does not exist"):
        FIGURES["huai2019-5"].run(trials=2)


@pytest.mark.nightly
def test_real_sets(data_folder):  # noqa: ARG001
    """Of the two true densities, the claims near the truth give the order of Table 2."""
    population = REAL[0]
    dataset = population.datasets(2, 0)[0]
    assert len(dataset.answers.tasks) == 194
    assert dataset.answers.answers_per_task.min() == 5
    methods = common_methods(population.bandwidth)
    frame = DensityExperiment(
        datasets=[dataset],
        truths=population.truths,
        methods={name: methods[name] for name in (*RELEASED, *reversed(BASIC))},
        bandwidth=population.bandwidth,
        trials=5,
    ).run()
    near, every = (
        frame[frame["truth"] == truth].set_index("method")["ise"] for truth in (NEAR, "all claims")
    )
    assert near.is_monotonic_increasing
    assert every[RELEASED[0]] > every[RELEASED[1]]
    assert every.drop(RELEASED[0]).is_monotonic_increasing
    known = selected_tasks(log10_dataset(load_dataset("population")), least_answers=5, known=True)
    assert len(known.answers.tasks) == 43
