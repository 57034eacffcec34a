"""The settings of a server, by precedence from options, environment, file and defaults."""

import os
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from ipaddress import ip_network
from pathlib import Path
from tomllib import TOMLDecodeError
from typing import Annotated, Any

from annotated_types import Ge, Le
from attrs import frozen
from pydantic import AfterValidator, BaseModel, BeforeValidator, Field, TypeAdapter, ValidationError
from pydantic_settings import (
    BaseSettings,
    EnvSettingsSource,
    PydanticBaseSettingsSource,
    SettingsConfigDict,
    TomlConfigSettingsSource,
)
from typing_extensions import override

from quietcrowd.campaign.results.large_campaigns import work_folder
from quietcrowd.campaign.terms.server_address import address_in_page
from quietcrowd.campaign.terms.settings import (
    BODY_SECONDS,
    MAX_AT_ONCE,
    MAX_BODY,
    TAKING_SECONDS,
    byte_count,
)
from quietcrowd.exceptions import ParameterError
from quietcrowd.validation import did_you_mean

_PARTS = {"at_once_each": "at_once", "connections_each": "connections"}
"""Limits of one client or source, and the limits of all together."""

_KINDS = {
    bool: "true or false",
    int: "a whole number",
    int | None: "a whole number",
    float: "a number",
    str: "a text",
    str | None: "a text",
}


@frozen
class Unit:
    """The unit of a number, in the plural: seconds, bytes."""

    name: str


def allowed(kind: type[BaseModel], name: str) -> str:
    """Describe the valid values of a setting: type, unit and bounds."""
    field = kind.model_fields[name]
    words = _KINDS[field.annotation]  # type: ignore[index]
    units = [one.name for one in field.metadata if isinstance(one, Unit)]
    low = [one.ge for one in field.metadata if isinstance(one, Ge)]
    high = [one.le for one in field.metadata if isinstance(one, Le)]
    unit = f" of {units[0]}" if units else ""
    bounds = f" from {_plain(low[0])} to {_plain(high[0])}" if low and high else ""
    return f"{words}{unit}{bounds}"


def _plain(number: Any) -> str:
    return f"{int(number):,}" if number == int(number) else f"{number:g}"


def mistake(kind: type[BaseModel], name: str, error: Mapping[str, Any]) -> str:
    """Describe the first Pydantic error of a setting in one line, without secret values."""
    if name not in kind.model_fields:
        return f"unknown setting {name!r}{did_you_mean(name, kind.model_fields)}"
    reason = error.get("ctx", {}).get("error")
    if reason is not None:
        return f"{name}: {reason}"
    got = f"; got {error['input']!r}" if kind.model_fields[name].repr else ""
    return f"{name} must be {allowed(kind, name)}{got}"


def require_no_contradiction(settings: BaseModel) -> None:
    """Raise ParameterError if a given limit, but no default, exceeds that of all together."""
    given = settings.model_fields_set
    for name, whole in _PARTS.items():
        part, most = getattr(settings, name), getattr(settings, whole)
        if name in given and part is not None and most is not None and part > most:
            raise ParameterError(
                "campaign.part-exceeds-whole", name=name, part=part, whole=whole, most=most
            )


PREFIX_OF_VARIABLES = "QUIETCROWD_"
"""Prefix of environment variables; the rest of their names is the setting in capitals."""

_DAY = 86_400.0


_WIDEST = {4: 8, 6: 7}
"""Minimum prefix length of a proxy's network by IP version: 10.0.0.0/8 and fc00::/7 are private."""


def _network(text: str) -> str:
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        raise ParameterError("campaign.network-invalid", text=text) from None
    if found.prefixlen < _WIDEST[found.version]:
        raise ParameterError("campaign.network-of-everyone", text=text)
    return text


def _folder(text: str) -> str:
    """Return the absolute path of a directory in which work directories can be made and locked."""
    if not Path(text).is_dir():
        raise ParameterError("campaign.settings-folder-missing", text=text)
    try:
        with work_folder(text):
            pass
    except OSError as error:
        raise ParameterError(
            "campaign.folder-not-writable", text=text, reason=error.strerror
        ) from None
    return str(Path(text).absolute())


def _scheduler(text: str) -> str:
    from quietcrowd.scale.connecting import check_scheduler

    check_scheduler(text)
    return text


def _given(check: Callable[[str], str]) -> AfterValidator:
    return AfterValidator(lambda text: text and check(text))


class Settings(BaseSettings):
    """The settings of a server, from arguments only; invalid ones raise ParameterError."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX_OF_VARIABLES,
        env_ignore_empty=True,
        extra="forbid",
        frozen=True,
        strict=True,
    )

    database: str = Field(
        "sqlite:///quietcrowd.db",
        repr=False,
        description="The database of the campaigns: `sqlite:///FILE` or "
        "`postgresql://USER@HOST/NAME`.",
    )
    withdrawal_log: str | None = Field(
        None,
        repr=False,
        description="The journal of withdrawals, outside of the database and its copies: "
        "`sqlite:///FILE`, `postgresql://USER@HOST/OTHER` or `none`. Without it: a file next to "
        "that of SQLite; with PostgreSQL `serve` requires it.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8000, ge=0, le=65_535, description="The port to listen on; 0: a free one.")
    insecure: bool = Field(
        False,
        description="Allow an address that other machines can reach, without encryption.",
    )
    public_url: Annotated[str | None, _given(address_in_page)] = Field(
        None,
        description="The address at which workers reach the server; it is written into the "
        "page that they save. Without it: the host name of the request.",
    )
    infer: bool = Field(True, description="Infer truths from the reports, in a separate process.")
    debounce: Annotated[float, Unit("seconds"), Ge(0), Le(_DAY)] = Field(
        2.0,
        description="Delay from the first change of a campaign to its inference, which "
        "includes all changes until then.",
    )
    inference_timeout: Annotated[float, Unit("seconds"), Ge(1), Le(_DAY)] = Field(
        600.0,
        description="The time limit of an inference; the results report it if it is exceeded.",
    )
    inference_memory: Annotated[
        int, BeforeValidator(byte_count), Unit("bytes"), Ge(0), Le(2**50)
    ] = Field(
        10**9,
        description="The most memory of an inference, also as 1GB; larger campaigns are "
        "inferred from files.",
    )
    inference_folder: Annotated[str | None, _given(_folder)] = Field(
        None,
        description="The directory for these files, and for the state of the next inference; "
        "it is tested at the start. Without it: the system's directory for temporary files.",
    )
    dask: Annotated[str | None, _given(_scheduler)] = Field(
        None,
        description="A Dask cluster that reads these files, as `tcp://HOST:PORT`; its "
        "workers must see the directory under the same path. Without it: only this machine.",
    )
    longest_plan: Annotated[float, Unit("seconds"), Ge(1), Le(3_600)] = Field(
        30.0,
        description="The longest time of a requester's plan, and the longest time that it "
        "waits for others' plans.",
    )
    requests_per_second: Annotated[float, Ge(0), Le(1e6)] = Field(
        20.0,
        description="Average requests per second from one key or credential, or from one source "
        "that sends neither; 0: no limit.",
    )
    burst: Annotated[int, Unit("requests")] = Field(
        100, ge=1, le=10**6, description="The largest burst of requests from each of these."
    )
    connections: Annotated[int | None, Unit("connections"), Ge(1), Le(100_000)] = Field(
        None,
        description="The most connections from outside. Without it: the limit of open files minus "
        "those of the server itself, at most 2,048.",
    )
    connections_each: Annotated[int | None, Unit("connections"), Ge(1), Le(100_000)] = Field(
        None,
        description="The most connections from one source; the proxy and this machine may use "
        "all. Without it: a quarter.",
    )
    source_requests_per_second: Annotated[float, Ge(0), Le(1e6)] = Field(
        0.0, description="Requests a second of one source in the long run; 0: no limit."
    )
    source_burst: Annotated[int, Unit("requests")] = Field(
        100, ge=1, le=10**6, description="Requests of one source at once."
    )
    joins_per_minute: Annotated[float, Unit("workers"), Ge(0), Le(1e6)] = Field(
        30.0,
        description="New workers a minute from one source, in the long run; 0: no limit. "
        "A source is an address, or a /64 network of IPv6.",
    )
    joins_at_once: Annotated[int, Unit("workers")] = Field(
        100, ge=1, le=10**6, description="New workers from one source at once."
    )
    trusted_proxy: Annotated[str | None, _given(_network)] = Field(
        None,
        description="The address or network of the proxy in front of this server: sources are "
        "the addresses that it states in `X-Forwarded-For`. Without it, sources are the "
        "connecting addresses, and the header is ignored.",
    )
    at_once: Annotated[int, Unit("requests"), Ge(1), Le(100_000)] = Field(
        256, description="The most requests in progress; others are rejected."
    )
    at_once_each: Annotated[int, Unit("requests"), Ge(1), Le(100_000)] = Field(
        32, description="The most of them with one key or credential; joins may use half of all."
    )
    bytes_at_once: Annotated[int, Unit("bytes"), Ge(MAX_BODY), Le(2**40)] = Field(
        MAX_AT_ONCE,
        description="The most bytes of request bodies in progress, and the same again for "
        "arriving bodies. Parsed bodies need several times as much memory.",
    )
    body_seconds: Annotated[float, Unit("seconds"), Ge(0.1), Le(3_600)] = Field(
        BODY_SECONDS,
        description="The time within which the head of a request must arrive, and then its body.",
    )
    taking_seconds: Annotated[float, Unit("seconds"), Ge(0.1), Le(3_600)] = Field(
        TAKING_SECONDS,
        description="The time within which the client must read the next piece of a response.",
    )
    keep_alive: Annotated[float, Unit("seconds")] = Field(
        30.0, ge=0.1, le=3_600, description="The time after which an idle connection is closed."
    )
    grace: Annotated[int, Unit("seconds")] = Field(
        5, ge=0, le=3_600, description="The time for running requests when the server stops."
    )
    pool_size: Annotated[int, Unit("connections"), Ge(2), Le(1_000)] = Field(
        10,
        description="Connections to the database. With PostgreSQL they are opened at the start "
        "and stay open; one more is for inference, and two are for a journal in PostgreSQL.",
    )
    pool_seconds: Annotated[float, Unit("seconds")] = Field(
        20.0, ge=0.01, le=600, description="How long a request waits for one of them."
    )
    write_seconds: Annotated[float, Unit("seconds")] = Field(
        10.0, ge=0, le=600, description="How long an upload waits for an unreachable database."
    )
    metrics_port: Annotated[int | None, Ge(0), Le(65_535)] = Field(
        None, description="The port of `/metrics`; 0: a free one. Without it: no metrics."
    )
    metrics_host: str = Field("127.0.0.1", description="The address of `/metrics`.")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise ParameterError(
                "campaign.setting-mistaken", mistake=mistake(type(self), name, first)
            ) from None
        require_no_contradiction(self)

    @classmethod
    @override
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use explicit arguments only: variables of the environment have no effect."""
        return (init_settings,)


_OF_OTHERS = ("DATA", "KEY", "SERVER", "SETTINGS")
"""Variables that other commands and the tests read."""


def read_settings(
    file: Path | None, options: Mapping[str, Any], assignments: Iterable[str] = ()
) -> Settings:
    """Return the settings of a server; unset options are None, assignments are ``NAME=VALUE``."""
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
        raise ParameterError("campaign.settings-not-toml", file=file, error=error) from None
    if found is None:
        raise ParameterError("campaign.settings-file-missing", file=file)
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
    prefix, name = variable[: len(PREFIX_OF_VARIABLES)], variable[len(PREFIX_OF_VARIABLES) :]
    if prefix.upper() != PREFIX_OF_VARIABLES or name.upper() in _OF_OTHERS:
        return
    known = list(Settings.model_fields)
    like = get_close_matches(name.lower(), known, n=1, cutoff=0.8)
    if like and name.lower() not in known:
        meant = f"{PREFIX_OF_VARIABLES}{like[0].upper()}"
        raise ParameterError("campaign.unknown-variable", variable=variable, meant=meant)


def _from_assignments(assignments: Iterable[str], options: Mapping[str, Any]) -> dict[str, Any]:
    found = {}
    for assignment in assignments:
        dashed, equals, text = assignment.partition("=")
        name = dashed.strip().replace("-", "_")
        if not equals:
            raise ParameterError("campaign.set-without-value", assignment=assignment)
        if name in options:
            raise ParameterError(
                "campaign.set-has-option", assignment=assignment, dashed=_dashed(name)
            )
        found[name] = _checked(f"--set {assignment}", name, text.strip(), text=True)
    return found


def _checked(place: str, name: str, value: Any, *, text: bool = False) -> Any:
    field = Settings.model_fields.get(name)
    if field is None:
        known = did_you_mean(name, Settings.model_fields)
        raise ParameterError(
            "campaign.unknown-setting",
            place=place,
            name=name,
            known=known or "; docs/run/settings.md lists them",
        )
    rule: Any = Annotated[(field.annotation, field.description, *field.metadata)]
    try:
        return TypeAdapter(rule).validate_python(value, strict=not text)
    except ValidationError as error:
        raise ParameterError(
            "campaign.setting-invalid",
            place=place,
            mistake=mistake(Settings, name, error.errors()[0]),
        ) from None
