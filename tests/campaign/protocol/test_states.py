import pytest

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.protocol.states import require_state, require_step

STATES = ["draft", "open", "closed"]


@pytest.mark.parametrize("state", STATES)
@pytest.mark.parametrize("wanted", STATES)
def test_a_draft_is_opened_and_what_is_open_is_closed(state, wanted):
    if (state, wanted) in (("draft", "open"), ("open", "closed")):
        require_step(state, wanted)
    else:
        with pytest.raises(ProblemError, match="bad-state"):
            require_step(state, wanted)


def test_states_are_required():
    require_state("open", "open")
    with pytest.raises(ProblemError, match="bad-state"):
        require_state("closed", "open")
