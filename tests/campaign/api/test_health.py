def test_a_server_says_that_it_is_there(server):
    for path in ("/healthz", "/readyz"):
        answer = server.client().get(path)
        assert answer.status_code == 200
        assert answer.json() == {"status": "ok"}
