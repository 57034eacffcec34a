"""The application, and the process or thread that serves it."""

from __future__ import annotations

import gc
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from threading import Thread
from typing import Any

import uvicorn
from attrs import frozen
from fastapi import FastAPI

from quietcrowd import __version__
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.server.api import ROUTES
from quietcrowd.campaign.server.connections import shedding_protocol
from quietcrowd.campaign.server.gate import Gate, IncomingBodies, InFlight, RateLimits
from quietcrowd.campaign.server.inference_jobs import InferenceJobs
from quietcrowd.campaign.server.logs import log_what_nobody_catches, start_log
from quietcrowd.campaign.server.problem_responses import HANDLERS
from quietcrowd.campaign.server.retention import RetentionKeeper
from quietcrowd.campaign.server.service import Service
from quietcrowd.campaign.server.sources import JoinLimits
from quietcrowd.campaign.server.writer import JournalEraser, Writer
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.departures import Departures
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.terms.settings import MAX_AT_ONCE, PREFIX, Settings, place_of
from quietcrowd.campaign.web.pages import router as pages
from quietcrowd.exceptions import ParameterError

__all__ = [
    "BackgroundServer",
    "create_app",
    "listener",
    "listening",
    "serve",
    "serve_in_background",
]

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
    app.state.incoming = IncomingBodies()
    app.state.address = settings.address
    app.add_middleware(
        Gate,
        limits=limits,
        in_flight=in_flight,
        incoming=app.state.incoming,
        always=f"{PREFIX}/healthz",
    )
    return app


def _lifespan(
    settings: Settings, database: Database
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        departures = Departures.open(settings)
        erasers = [JournalEraser(database=one) for one in (database, departures)]
        jobs = _jobs(settings, database)
        infer = _nothing if jobs is None else jobs.request
        writer = Writer(database=database, changed=infer)
        retention = RetentionKeeper(
            database=database, departures=departures, clock=time.time, changed=infer
        )
        parts = [part for part in (*erasers, jobs, writer, retention) if part is not None]
        app.state.service = Service(
            database=database,
            writer=writer,
            infer=infer,
            departures=departures,
            alive=lambda: all(part.alive for part in parts),
            joins=JoinLimits(
                per_minute=settings.joins_per_minute,
                at_once=settings.joins_at_once,
                proxy=settings.proxy,
            ),
        )
        try:
            yield
        finally:
            retention.close()
            writer.close()
            if jobs is not None:
                jobs.close()
            for eraser in erasers:
                eraser.close()
            departures.close()
            database.close()

    return lifespan


def _jobs(settings: Settings, database: Database) -> InferenceJobs | None:
    if not settings.infer:
        return None
    return InferenceJobs(
        database=database,
        debounce=settings.debounce,
        longest=settings.longest_inference,
        large=LargeCampaigns(
            memory=settings.inference_memory,
            folder=settings.inference_folder,
            scheduler=settings.scheduler,
        ),
    )


def _nothing(_: bytes) -> None:
    """Infer nothing."""


def serve(settings: Settings, announce: Callable[[int], None] | None = None) -> None:
    """Serve until the process is told to end.

    Parameters
    ----------
    settings : Settings
        Of the server; port 0 takes a free one.
    announce : callable, optional
        Is given the port as soon as the database is ready and requests can come.

    Raises
    ------
    ParameterError, FormatError
        As of `ready_database` and `listener`.
    """
    with ready_database(settings) as database, listener(settings) as found:
        if announce is not None:
            announce(found.getsockname()[1])
        start_log()
        log_what_nobody_catches()
        app = create_app(settings, database)
        config = uvicorn.Config(app, **listening(settings, app.state.incoming))
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


def listening(settings: Settings, incoming: IncomingBodies) -> dict[str, Any]:
    """Return how uvicorn is to serve an application: it logs nothing of its own."""
    return {
        "host": settings.host,
        "port": settings.port,
        "access_log": False,
        "log_config": None,
        "http": shedding_protocol(settings.at_once, incoming),
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": _GRACE,
        "timeout_keep_alive": 30,
    }


@frozen(kw_only=True)
class BackgroundServer:
    """A server that answers.

    Attributes
    ----------
    url : str
        Where it is.
    app : FastAPI
        What it serves.
    """

    url: str
    app: FastAPI


@contextmanager
def serve_in_background(settings: Settings) -> Iterator[BackgroundServer]:
    """Give a server that answers, and end it afterwards: what it acknowledged is stored then.

    Parameters
    ----------
    settings : Settings
        Of the server; port 0 takes a free one.

    Raises
    ------
    ParameterError, FormatError
        As of `quietcrowd.campaign.store.opening.ready_database`; and where nobody can listen there.
    """
    with ready_database(settings) as database, listener(settings) as found:
        app = create_app(settings, database)
        server = uvicorn.Server(uvicorn.Config(app, **listening(settings, app.state.incoming)))
        thread = Thread(target=server.run, args=([found],), name="server")
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            host, port, *_ = found.getsockname()
            yield BackgroundServer(url=f"http://{place_of(host, port)}", app=app)
        finally:
            server.should_exit = True
            thread.join()
