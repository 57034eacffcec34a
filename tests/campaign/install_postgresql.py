"""Installs PostgreSQL's programs from Debian's packages where there are none; starts no server.

Usage: python -m tests.campaign.install_postgresql
"""

from pathlib import Path

from tests.campaign.debian import Program
from tests.campaign.postgresql import HOW_TO_GET_IT, find_programs

NO_CLUSTER = Path("/etc/postgresql-common/createcluster.d/no-main-cluster.conf")

POSTGRESQL = Program(
    name="PostgreSQL",
    package="postgresql",
    find=find_programs,
    how_to_get_it=HOW_TO_GET_IT,
    before=(
        # no server shall run beside those that the tests start
        ["mkdir", "-p", str(NO_CLUSTER.parent)],
        ["sh", "-c", f"echo 'create_main_cluster = false' > {NO_CLUSTER}"],
    ),
)

if __name__ == "__main__":
    POSTGRESQL.provide()
