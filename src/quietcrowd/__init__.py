"""Truth inference from a crowd's answers under local differential privacy.

The stub ``__init__.pyi`` lists the public names with their modules, for type checkers, editors and
this module. Names load lazily, so that a device that only needs `quietcrowd.mechanisms` does not
load truth inference.
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
