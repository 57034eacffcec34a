"""A server in a thread of this process, for as long as a block lasts."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Thread

import uvicorn
from attrs import frozen
from fastapi import FastAPI

from quietcrowd.campaign.server.app import create_app, listener, listening
from quietcrowd.campaign.store.opening import ready_database
from quietcrowd.campaign.terms.settings import Settings, place_of

__all__ = ["BackgroundServer", "serve_in_background"]


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
        server = uvicorn.Server(uvicorn.Config(app, **listening(settings, app.state.arrivals)))
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
