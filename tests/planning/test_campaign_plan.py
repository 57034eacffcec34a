import json
import math

import pytest

from quietcrowd.planning import CampaignPlan, PlanRow


def row(workers=10, answers=5, error=0.2, epsilon=1.0, mechanism="one-layer"):
    return PlanRow(
        mechanism=mechanism,
        epsilon=epsilon,
        worker_epsilon=epsilon * answers,
        workers=workers,
        answers=answers,
        error=error,
        standard_error=0.01,
        low=error - 0.1,
        high=error + 0.1,
        constant=0.5,
    )


def plan(*rows, target=None):
    return CampaignPlan(
        rows=rows, tasks=50, score="error_rate", assumed="a crowd", target=target, draws=3
    )


PLAIN = row(mechanism="none", epsilon=math.inf, error=0.05)


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


@pytest.mark.slow
def test_a_plan_is_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    plan(row(), row(epsilon=2.0), row(20), PLAIN, row(20, mechanism="none"), target=0.1).plot(
        tmp_path / "plan.png"
    )
    assert (tmp_path / "plan.png").read_bytes()[:4] == b"\x89PNG"
