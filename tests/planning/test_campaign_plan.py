import json
import math

import pytest

from quietcrowd.planning import CampaignPlan, PlanRow


def row(workers=10, answers=5, error=0.2, epsilon=1.0, mechanism="one-layer", **more):
    return PlanRow(
        mechanism=mechanism,
        epsilon=epsilon,
        total_epsilon=epsilon * answers,
        workers=workers,
        tasks=50,
        answers=answers,
        score="error_rate",
        error=error,
        standard_error=0.01,
        low=error - 0.1,
        high=error + 0.1,
        constant=0.5,
        **more,
    )


def plan(*rows, target=None):
    return CampaignPlan(
        rows=rows,
        tasks=50,
        score="error_rate",
        assumed="a crowd",
        floor=0.1,
        target=target,
        draws=3,
    )


PLAIN = row(mechanism="none", epsilon=math.inf, error=0.05)


def test_a_row_that_does_no_better_than_a_guess_is_useless():
    assert row(error=0.4).useless
    assert not row(error=0.39).useless
    assert not row(error=0.4, many_high=0.49).useless
    assert row(error=0.4).to_dict()["useless"]
    assert [row(error=error).standing for error in (0.25, 0.26, 0.4)] == ["good", "weak", "useless"]
    assert row(error=0.26).to_dict()["heading"] == "Only somewhat better than guessing"
    assert row(error=0.4).verdict == row(error=0.4).to_dict()["verdict"]


def test_a_row_without_a_mechanism_has_no_loss_in_json():
    assert not PLAIN.private
    assert PLAIN.to_dict()["epsilon"] is None
    assert row().to_dict()["total_epsilon"] == 5.0


def test_the_cheapest_rows_that_reach_the_target_come_first():
    dear, cheap, bad = row(20), row(10, epsilon=2.0), row(5, error=0.3)
    careful = row(10, epsilon=1.5)
    found = plan(dear, cheap, bad, careful, PLAIN, target=0.2)
    assert found.meeting == (careful, cheap, dear)
    assert plan(dear, PLAIN).meeting == ()


def test_the_best_row_is_private_and_loses_least_among_equals():
    assert plan(row(epsilon=2.0), row(epsilon=1.0), PLAIN).best == row(epsilon=1.0)


def test_json_has_no_infinity():
    told = json.loads(json.dumps(plan(row(), PLAIN, target=0.3).to_dict(), allow_nan=False))
    assert told["rows"][1]["epsilon"] is None
    assert told["meeting"] == [told["rows"][0]]


def test_the_frame_has_a_row_for_each():
    assert list(plan(row(), PLAIN).frame["mechanism"]) == ["one-layer", "none"]


def test_every_line_is_named_and_what_there_is_beside_it():
    pytest.importorskip("matplotlib")
    found = plan(row(), row(epsilon=2.0), row(20), PLAIN, row(20, mechanism="none"), target=0.1)
    [axes] = found.plot().axes
    names = axes.get_legend_handles_labels()[1]
    assert names == [
        "10 workers, 5 answers each",
        "20 workers, 5 answers each",
        "constant guess",
        "target",
        "not private",
    ]
