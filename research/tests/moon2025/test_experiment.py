"""The figures that compare methods for numbers."""

import attrs
import numpy as np
import pytest
from tests.nightly import nightly

from quietcrowd.exceptions import FormatError
from quietcrowd.inference import METHODS as ALL_METHODS
from quietcrowd.report_domains import Reals
from quietcrowd_research.figure import FigureResult, Part
from quietcrowd_research.figures import FIGURES
from quietcrowd_research.moon2025.experiment import METHODS
from quietcrowd_research.tables import print_figure

DRAWN = FIGURES["moon2025-3-drawn"]


@pytest.fixture(scope="module")
def drawn():
    """Return the figure of drawn crowds at one epsilon."""

    def parts(trials, seed):
        return [
            Part(
                columns=part.columns,
                experiment=lambda part=part: attrs.evolve(part.experiment(), epsilons=[5.0]),
            )
            for part in DRAWN.parts(trials, seed)
        ]

    return attrs.evolve(DRAWN, parts=parts).run(trials=2)


def test_every_method_for_numbers_is_compared():
    named = {name.split(":")[0] for name in METHODS}
    numeric = {name for name, kind in ALL_METHODS.items() if not kind().infers_labels(Reals())}
    assert named == numeric - {"ratio-mean"} | {"tesla-like"}


@pytest.mark.nightly
def test_moon_is_between_the_others_and_who_knows_every_sigma(drawn):
    private = drawn.frame[drawn.frame["mechanism"] != "none"].set_index(["dataset", "method"])
    for dataset in ("60 x 100, all", "200 x 100, 20 %"):
        score = private.loc[dataset, "mae"]
        assert score["every sigma known"] < 1.02 * score["moon"]
        assert score["moon"] < 0.9 * score["crh"]
        assert score["moon"] < 0.9 * score["mean"]
        assert np.isfinite(score).all()
        assert {"privtdsi-like, crh", "privtdsi-like, moon"} <= set(score.index)
        rmse, distance = private.loc[dataset, "rmse"], private.loc[dataset, "weight_distance"]
        assert (rmse >= score).all()
        assert distance["mean"] == distance["median"] == 0
        assert 0 < distance["moon"] < 1
        assert np.isnan(distance["tesla-like"]), "it reads no plain answers"


@pytest.mark.nightly
@pytest.mark.nightly
def test_the_budget_of_sampling_is_that_of_the_others(drawn):
    rows = drawn.frame[drawn.frame["dataset"] == "60 x 100, all"].set_index("mechanism")
    assert rows.loc["laplace", "exact_epsilon_mean"].max() <= 5.0
    assert rows.loc["privtdsi-like", "exact_epsilon_mean"].max() == pytest.approx(20.0, abs=0.01)
    sampling = DRAWN.parts(2, 0)[1].experiment()
    maker = sampling.mechanisms["privtdsi-like"]
    mechanism = maker(domain=sampling.dataset[0].answers.domain, epsilon=5.0)
    assert mechanism.guarantee(answers=100).total_epsilon == pytest.approx(500.0, rel=1e-3)


@pytest.mark.grid
@pytest.mark.nightly
@pytest.mark.parametrize(
    "name", [nightly("moon2025-3-drawn"), "moon2025-3-drawn-rmse", "moon2025-4-drawn"]
)
def test_tables_and_pictures(drawn, name, tmp_path, capsys):
    result = FigureResult(figure=FIGURES[name], frame=drawn.frame)
    result.plot(tmp_path / "figure.png")
    assert (tmp_path / "figure.png").read_bytes().startswith(b"\x89PNG")
    print_figure(result)
    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= 80
    for method in (*METHODS, "every sigma known", "privtdsi-like, crh"):
        shown = sum(line.strip().startswith(f"{method} ") for line in lines)
        no_weights = name == "moon2025-4-drawn" and method in ("tesla-like", "every sigma known")
        assert shown == (0 if no_weights else 2), method
    guesses = sum("constant guess" in line for line in lines)
    assert guesses == (0 if name.startswith("moon2025-4") else 2)


def test_real_sets_are_asked_for_by_name(monkeypatch):
    monkeypatch.delenv("QUIETCROWD_DATA", raising=False)
    with pytest.raises(FormatError, match="emotion: this directory does not exist"):
        FIGURES["moon2025-3"].run(trials=2)


@pytest.mark.nightly
def test_real_sets(data_folder):  # noqa: ARG001
    parts = {part.columns["dataset"]: part for part in FIGURES["moon2025-3"].parts(2, 0)}
    assert list(parts) == [
        "emotion",
        "weather_temperature",
        "flight_20111201",
        "flight, standardised",
        "population, log10",
    ]
    drawn = "moon:truth_prior=normal"
    names = {name: METHODS[name] for name in ("median", "crh", "moon", drawn)}
    for name in ("emotion", "population, log10"):
        experiment = attrs.evolve(parts[name].experiment(), epsilons=[5.0], methods=names)
        frame = experiment.run().frame
        assert np.isfinite(frame["mae"]).all()
        score = frame[frame["mechanism"] != "none"].set_index("method")["mae"]
        constant = frame.set_index("method").loc["constant", "mae"]
        assert score["moon"] < score["crh"]
        assert score[drawn] < constant
        assert score[drawn] < score["moon"]
