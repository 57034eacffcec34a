"""The application, and the process that serves it."""

from __future__ import annotations

import gc
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any

import uvicorn
from fastapi import FastAPI

from quietcrowd import __version__
from quietcrowd.campaign.server.api import ROUTES
from quietcrowd.campaign.server.arrivals import Arrivals
from quietcrowd.campaign.server.erasing import Eraser
from quietcrowd.campaign.server.in_flight import InFlight
from quietcrowd.campaign.server.inference_jobs import InferenceJobs
from quietcrowd.campaign.server.logs import log_what_nobody_catches, start_log
from quietcrowd.campaign.server.middleware import Gate
from quietcrowd.campaign.server.problem_responses import HANDLERS
from quietcrowd.campaign.server.rate_limits import RateLimits
from quietcrowd.campaign.server.service import Service
from quietcrowd.campaign.server.shedding import shedding_protocol
from quietcrowd.campaign.server.writer import Writer
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.terms.settings import MAX_AT_ONCE, PREFIX, Settings, place_of
from quietcrowd.campaign.web import router as pages
from quietcrowd.exceptions import ParameterError

__all__ = ["create_app", "listener", "listening", "serve"]

_GRACE = 5
"""Seconds that requests have to end in, once the server is to end."""

_NOT_STARTED = 3
"""The status with which the process ends where the application did not start."""

_SILENT = {
    "auto_configure": False,
    "logs": False,
    "metrics": False,
    "operation_spans": False,
    "tracing": False,
}


def create_app(settings: Settings, database: Database) -> FastAPI:
    """Return the application.

    Parameters
    ----------
    settings : Settings
        Of the server.
    database : Database
        As `ready_database` gives it; closed when the application ends.
    """
    app = FastAPI(
        title="quietcrowd campaigns",
        version=__version__,
        openapi_url=f"{PREFIX}/openapi.json",
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(settings, database),
        exception_handlers=HANDLERS,
        redirect_slashes=False,
        telemetry=_SILENT,  # type: ignore[arg-type]
    )
    app.router.routes.extend(ROUTES)  # what is included as a router is searched several times
    app.router.routes.extend(pages.routes)
    limits = RateLimits(rate=settings.requests_per_second, burst=settings.burst)
    in_flight = InFlight(requests=settings.at_once, size=MAX_AT_ONCE, each=settings.at_once_each)
    app.state.arrivals = Arrivals()
    app.add_middleware(
        Gate,
        limits=limits,
        in_flight=in_flight,
        arrivals=app.state.arrivals,
        always=f"{PREFIX}/healthz",
    )
    return app


def _lifespan(
    settings: Settings, database: Database
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        eraser = Eraser(database=database)
        jobs = _jobs(settings, database)
        infer = _nothing if jobs is None else jobs.request
        writer = Writer(database=database, changed=infer)
        parts = [part for part in (eraser, jobs, writer) if part is not None]
        app.state.service = Service(
            database=database,
            writer=writer,
            infer=infer,
            alive=lambda: all(part.alive for part in parts),
        )
        try:
            yield
        finally:
            writer.close()
            if jobs is not None:
                jobs.close()
            eraser.close()
            database.close()

    return lifespan


def _jobs(settings: Settings, database: Database) -> InferenceJobs | None:
    if not settings.infer:
        return None
    return InferenceJobs(
        database=database, debounce=settings.debounce, longest=settings.longest_inference
    )


def _nothing(_: bytes) -> None:
    """Infer nothing."""


def serve(settings: Settings, tell: Callable[[int], None] | None = None) -> None:
    """Serve until the process is told to end.

    Parameters
    ----------
    settings : Settings
        Of the server; port 0 takes a free one.
    tell : callable, optional
        Is given the port as soon as the database is ready and requests can come.

    Raises
    ------
    ParameterError, FormatError
        As of `ready_database` and `listener`.
    """
    with ready_database(settings) as database, listener(settings) as found:
        if tell is not None:
            tell(found.getsockname()[1])
        start_log()
        log_what_nobody_catches()
        app = create_app(settings, database)
        config = uvicorn.Config(app, **listening(settings, app.state.arrivals))
        server = uvicorn.Server(config)
        gc.freeze()  # what stays anyway is not searched for garbage: uploads would wait for that
        with suppress(KeyboardInterrupt):
            server.run([found])
    if not server.started:
        raise SystemExit(_NOT_STARTED)


def listener(settings: Settings) -> socket.socket:
    """Return a socket that listens where a server is to.

    Raises
    ------
    ParameterError
        Where nobody can listen there.
    """
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        found = socket.create_server((settings.host, settings.port), family=family)
    except OSError as error:
        raise ParameterError(
            f"cannot listen on {place_of(settings.host, settings.port)}: {error.strerror}; take "
            "another port"
        ) from None
    # asyncio does so only where a socket names its protocol: an answer is two packets, and the
    # second would wait 40 ms for the first to be confirmed
    found.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return found


def listening(settings: Settings, arrivals: Arrivals) -> dict[str, Any]:
    """Return how uvicorn is to serve an application: it logs nothing of its own."""
    return {
        "host": settings.host,
        "port": settings.port,
        "access_log": False,
        "log_config": None,
        "http": shedding_protocol(settings.at_once, arrivals),
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": _GRACE,
        "timeout_keep_alive": 30,
    }
