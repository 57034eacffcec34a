"""Sources of settings, in order of precedence: options, environment, file, defaults."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any

from pydantic import TypeAdapter, ValidationError
from pydantic_settings import EnvSettingsSource, TomlConfigSettingsSource

from quietcrowd.campaign.server.setting_rules import mistake
from quietcrowd.campaign.server.settings import PREFIX_OF_VARIABLES, Settings
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import did_you_mean

__all__ = ["read_settings"]

_OF_OTHERS = ("DATA", "KEY", "SERVER", "SETTINGS")
"""Variables that other commands and the tests read."""


def read_settings(
    file: Path | None, options: Mapping[str, Any], assignments: Iterable[str] = ()
) -> Settings:
    """Return the settings of a server; ParameterError names the place, the value and the rule.

    Options that were not given are None. `assignments` are other settings, as ``NAME=VALUE``.
    """
    given = {name: value for name, value in options.items() if value is not None}
    found: dict[str, Any] = {}
    found |= _from_file(file) if file is not None else {}
    found |= _from_environment()
    found |= {name: _checked(f"--{_dashed(name)}", name, value) for name, value in given.items()}
    found |= _from_assignments(assignments, options)
    return Settings(**found)


def _dashed(name: str) -> str:
    return name.replace("_", "-")


def _from_file(file: Path) -> dict[str, Any]:
    try:
        found = TomlConfigSettingsSource(Settings, file).toml_data if file.is_file() else None
    except (OSError, TOMLDecodeError, UnicodeDecodeError) as error:
        raise ParameterError(f"the settings in {file} cannot be read as TOML: {error}") from None
    if found is None:
        raise ParameterError(f"there is no file {file} with settings")
    return {name: _checked(str(file), name, value) for name, value in found.items()}


def _from_environment() -> dict[str, Any]:
    for variable in os.environ:
        _require_no_slip(variable)
    found = EnvSettingsSource(Settings)()
    return {
        name: _checked(f"variable {PREFIX_OF_VARIABLES}{name.upper()}", name, text, text=True)
        for name, text in found.items()
    }


def _require_no_slip(variable: str) -> None:
    """Raise ParameterError if a variable looks like a misspelled setting."""
    prefix, name = variable[: len(PREFIX_OF_VARIABLES)], variable[len(PREFIX_OF_VARIABLES) :]
    if prefix.upper() != PREFIX_OF_VARIABLES or name.upper() in _OF_OTHERS:
        return
    known = list(Settings.model_fields)
    like = get_close_matches(name.lower(), known, n=1, cutoff=0.8)
    if like and name.lower() not in known:
        meant = f"{PREFIX_OF_VARIABLES}{like[0].upper()}"
        raise ParameterError(f"variable {variable} is no setting; did you mean {meant}?")


def _from_assignments(assignments: Iterable[str], options: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for assignment in assignments:
        dashed, equals, text = assignment.partition("=")
        name = dashed.strip().replace("-", "_")
        if not equals:
            raise ParameterError(f"--set {assignment}: write NAME=VALUE, as --set burst=200")
        if name in options:
            raise ParameterError(f"--set {assignment}: this has an option, --{_dashed(name)}")
        found[name] = _checked(f"--set {assignment}", name, text.strip(), text=True)
    return found


def _checked(place: str, name: str, value: Any, *, text: bool = False) -> Any:
    """Validate the value of a setting; ParameterError names its place."""
    field = Settings.model_fields.get(name)
    if field is None:
        known = did_you_mean(name, Settings.model_fields)
        raise ParameterError(
            f"{place}: there is no setting {name!r}{known or '; docs/operating.md lists them'}"
        )
    rule: Any = Annotated[(field.annotation, field.description, *field.metadata)]
    try:
        return TypeAdapter(rule).validate_python(value, strict=not text)
    except ValidationError as error:
        raise ParameterError(f"{place}: {mistake(Settings, name, error.errors()[0])}") from None
