"""The FastAPI application, and the process or thread that serves it."""

import asyncio
import gc
import hashlib
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager, suppress
from threading import Thread
from typing import Any

import uvicorn
from attrs import define, field, frozen
from fastapi import FastAPI, Request, Response
from fastapi.responses import JSONResponse
from starlette.concurrency import run_in_threadpool

from quietcrowd import __version__
from quietcrowd.campaign.results.large_campaigns import LargeCampaigns
from quietcrowd.campaign.server.admission import Admission, Gate, Lookups
from quietcrowd.campaign.server.api import ROUTES
from quietcrowd.campaign.server.connections import SharedState, make_shared_state, shedding_protocol
from quietcrowd.campaign.server.in_flight import InFlight
from quietcrowd.campaign.server.jobs.inference import InferenceJobs
from quietcrowd.campaign.server.jobs.plans import PlanJobs
from quietcrowd.campaign.server.limits import JoinLimits, RateLimits
from quietcrowd.campaign.server.logs import log_what_nobody_catches, start_log
from quietcrowd.campaign.server.metrics.counters import Tally
from quietcrowd.campaign.server.metrics.running import Metrics
from quietcrowd.campaign.server.problem_responses import HANDLERS
from quietcrowd.campaign.server.service import Service, known_already, not_modified
from quietcrowd.campaign.server.settings import Settings
from quietcrowd.campaign.server.start import AT_A_TIME, opened_resources, start_lines
from quietcrowd.campaign.server.writer import JournalEraser, RetentionKeeper, Writer
from quietcrowd.campaign.store.database import Database
from quietcrowd.campaign.store.withdrawals.journal import Departures
from quietcrowd.campaign.terms.settings import PREFIX, place_of
from quietcrowd.campaign.web.pages import router as pages

DOCUMENT = f"{PREFIX}/openapi.json"


@define
class ApiDocument:
    """Cached OpenAPI document of an application."""

    app: FastAPI
    _rendered: tuple[bytes, str] | None = field(default=None, init=False)
    _lock: asyncio.Lock = field(factory=asyncio.Lock, init=False)

    async def answer(self, request: Request) -> Response:
        """Return the document, or 304 if the client has it."""
        async with self._lock:
            if self._rendered is None:
                document = await run_in_threadpool(lambda: JSONResponse(self.app.openapi()))
                content = bytes(document.body)
                self._rendered = content, f'"{hashlib.sha256(content).hexdigest()}"'
        content, tag = self._rendered
        if known_already(tag, request.headers.get("if-none-match")):
            return not_modified(tag)
        return Response(content, headers={"ETag": tag}, media_type="application/json")


_NOT_STARTED = 3  # exit status if the application did not start

_SILENT = {
    "auto_configure": False,
    "logs": False,
    "metrics": False,
    "operation_spans": False,
    "tracing": False,
}


def create_app(
    settings: Settings,
    database: Database,
    departures: Departures,
    metrics: Metrics | None = None,
    clock: Callable[[], float] = time.time,
) -> FastAPI:
    """Create the application. Without `metrics`, counts are not published."""
    counted = Metrics.of(database, departures) if metrics is None else metrics
    app = FastAPI(
        title="quietcrowd campaigns",
        version=__version__,
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan(settings, database, departures, counted, clock),
        exception_handlers=HANDLERS,
        redirect_slashes=False,
        telemetry=_SILENT,  # type: ignore[arg-type]
    )
    app.router.routes.extend(ROUTES)  # an included router would be searched several times
    app.router.routes.extend(pages.routes)
    app.add_route(DOCUMENT, ApiDocument(app).answer, include_in_schema=False)
    shared = make_shared_state(settings, database, counted.tally)
    app.state.address, app.state.shared, app.state.metrics = settings.public_url, shared, counted
    in_flight = InFlight(
        requests=settings.at_once, size=settings.bytes_at_once, each=settings.at_once_each
    )
    app.add_middleware(
        Gate,
        admission=lambda: app.state.admission,
        in_flight=in_flight,
        incoming=shared.incoming,
        connections=shared.connections,
        turning_away=shared.turning_away,
        always=f"{PREFIX}/healthz",
        tally=counted.tally,
    )
    return app


def _lifespan(
    settings: Settings,
    database: Database,
    departures: Departures,
    metrics: Metrics,
    clock: Callable[[], float],
) -> Callable[[FastAPI], AbstractAsyncContextManager[None]]:
    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        erasers = [JournalEraser(database=one) for one in (database, departures)]
        jobs = _jobs(settings, database, metrics.tally)
        infer = (lambda _: None) if jobs is None else jobs.request
        tally = metrics.tally
        writer = Writer(
            database=database,
            changed=infer,
            patience=settings.write_seconds,
            tally=tally,
            clock=clock,
        )
        retention = app.state.retention = RetentionKeeper(
            database=database, departures=departures, clock=clock, changed=infer, tally=tally
        )
        lookups = Lookups(database=database)
        joins = JoinLimits(
            sources=app.state.shared.connections.sources,
            per_minute=settings.joins_per_minute,
            at_once=settings.joins_at_once,
        )
        plans = PlanJobs(longest=settings.longest_plan)
        parts = [part for part in (*erasers, jobs, writer, retention, lookups) if part is not None]
        app.state.admission = Admission(
            lookups=lookups,
            limits=RateLimits(rate=settings.requests_per_second, burst=settings.burst),
            joins=joins,
            hold_back=app.state.shared.turning_away.hold_back,
        )
        app.state.service = Service(
            database=database,
            writer=writer,
            infer=infer,
            departures=departures,
            alive=lambda: all(part.alive for part in parts),
            unwritable=metrics.probe.why_not,
            joins=joins,
            plans=plans,
            clock=clock,
        )
        try:
            yield
        finally:
            plans.close()
            lookups.close()
            retention.close()
            writer.close()
            if jobs is not None:
                jobs.close()
            for eraser in erasers:
                eraser.close()

    return lifespan


def _jobs(settings: Settings, database: Database, tally: Tally) -> InferenceJobs | None:
    if not settings.infer:
        return None
    return InferenceJobs(
        database=database,
        debounce=settings.debounce,
        longest=settings.inference_timeout,
        tally=tally,
        large=LargeCampaigns(
            memory=settings.inference_memory,
            folder=settings.inference_folder,
            scheduler=settings.dask,
        ),
    )


def serve(settings: Settings, announce: Callable[[str], None] | None = None) -> None:
    """Serve until the process is stopped; `announce` receives the start report line by line."""
    with opened_resources(settings) as resources:
        app = create_app(settings, resources.database, resources.departures, resources.metrics)
        resources.listener.connections = app.state.shared.connections
        if announce is not None:
            for line in start_lines(settings, resources, app.state.shared.connections):
                announce(line)
        start_log()
        log_what_nobody_catches()
        server = uvicorn.Server(uvicorn.Config(app, **listening(settings, app.state.shared)))
        gc.freeze()  # exempt permanent objects from garbage collection, which delays uploads
        with suppress(KeyboardInterrupt):
            server.run([resources.listener])
    if not server.started:
        raise SystemExit(_NOT_STARTED)


def listening(settings: Settings, shared: SharedState) -> dict[str, Any]:
    """Return the options of uvicorn, which writes no log."""
    return {
        "host": settings.host,
        "port": settings.port,
        "access_log": False,
        "log_config": None,
        "loop": "asyncio",  # `Listener.accept` requires asyncio
        "ws": "none",
        "backlog": AT_A_TIME,
        "http": shedding_protocol(shared),
        "server_header": False,
        "proxy_headers": False,
        "timeout_graceful_shutdown": settings.grace,
        "timeout_keep_alive": settings.keep_alive,
    }


@frozen(kw_only=True)
class BackgroundServer:
    """A running server."""

    url: str
    app: FastAPI


@contextmanager
def serve_in_background(
    settings: Settings, clock: Callable[[], float] = time.time
) -> Iterator[BackgroundServer]:
    """Serve in a thread until the context ends; all acknowledged uploads are then stored."""
    with opened_resources(settings, clock) as resources:
        databases = resources.database, resources.departures
        app = create_app(settings, *databases, resources.metrics, clock)
        resources.listener.connections = app.state.shared.connections
        server = uvicorn.Server(uvicorn.Config(app, **listening(settings, app.state.shared)))
        thread = Thread(target=server.run, args=([resources.listener],), name="server")
        thread.start()
        try:
            while not server.started and thread.is_alive():
                time.sleep(0.01)
            host, port, *_ = resources.listener.getsockname()
            yield BackgroundServer(url=f"http://{place_of(host, port)}", app=app)
        finally:
            server.should_exit = True
            thread.join()
