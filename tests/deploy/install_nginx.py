"""Installs nginx from Debian's packages where there is none; starts no server.

Usage: python -m tests.deploy.install_nginx
"""

from tests.campaign.debian import Program
from tests.deploy.nginx import HOW_TO_GET_IT, find_nginx

NGINX = Program(
    name="nginx",
    package="nginx-light",
    find=find_nginx,
    how_to_get_it=HOW_TO_GET_IT,
    # no service shall run beside those that the tests start
    before=(["ln", "-sf", "/dev/null", "/etc/systemd/system/nginx.service"],),
)

if __name__ == "__main__":
    NGINX.provide()
