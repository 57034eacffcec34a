"""Installs Caddy from Debian's packages where there is none; starts no server.

Usage: python -m tests.deploy.install_caddy
"""

from tests.campaign.debian import Program
from tests.deploy.caddy import HOW_TO_GET_IT, find_caddy

CADDY = Program(
    name="Caddy",
    package="caddy",
    find=find_caddy,
    how_to_get_it=HOW_TO_GET_IT,
    # no service shall run beside those that the tests start
    before=(["ln", "-sf", "/dev/null", "/etc/systemd/system/caddy.service"],),
)

if __name__ == "__main__":
    CADDY.provide()
