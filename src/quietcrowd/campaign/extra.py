"""Optional dependencies of campaigns."""

from importlib.util import find_spec

from quietcrowd.exceptions import MissingExtraError

_SERVER = (
    "alembic",
    "fastapi",
    "prometheus_client",
    "pydantic",
    "pydantic_settings",
    "sqlalchemy",
    "uvicorn",
)


def require_server() -> None:
    """Raise MissingExtraError unless the packages of a server are installed."""
    _require(_SERVER, "a campaign's server needs a web server and a database")


def require_client() -> None:
    """Raise MissingExtraError unless the packages of a client are installed."""
    _require(("httpx", "platformdirs"), "campaigns need an HTTP client")


def require_qr_codes() -> None:
    """Raise MissingExtraError unless the package that draws QR codes is installed."""
    _require(("segno",), "QR codes need an encoder")


def _require(names: tuple[str, ...], what: str) -> None:
    if any(find_spec(name) is None for name in names):
        raise MissingExtraError("extras.missing", subject=what, extra="campaign")
