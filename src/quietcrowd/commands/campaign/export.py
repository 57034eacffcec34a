"""``quietcrowd campaign export``: reports in every format, truths, and label configs."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import typer

from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import (
    LOCAL,
    Campaign,
    Key,
    Server,
    checked,
    requester_client,
)
from quietcrowd.commands.files import check_label_config
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import FORMATS, check_target, read_reports, write_reports
from quietcrowd.formats.files import refuse_overwriting, replacing, sidecar, write_beside
from quietcrowd.formats.parquet import write_parquet
from quietcrowd.formats.platforms.label_studio_config import common_texts, write_label_config
from quietcrowd.formats.registry import find_format
from quietcrowd.formats.reports import read_report_note
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    import httpx

__all__ = ["download_parquet", "export"]


def export(
    campaign_id: Campaign,
    output: Annotated[
        Path,
        typer.Option("--output", "-o", metavar="FILE", help="Its suffix says how it is written."),
    ],
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="FORMAT",
            help=f"Where the suffix does not say so: one of {', '.join(FORMATS)}.",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
    truths: Annotated[
        bool, typer.Option("--truths", help="The latest truths, and not the reports.")
    ] = False,
    label_config: options.NewLabelConfig = None,
    server: Server = LOCAL,
    secret: Key = "",
) -> None:
    """Write all reports with their mechanism, or the truths.

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef -o reports.jsonl

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef
    -o pool.tsv --format toloka

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef --truths
    -o tasks.json --label-config project.xml
    """
    chosen = find_format(output, file_format).name
    check_target(output, chosen)
    refuse_overwriting(None, output, sidecar(output), label_config)
    check_label_config(label_config, chosen)
    with requester_client(server, secret) as client:
        if truths:
            _export_truths(client, campaign_id, output, chosen)
        else:
            _export_reports(client, campaign_id, output, chosen)
        if label_config is not None:
            _export_label_config(client, campaign_id, output, label_config, truths=truths)
    note(f"Written to {output}.")


def _export_truths(client: httpx.Client, campaign_id: str, output: Path, chosen: str) -> None:
    served = {"csv": "csv", "crowd-kit": "csv", "jsonl": "jsonl", "label-studio": "label-studio"}
    if chosen not in served or output.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise ParameterError(f"{output}: truths go to a file .csv, .jsonl or .json")
    with replacing(output) as temporary:
        _download(client, f"/campaigns/{campaign_id}/truths", served[chosen], temporary)


def _export_reports(client: httpx.Client, campaign_id: str, output: Path, chosen: str) -> None:
    url = f"/campaigns/{campaign_id}/reports"
    if output.suffix.lower() == ".jsonl":
        with replacing(output) as temporary:
            _download(client, url, "jsonl", temporary)
    elif chosen in ("csv", "crowd-kit") and output.suffix.lower() == ".csv":
        about = checked(client.get(url, params={"format": "mechanism"}))
        with replacing(output) as temporary:
            _download(client, url, "csv", temporary)
            sidecar(output).unlink(missing_ok=True)
        write_beside(output, about.json())
    elif chosen == "parquet":
        download_parquet(client, campaign_id, output)
    else:
        with TemporaryDirectory() as folder:
            received = Path(folder) / "reports.jsonl"
            _download(client, url, "jsonl", received)
            write_reports(read_reports(received), output, file_format=chosen)


def download_parquet(client: httpx.Client, campaign_id: str, output: Path) -> None:
    """Download all reports of a campaign to a Parquet file, block by block.

    Raises ParameterError if the server rejects the request.
    """
    with TemporaryDirectory(dir=output.parent) as folder:
        received = Path(folder) / "reports.arrow"
        _download(client, f"/campaigns/{campaign_id}/reports", "arrow", received)
        write_parquet(received, output)


def _export_label_config(
    client: httpx.Client, campaign_id: str, output: Path, label_config: Path, *, truths: bool
) -> None:
    if not truths:
        write_label_config(label_config, read_report_note(output).mechanism.report_domain)
        return
    about = checked(client.get(f"/campaigns/{campaign_id}")).json()
    shown = common_texts(task["data"] for task in json.loads(output.read_text(encoding="utf-8")))
    write_label_config(label_config, Mechanism.from_dict(about["mechanism"]).domain, shown=shown)


def _download(client: httpx.Client, url: str, kind: str, target: Path) -> None:
    with client.stream("GET", url, params={"format": kind}) as response:
        if not response.is_success:
            response.read()
        checked(response)
        with target.open("wb") as file:
            for block in response.iter_bytes():
                file.write(block)
