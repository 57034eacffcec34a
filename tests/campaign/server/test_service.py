import pytest
from tests.campaign.people import check_problem

from quietcrowd.campaign.protocol.problems import ProblemError
from quietcrowd.campaign.server.service import require_state, require_step

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


def test_a_server_says_that_it_is_there(server):
    for path in ("/healthz", "/readyz"):
        answer = server.client().get(path)
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}


def test_a_server_of_which_a_part_has_ended_says_so(start_server):
    own = start_server(infer=True)
    client = own.client()
    assert client.get("/readyz").status_code == 200
    own.service.infer.__self__.close()
    check_problem(client.get("/readyz"), 503, "broken")
    assert client.get("/healthz").status_code == 200
