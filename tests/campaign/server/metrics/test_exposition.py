import socket

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from tests.campaign.people import PLAIN
from tests.campaign.ports import has_ipv6

from quietcrowd.campaign.server.metrics.exposition import metrics_port
from quietcrowd.campaign.server.metrics.kinds import COMMITS, INFERENCE_LAG, KINDS, REQUESTS, Sample
from quietcrowd.campaign.server.metrics.publishing import Published
from quietcrowd.exceptions import ParameterError

SHOWN = Published(
    counts={
        Sample(COMMITS.name): 40,
        Sample(REQUESTS.name, ("GET", "/api/v1/me", "200")): 60,
        Sample(INFERENCE_LAG.name, (), 0): 2,
        Sample(INFERENCE_LAG.name, (), 3): 1,
    },
    gauges={Sample("quietcrowd_writable"): 1},
)


def published():
    return SHOWN


def test_what_is_published_is_read_as_prometheus_reads_it():
    with metrics_port("127.0.0.1", 0, published) as port:
        text = httpx.get(f"http://127.0.0.1:{port}/metrics", verify=PLAIN).text
    read = list(text_string_to_metric_families(text))
    assert {family.name for family in read} == set(KINDS)
    values = {(one.name, *one.labels.values()): one.value for each in read for one in each.samples}
    assert values["quietcrowd_commits_total",] == 40
    assert values["quietcrowd_requests_total", "GET", "/api/v1/me", "200"] == 60
    assert values["quietcrowd_writable",] == 1
    assert values["quietcrowd_inference_lag_seconds_bucket", "0.1"] == 2
    assert values["quietcrowd_inference_lag_seconds_bucket", "2.5"] == 3
    assert values["quietcrowd_inference_lag_seconds_bucket", "+Inf"] == 3
    assert values["quietcrowd_inference_lag_seconds_count",] == 3


def test_the_port_is_free_again_and_one_that_is_not_is_told_of():
    with metrics_port("127.0.0.1", 0, published) as port:
        told = rf"metrics cannot be served on 127\.0\.0\.1:{port}: .*; take another metrics_port"
        with pytest.raises(ParameterError, match=told), metrics_port("127.0.0.1", port, published):
            pass
    with socket.create_server(("127.0.0.1", port)):
        pass


@pytest.mark.skipif(not has_ipv6(), reason="this machine has no IPv6")
def test_it_may_listen_on_ipv6():
    with metrics_port("::1", 0, published) as port:
        assert httpx.get(f"http://[::1]:{port}/metrics", verify=PLAIN).status_code == 200
