from tests.campaign.people import check_problem

from quietcrowd.campaign.results.inference_process import Inferrer


def test_an_inference_can_be_asked_for(desk):
    campaign = desk.campaign()
    asked = desk.client.post(f"/campaigns/{campaign}/inferences")
    assert (asked.status_code, asked.json()) == (202, {"campaign": campaign})
    draft = desk.draft()["id"]
    check_problem(desk.client.post(f"/campaigns/{draft}/inferences"), 409, "bad-state")


def test_there_are_no_results_without_reports(desk):
    check_problem(desk.client.get(f"/campaigns/{desk.campaign()}/results"), 409, "no-results")


def test_results_that_are_known_are_not_sent_again(server, desk):
    campaign = desk.campaign(join_mode="open")
    desk.worker(campaign).send_values(1, 0)
    Inferrer(server.database).infer(bytes.fromhex(campaign))
    url = f"/campaigns/{campaign}/results"
    etag = desk.client.get(url).headers["etag"]
    for known, status in (
        (etag, 304),
        (f'"a", {etag}', 304),
        ("*", 304),
        ('"*"', 200),
    ):
        assert desk.client.get(url, headers={"If-None-Match": known}).status_code == status
