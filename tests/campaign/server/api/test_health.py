from tests.campaign.people import check_problem


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
