"""What a test asks databases for."""

import threading
from contextlib import contextmanager

from sqlalchemy import event


@contextmanager
def statements(*databases):
    """Give a list of what this thread asks databases for, with the numbers that it gives them."""
    told, here = [], threading.get_ident()

    def tell(connection, cursor, statement, parameters, *_):  # noqa: ARG001
        if threading.get_ident() == here:
            values = parameters.values() if isinstance(parameters, dict) else parameters
            told.append((statement, len(values)))

    for database in databases:
        event.listen(database.engine, "before_cursor_execute", tell)
    try:
        yield told
    finally:
        for database in databases:
            event.remove(database.engine, "before_cursor_execute", tell)
