"""Find what is true from a crowd's answers without anyone having to see them.

The public names stand once, with their modules: in the stub ``__init__.pyi``, which type checkers
and editors read. A name is loaded when it is first used, so that a worker's device that needs
`quietcrowd.mechanisms` alone does not load what infers.
"""

import ast
from importlib import import_module
from pkgutil import get_data
from typing import Any

_HOME = {
    name.name: statement.module
    for statement in ast.parse(get_data(__name__, "__init__.pyi")).body
    if isinstance(statement, ast.ImportFrom)
    for name in statement.names
}

__all__ = list(_HOME)


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        value: Any = version(__name__)
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
