"""``quietcrowd serve``: the server."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from quietcrowd.campaign.extra import require_server
from quietcrowd.commands import options
from quietcrowd.commands.declare import command, option, option_group, option_names
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError

if TYPE_CHECKING:
    from quietcrowd.campaign.server.settings import Settings


@option_group("Database")
class DatabaseSettings:
    """Settings of the places where the server stores data."""

    database: str | None = option(
        metavar="URL",
        help="sqlite:///FILE or postgresql://USER@HOST/NAME; created if missing. "
        "Default: sqlite:///quietcrowd.db",
        default=None,
    )
    withdrawal_log: str | None = option(
        metavar="URL",
        help="The journal of withdrawals, outside of the database and its copies: "
        "sqlite:///FILE, postgresql://USER@HOST/OTHER or none. Default: a file next to that "
        "of SQLite",
        default=None,
    )


@option_group("Network")
class NetworkSettings:
    """Settings of the addresses, and of those who may connect."""

    host: str | None = option(
        metavar="ADDRESS", help="The address to listen on. Default: 127.0.0.1", default=None
    )
    port: int | None = option(metavar="NUMBER", help="0: a free one. Default: 8000", default=None)
    insecure: bool | None = option(
        help="Allow an address that other machines can reach, without encryption: for a server "
        "with HTTPS on another machine, and a network without third parties.",
        default=None,
    )
    public_url: str | None = option(
        metavar="URL",
        help="The address at which workers reach the server; it is written into the page "
        "that they save. Default: the host name of the request.",
        default=None,
    )
    joins_per_minute: float | None = option(
        metavar="NUMBER",
        help="New workers from one source, in campaigns that are open to all; 100 at once. 0: "
        "no limit. Default: 30",
        default=None,
    )
    trusted_proxy: str | None = option(
        metavar="ADDRESS",
        help="The address of the proxy in front of this server, or its network as "
        "10.0.0.0/24: sources are the addresses that it states in X-Forwarded-For. "
        "Default: connecting addresses",
        default=None,
    )
    metrics_port: int | None = option(
        metavar="NUMBER",
        help="Serve /metrics there, only to this machine; 0: a free one. Default: no metrics",
        default=None,
    )


@option_group("Inference")
class InferenceSettings:
    """Settings of the inference on the server."""

    infer: bool | None = option(
        "--infer/--no-infer",
        help="Infer truths from the reports, in a separate process. Default: --infer",
        default=None,
    )
    inference_timeout: float | None = option(
        metavar="SECONDS",
        help="The time limit of an inference; the results report it if it is exceeded. "
        "Default: 600",
        default=None,
    )
    inference_memory: str | None = option(
        metavar="BYTES",
        help="The most memory of an inference; larger campaigns are inferred from files. "
        "Default: 1GB",
        default=None,
    )
    inference_folder: str | None = option(
        metavar="FOLDER",
        help="The directory for these files. Default: the system's directory for temporary files",
        default=None,
    )
    dask: str | None = option(
        metavar="ADDRESS",
        help="A Dask cluster that reads these files, as tcp://HOST:PORT; its workers must "
        "see --inference-folder under the same path. Default: only this machine",
        default=None,
    )


@command()
class Serve(DatabaseSettings, NetworkSettings, InferenceSettings):
    """Serve campaigns until stopped.

    Put a server with HTTPS in front of it: workers' devices require HTTPS.

    Example: quietcrowd serve --database sqlite:///quietcrowd.db --port 8000

    Example: quietcrowd serve --public-url https://example.org/crowd

    Example: quietcrowd serve --database postgresql://me@db/crowd \
        --withdrawal-log postgresql://me@db/crowd_departures

    Example: quietcrowd serve --settings crowd.toml --metrics-port 9464

    Example: quietcrowd serve --inference-timeout 1800 --set burst=200

    Example: quietcrowd serve --host 10.0.0.2 --insecure --trusted-proxy 10.0.0.1

    Example: quietcrowd serve --inference-memory 2GB --dask tcp://10.0.0.5:8786 \
        --inference-folder /shared/quietcrowd

    Example: quietcrowd serve --trusted-proxy 127.0.0.1 --joins-per-minute 10
    """

    settings: Path | None = option(
        metavar="FILE",
        envvar="QUIETCROWD_SETTINGS",
        help="A TOML file of settings. Options override variables, and variables override "
        "the file.",
        default=None,
    )
    accept_lost_withdrawal_log: bool = options.ACCEPT_LOST_WITHDRAWAL_LOG
    new: bool = option(
        help="Give it once to begin with a new database although an earlier one is missing.",
        default=False,
    )
    assignments: list[str] | None = option(
        "--set",
        metavar="NAME=VALUE",
        help="Any other setting of docs/run/settings.md, as often as you like.",
        default=None,
    )

    def run(self) -> None:
        """Read the settings, and serve."""
        require_server()
        from quietcrowd.campaign.server.app import serve
        from quietcrowd.campaign.server.settings import read_settings

        names = [name for group in Serve.__bases__ for name in option_names(group)]
        given = {name: getattr(self, name) for name in names}  # None if not given
        found = read_settings(self.settings, given, self.assignments or ())
        _require_departures(found)
        if self.new:
            _begin_new(found)
        if self.accept_lost_withdrawal_log:
            _accept_loss(found)
        serve(found, note)


def _begin_new(settings: Settings) -> None:
    from quietcrowd.campaign.store.opening import begin_new

    left = begin_new(settings)
    if left is None:
        note("The database exists: omit --new.")
    for one in left or ():
        note(f"Left behind: {one}.")


def _accept_loss(settings: Settings) -> None:
    from quietcrowd.campaign.store.opening import accept_loss

    if accept_loss(settings):
        note(
            "Copies restore workers withdrawn before: make a new copy, and delete the earlier ones."
        )
    else:
        note("The journal of withdrawals exists: omit --accept-lost-withdrawal-log.")


def _require_departures(settings: Settings) -> None:
    """Require a separate place for withdrawals with PostgreSQL: a dump must not contain them."""
    if settings.withdrawal_log is None and settings.database.startswith("postgresql"):
        raise ParameterError("commands.departures-missing")
