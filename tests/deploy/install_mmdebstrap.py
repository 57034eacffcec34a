"""Installs mmdebstrap from Debian's packages where there is none.

Usage: python -m tests.deploy.install_mmdebstrap
"""

from tests.campaign.debian import Program
from tests.deploy.container import HOW_TO_GET_IT, find_mmdebstrap

MMDEBSTRAP = Program(
    name="mmdebstrap",
    package="mmdebstrap",
    find=find_mmdebstrap,
    how_to_get_it=HOW_TO_GET_IT,
)

if __name__ == "__main__":
    MMDEBSTRAP.provide()
