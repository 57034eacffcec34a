"""What the tests of commands that speak to a server share with those of the service."""

from tests.campaign.conftest import (
    database_url,
    log_as_before,
    postgresql_server,
    pytest_generate_tests,
    server,
)

__all__ = ["database_url", "log_as_before", "postgresql_server", "pytest_generate_tests", "server"]
