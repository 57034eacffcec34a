"""The campaign service: a server that hands out tasks and takes in randomised reports.

It stores of a worker a pseudonym, the hash of what was consented to, and reports: nothing that
tells who sent them, from where, when, or in which order. See ``docs/campaigns.md``.
"""

from importlib.util import find_spec

from quietcrowd.exceptions import MissingExtraError

_NEEDED = ("alembic", "fastapi", "pydantic", "sqlalchemy", "uvicorn")

if any(find_spec(name) is None for name in _NEEDED):
    raise MissingExtraError("campaigns need a web server: pip install 'quietcrowd[campaign]'")

__all__: list[str] = []
