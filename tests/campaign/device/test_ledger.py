import json
import threading

import pytest
from tests.campaign.mechanisms import MECHANISMS
from tests.removed_mechanism import REMOVED, SENTENCE

from quietcrowd import PrivacyLedger
from quietcrowd.campaign.device.ledger import Budget, Cost, DeviceLedger
from quietcrowd.exceptions import FormatError, ParameterError, RemovedMechanismError

ONE = MECHANISMS["one-layer"]
EVERY = MECHANISMS["one-layer with NULL"]
FREE = Budget()


def cost(campaign, mechanism, count):
    return Cost(campaign=campaign, mechanism=mechanism, count=count)


@pytest.fixture
def ledger(tmp_path):
    return DeviceLedger(path=tmp_path / "ledger.json")


def test_a_campaign_is_charged_once(ledger):
    assert ledger.read() == PrivacyLedger()
    for answers in (0, 2, 3, 3):
        ledger.charge(cost("spring", ONE, answers))
    assert ledger.charged("spring")
    assert not ledger.charged("autumn")
    assert ledger.spent(0.0).total_epsilon == pytest.approx(2)
    assert ledger.spent_after([cost("spring", ONE, 5)], 0.0).total_epsilon == pytest.approx(2)
    assert ledger.spent_after([cost("autumn", ONE, 5)], 0.0).total_epsilon == pytest.approx(7)
    assert ledger.path.stat().st_mode & 0o777 == 0o600


def test_what_is_above_the_budget_is_refused(ledger):
    budget = Budget(most=4, delta=0.0)
    ledger.charge(cost("spring", ONE, 3))
    with pytest.raises(
        ParameterError, match=r"used epsilon = 3 of a budget of 4 .* give fewer answers"
    ):
        ledger.require(cost("autumn", ONE, 2), budget)
    with pytest.raises(ParameterError, match=r"\(5\) would .* Increase the budget, or"):
        ledger.require(cost("autumn", EVERY, 5), budget)
    with pytest.raises(ParameterError, match=r"a budget of 0 at delta = 1e-06"):
        ledger.require(cost("autumn", ONE, 1), Budget(most=0, delta=1e-6))
    ledger.require(cost("autumn", ONE, 1), budget)
    ledger.require(cost("autumn", EVERY, 0), Budget(most=0))
    ledger.require(cost("spring", ONE, 3), Budget(most=0))  # it was charged before


def test_a_budget_counts_for_a_device_that_decides_as_it_goes(ledger):
    """Fifty answers of epsilon 1 are 47.65 at delta 1e-6 where they were fixed beforehand alone."""
    budget = Budget(most=48, delta=1e-6)
    assert ledger.spent_after([cost("spring", ONE, 50)], 1e-6).total_epsilon < 48
    assert ledger.used_after([cost("spring", ONE, 50)], budget) == pytest.approx(50)
    with pytest.raises(ParameterError, match=r"\(50\) would increase it to 50"):
        ledger.require(cost("spring", ONE, 50), budget)
    assert ledger.affordable(cost("spring", ONE, 50), budget) == 48
    assert ledger.used_after([cost("spring", ONE, 50)], FREE) == 0


@pytest.mark.parametrize("delta", [0.0, 1e-3])
def test_as_many_answers_are_affordable_as_can_be_charged(ledger, delta):
    ledger.charge(cost("spring", ONE, 3))
    budget = Budget(most=12.5, delta=delta)
    most = ledger.affordable(cost("autumn", ONE, 40), budget)
    assert most == 9 if not delta else 9 <= most < 40
    ledger.require(cost("autumn", ONE, most), budget)
    with pytest.raises(ParameterError):
        ledger.require(cost("autumn", ONE, most + 1), budget)
    assert ledger.affordable(cost("autumn", ONE, 7), budget) == 7
    assert ledger.affordable(cost("autumn", ONE, 40), FREE) == 40
    assert ledger.affordable(cost("spring", ONE, 40), Budget(most=0)) == 40, "it was charged before"


def test_where_no_answer_is_affordable_there_is_none(ledger):
    with pytest.raises(ParameterError, match=r"\(1\) would .* Increase the budget, or do not"):
        ledger.affordable(cost("spring", ONE, 5), Budget(most=0.5))
    with pytest.raises(ParameterError, match=r"reports of this campaign \(5\)"):
        ledger.affordable(cost("spring", EVERY, 5), Budget(most=4))
    assert ledger.affordable(cost("spring", EVERY, 5), Budget(most=5)) == 5


def test_many_at_once_do_not_spend_the_same(ledger):
    refused = []

    def spend(place):
        try:
            with ledger.held():
                ledger.require(cost(f"campaign {place}", ONE, 1), Budget(most=5))
                ledger.charge(cost(f"campaign {place}", ONE, 1))
        except ParameterError as error:
            refused.append(error)

    threads = [threading.Thread(target=spend, args=(place,)) for place in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert ledger.spent(0.0).total_epsilon == pytest.approx(5)
    assert len(refused) == 7


@pytest.mark.parametrize("content", [b"", b"{}", b"\xff", b"[1"])
def test_a_damaged_ledger_stops_everything(ledger, content):
    ledger.path.write_bytes(content)
    ledger.path.chmod(0o600)
    with pytest.raises(FormatError, match=r"ledger.json: .* Restore it from a copy"):
        ledger.charge(cost("spring", ONE, 1))
    assert ledger.path.read_bytes() == content


def test_a_ledger_is_for_its_owner_alone(ledger):
    ledger.charge(cost("spring", ONE, 1))
    ledger.path.chmod(0o644)
    with pytest.raises(FormatError, match="chmod 600"):
        ledger.spent(0.0)


def test_a_charge_of_a_removed_mechanism_stops_everything_and_says_why(ledger):
    ledger.charge(cost("spring", ONE, 1))
    content = json.loads(ledger.path.read_text())
    content["mechanisms"].append(REMOVED)
    content["charges"].append(["this device", "summer", 1, 4])
    ledger.path.write_text(json.dumps(content))
    with pytest.raises(RemovedMechanismError, match=rf"ledger.json: {SENTENCE}") as raised:
        ledger.charge(cost("autumn", ONE, 1))
    assert "use another directory with --folder" in str(raised.value)
    assert "Restore it from a copy" not in str(raised.value)
