import subprocess
import sys

import pytest

import quietcrowd as qc
from quietcrowd.privacy.mechanism_access import check_mechanism, check_reports, read_mechanism

MECHANISM = qc.RandomizedResponse(domain=qc.Categorical(["no", "yes"]), epsilon=1.0)


def test_mechanisms_and_what_is_none():
    check_mechanism(MECHANISM)
    assert read_mechanism(MECHANISM.to_dict()) == MECHANISM
    for junk in (None, "one-layer", qc.RandomizedResponse, MECHANISM.to_dict()):
        with pytest.raises(qc.ParameterError, match="mechanism must be a Mechanism"):
            check_mechanism(junk)
    with pytest.raises(qc.ParameterError, match=r"reports must be Reports.*got RandomizedResponse"):
        check_reports(MECHANISM)


def test_a_ledger_is_read_where_no_mechanism_was_loaded():
    text = qc.PrivacyLedger().charge("ann", MECHANISM, answers=3).to_json()
    code = (
        "import sys\n"
        "from quietcrowd.privacy.accountant import PrivacyLedger\n"
        "assert 'quietcrowd.mechanisms' not in sys.modules\n"
        "print(PrivacyLedger.from_json(sys.argv[1]).to_json() == sys.argv[1])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, text], check=True, capture_output=True, text=True
    )
    assert done.stdout == "True\n"
