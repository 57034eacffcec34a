"""How a server is set up: every setting, its unit and its bounds."""

from __future__ import annotations

from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field, ValidationError
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict
from typing_extensions import override

from quietcrowd.campaign.results.work_folders import work_folder
from quietcrowd.campaign.server.setting_rules import Unit, mistake, require_no_contradiction
from quietcrowd.campaign.terms.byte_counts import byte_count
from quietcrowd.campaign.terms.server_address import address_in_page
from quietcrowd.campaign.terms.settings import BODY_SECONDS, MAX_AT_ONCE, MAX_BODY, TAKING_SECONDS
from quietcrowd.exceptions import ParameterError

__all__ = ["PREFIX_OF_VARIABLES", "Settings"]

PREFIX_OF_VARIABLES = "QUIETCROWD_"
"""What the names of variables begin with, which are else those of the settings in capitals."""

_DAY = 86_400.0


_WIDEST = {4: 8, 6: 7}
"""Bits that all addresses of a proxy's network have in common, at least, by the version of IP: in
10.0.0.0/8 and in fc00::/7 nobody is from outside."""


def _network(text: str) -> str:
    """Return an address or a network as it is, if not everybody is in it."""
    try:
        found = ip_network(text, strict=False)
    except ValueError:
        raise ParameterError(
            f"it must be an address as 10.0.0.1, or a network as 10.0.0.0/24; got {text!r}"
        ) from None
    if found.prefixlen < _WIDEST[found.version]:
        raise ParameterError(
            "who is in this network is believed about where others come from, so it must not be "
            f"everybody's: name the proxy's address, or the network that it is in; got {text!r}"
        )
    return text


def _folder(text: str) -> str:
    """Return a folder by its whole path; folders can be made in it, locked and deleted."""
    if not Path(text).is_dir():
        raise ParameterError(f"there is no folder {text}: create it first")
    try:
        with work_folder(text):
            pass
    except OSError as error:
        raise ParameterError(
            f"nothing can be written in {text}: {error.strerror}; name another folder"
        ) from None
    return str(Path(text).absolute())


def _scheduler(text: str) -> str:
    """Return the address of a scheduler, if clusters can be reached from here."""
    from quietcrowd.scale.connecting import check_scheduler

    check_scheduler(text)
    return text


class Settings(BaseSettings):
    """How a server is set up. Each setting says what it is; docs/operating.md lists all.

    What is given here is all that counts; `quietcrowd.campaign.server.setting_sources` reads a
    file and the environment.

    Raises
    ------
    ParameterError
        Where a value is not one that the setting may have, or that another setting allows.
    """

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
        description="Where all is stored: `sqlite:///FILE` or `postgresql://USER@HOST/NAME`.",
    )
    departures: str | None = Field(
        None,
        repr=False,
        description="Where it is kept who left, outside of the database and its copies: "
        "`sqlite:///FILE`, `postgresql://USER@HOST/OTHER` or `none`. Without it: a file beside "
        "that of SQLite; with PostgreSQL `serve` asks for it.",
    )
    host: str = Field("127.0.0.1", description="The address to listen on.")
    port: int = Field(8000, ge=0, le=65_535, description="The port to listen on; 0: a free one.")
    insecure: bool = Field(
        False,
        description="Whether that may be an address that is not this machine: what is sent is not "
        "encrypted.",
    )
    address: Annotated[str | None, AfterValidator(lambda text: text and address_in_page(text))] = (
        Field(
            None,
            description="Where workers reach the server: it stands in the page that they save. "
            "Without it: the name under which it is asked.",
        )
    )
    infer: bool = Field(
        True, description="Infer truths from what comes in, in a process of its own."
    )
    debounce: Annotated[float, Unit("seconds")] = Field(
        2.0,
        ge=0,
        le=_DAY,
        description="From the first change of a campaign to its inference: what comes meanwhile "
        "is part of it.",
    )
    longest_inference: Annotated[float, Unit("seconds")] = Field(
        600.0, ge=1, le=_DAY, description="When to end an inference; the results say so then."
    )
    inference_memory: Annotated[int, BeforeValidator(byte_count), Unit("bytes")] = Field(
        10**9,
        ge=0,
        le=2**50,
        description="What an inference in memory may take, also as 1GB; larger campaigns are "
        "inferred from files.",
    )
    inference_folder: Annotated[str | None, AfterValidator(lambda text: text and _folder(text))] = (
        Field(
            None,
            description="The folder in which these files lie meanwhile, and what is kept for the "
            "next inference; it is tried at the start. Without it: where temporary files go.",
        )
    )
    scheduler: Annotated[str | None, AfterValidator(lambda text: text and _scheduler(text))] = (
        Field(
            None,
            description="Of a Dask cluster that passes over these files, as `tcp://HOST:PORT`; its "
            "workers see the folder under the same path. Without it: this machine alone.",
        )
    )
    longest_plan: Annotated[float, Unit("seconds")] = Field(
        30.0,
        ge=1,
        le=3_600,
        description="When to end a plan that a requester asks for; and for how long it waits for "
        "those of others.",
    )
    requests_per_second: float = Field(
        20.0,
        ge=0,
        le=1e6,
        description="What a key or credential may ask for in the long run, and what one source may "
        "ask of the interface without any; 0: no limit.",
    )
    burst: Annotated[int, Unit("requests")] = Field(
        100, ge=1, le=10**6, description="What each of these may ask for at once."
    )
    connections: Annotated[int | None, Unit("connections")] = Field(
        None,
        ge=1,
        le=100_000,
        description="From outside, at most. Without it: as many as the process may have open "
        "files for, besides its own, and at most 2,048.",
    )
    connections_each: Annotated[int | None, Unit("connections")] = Field(
        None,
        ge=1,
        le=100_000,
        description="Of them from one source; the proxy, and this machine, on which there may be "
        "one, have as many as there are. Without it: a quarter.",
    )
    source_requests_per_second: float = Field(
        0.0,
        ge=0,
        le=1e6,
        description="What one source may ask for in the long run; 0: no limit.",
    )
    source_burst: Annotated[int, Unit("requests")] = Field(
        100, ge=1, le=10**6, description="What one source may ask for at once."
    )
    joins_per_minute: Annotated[float, Unit("workers")] = Field(
        30.0,
        ge=0,
        le=1e6,
        description="New ones that one source may bring into campaigns that are open to all, in "
        "the long run; 0: no limit. A source is an address, or a network of IPv6 of 64 bits.",
    )
    joins_at_once: Annotated[int, Unit("workers")] = Field(
        100, ge=1, le=10**6, description="That it may bring at once."
    )
    proxy: Annotated[str | None, AfterValidator(lambda text: text and _network(text))] = Field(
        None,
        description="The address of the server before this one, or a network in which it is: "
        "sources are what it says in `X-Forwarded-For`. Without it they are who connects, and the "
        "header is not read.",
    )
    at_once: Annotated[int, Unit("requests")] = Field(
        256, ge=1, le=100_000, description="That are worked on at once; others are refused."
    )
    at_once_each: Annotated[int, Unit("requests")] = Field(
        32,
        ge=1,
        le=100_000,
        description="Of them with one key or credential; those who join have half of all.",
    )
    bytes_at_once: Annotated[int, Unit("bytes")] = Field(
        MAX_AT_ONCE,
        ge=MAX_BODY,
        le=2**40,
        description="Of bodies that are worked on at once, and once more of those that are coming "
        "in. Read, they take several times as much memory.",
    )
    body_seconds: Annotated[float, Unit("seconds")] = Field(
        BODY_SECONDS,
        ge=0.1,
        le=3_600,
        description="In which the head of a request has to be here, and then its body.",
    )
    taking_seconds: Annotated[float, Unit("seconds")] = Field(
        TAKING_SECONDS,
        ge=0.1,
        le=3_600,
        description="In which the next piece of an answer has to be taken.",
    )
    keep_alive: Annotated[float, Unit("seconds")] = Field(
        30.0, ge=0.1, le=3_600, description="For which a connection is kept that is not used."
    )
    grace: Annotated[int, Unit("seconds")] = Field(
        5, ge=0, le=3_600, description="In which requests have to end once the server is to end."
    )
    pool_size: Annotated[int, Unit("connections")] = Field(
        10,
        ge=2,
        le=1_000,
        description="To the database. In PostgreSQL they are taken at the start and kept; one "
        "more is for inference, two are for `departures` there.",
    )
    pool_seconds: Annotated[float, Unit("seconds")] = Field(
        20.0, ge=0.01, le=600, description="For which a request waits for one of them."
    )
    write_seconds: Annotated[float, Unit("seconds")] = Field(
        10.0,
        ge=0,
        le=600,
        description="For which an upload waits for a database that cannot be reached.",
    )
    metrics_port: int | None = Field(
        None,
        ge=0,
        le=65_535,
        description="The port of `/metrics`; 0: a free one. Without it there are none.",
    )
    metrics_host: str = Field("127.0.0.1", description="The address of `/metrics`.")

    def __init__(self, **values: Any) -> None:
        try:
            super().__init__(**values)
        except ValidationError as error:
            first = error.errors()[0]
            name = str(first["loc"][0])
            raise ParameterError(mistake(type(self), name, first)) from None
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
        """Take what is given alone: no variable changes what a program asks for."""
        return (init_settings,)
