"""Installs Prometheus from Debian's packages where there is none; starts no server.

Usage: python -m tests.campaign.install_prometheus
"""

from tests.campaign.debian import Program
from tests.campaign.prometheus import HOW_TO_GET_IT, find_prometheus

PROMETHEUS = Program(
    name="Prometheus",
    package="prometheus",
    find=find_prometheus,
    how_to_get_it=HOW_TO_GET_IT,
    # no service shall run beside those that the tests start
    before=(["ln", "-sf", "/dev/null", "/etc/systemd/system/prometheus.service"],),
)

if __name__ == "__main__":
    PROMETHEUS.provide()
