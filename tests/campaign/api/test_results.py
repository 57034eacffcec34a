from tests.campaign.people import check_problem


def test_an_inference_can_be_asked_for(desk):
    campaign = desk.campaign()
    asked = desk.client.post(f"/campaigns/{campaign}/inferences")
    assert (asked.status_code, asked.json()) == (202, {"campaign": campaign})
    draft = desk.draft()["id"]
    check_problem(desk.client.post(f"/campaigns/{draft}/inferences"), 409, "bad-state")


def test_there_are_no_results_without_reports(desk):
    check_problem(desk.client.get(f"/campaigns/{desk.campaign()}/results"), 409, "no-results")
