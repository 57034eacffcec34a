"""Installs PgBouncer from Debian's packages where there is none; starts no server.

Usage: python -m tests.deploy.install_pgbouncer
"""

from tests.campaign.debian import Program
from tests.deploy.pgbouncer import HOW_TO_GET_IT, find_pgbouncer

PGBOUNCER = Program(
    name="PgBouncer",
    package="pgbouncer",
    find=find_pgbouncer,
    how_to_get_it=HOW_TO_GET_IT,
    # no service shall run beside those that the tests start
    before=(["ln", "-sf", "/dev/null", "/etc/systemd/system/pgbouncer.service"],),
)

if __name__ == "__main__":
    PGBOUNCER.provide()
