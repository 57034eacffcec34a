"""Whole campaigns in a browser: workers at their page, and a requester at the dashboard."""

import time


def test_smoke(person, desk):
    campaign = desk.campaign(about="smoke")
    worker = person()
    s = time.monotonic()
    worker.open(desk.link(campaign)); print(worker.text(), worker.told)
    worker.join()
    print("played", time.monotonic() - s)
    worker.send()
    print(worker.arrive(), time.monotonic() - s)
    print(worker.told, worker.words)
    for one in worker.wire.sent:
        print(one.method, one.url, len(one.everything))
    print(worker.upload())
    assert 0
