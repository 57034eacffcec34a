from tests.planning.test_campaign_plan import PLAIN, row


def test_a_row_that_does_no_better_than_a_guess_is_useless():
    assert row(error=0.5).useless
    assert not row().useless


def test_a_row_without_a_mechanism_has_no_loss_in_json():
    assert not PLAIN.private
    assert PLAIN.to_dict()["epsilon"] is None
    assert row().to_dict()["worker_epsilon"] == 5.0
