"""``quietcrowd campaign export``: files of reports and truths, and all results as JSON."""

from __future__ import annotations

import json
import shutil
import sys
from enum import StrEnum
from pathlib import Path
from tempfile import SpooledTemporaryFile, TemporaryDirectory
from typing import IO, TYPE_CHECKING, Any

import typer

from quietcrowd.commands import options
from quietcrowd.commands.campaign.client import OnCampaign, checked
from quietcrowd.commands.campaign.workers import print_excluded
from quietcrowd.commands.declare import command, option
from quietcrowd.commands.files import check_label_config
from quietcrowd.commands.printing import note
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import FORMATS, check_target, read_reports, write_reports
from quietcrowd.formats.files import replacing, require_no_overwriting, sidecar, write_sidecar
from quietcrowd.formats.kinds import find_format
from quietcrowd.formats.parquet import write_parquet
from quietcrowd.formats.platforms.label_studio_config import common_texts, write_label_config
from quietcrowd.formats.reports import read_report_note
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    import httpx

_IN_MEMORY = 16 * 2**20
"""Bytes of results in memory; larger ones go to a temporary file."""

_TRIES = 5


class Content(StrEnum):
    """Contents of an exported file."""

    TRUTHS = "truths"
    REPORTS = "reports"


@command()
class Export(OnCampaign):
    """Export truths, reports or all results.

    With --json it prints all results: truths, workers and warnings. It also prints warnings and
    excluded workers as notes. Files of reports contain their mechanism.

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef -o truths.csv

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef --json

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef --content reports
    -o reports.jsonl

    Example: quietcrowd campaign export 0123456789abcdef0123456789abcdef
    -o tasks.json --label-config project.xml
    """

    output: Path | None = option(
        "--output", "-o", metavar="FILE", help="File; its suffix selects the format.", default=None
    )
    content: Content = option(help="Content of the file.", default=Content.TRUTHS)
    file_format: str | None = option(
        "--format",
        metavar="FORMAT",
        help=f"Format, if the suffix does not select it: one of {', '.join(FORMATS)}.",
        autocompletion=lambda: list(FORMATS),
        default=None,
    )
    label_config: Path | None = options.NEW_LABEL_CONFIG
    as_json: bool = option(
        "--json", help="Print all results as JSON, without a file.", default=False
    )

    def run(self) -> None:
        """Print the results, or write the file and a config of Label Studio."""
        if self.as_json == (self.output is not None):
            raise ParameterError("commands.output-or-json")
        if self.output is not None:
            self._write(self.output, truths=self.content is Content.TRUTHS)
            return
        if (self.content, self.file_format, self.label_config) != (Content.TRUTHS, None, None):
            raise ParameterError("commands.options-need-an-output")
        with self.client() as client:
            _print_results(client, self.campaign_id)

    def _write(self, output: Path, *, truths: bool) -> None:
        chosen = find_format(output, self.file_format).name
        check_target(output, chosen)
        require_no_overwriting(None, output, sidecar(output), self.label_config)
        check_label_config(self.label_config, chosen)
        with self.client() as client:
            export = _export_truths if truths else _export_reports
            export(client, self.campaign_id, output, chosen)
            if self.label_config is not None:
                _export_label_config(
                    client, self.campaign_id, output, self.label_config, truths=truths
                )
        note(f"Written to {output}.")


def _export_truths(client: httpx.Client, campaign_id: str, output: Path, chosen: str) -> None:
    served = {"csv": "csv", "crowd-kit": "csv", "jsonl": "jsonl", "label-studio": "label-studio"}
    if chosen not in served or output.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise ParameterError("commands.truths-format", output=output)
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
        write_sidecar(output, about.json())
    elif chosen == "parquet":
        download_parquet(client, campaign_id, output)
    else:
        with TemporaryDirectory() as folder:
            received = Path(folder) / "reports.jsonl"
            _download(client, url, "jsonl", received)
            write_reports(read_reports(received), output, file_format=chosen)


def download_parquet(client: httpx.Client, campaign_id: str, output: Path) -> None:
    """Download all reports of a campaign to a Parquet file, block by block."""
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


def _print_results(client: httpx.Client, campaign_id: str) -> None:
    with SpooledTemporaryFile(_IN_MEMORY) as file:
        head = _fetch(client, f"/campaigns/{campaign_id}/results", file)
        file.seek(0)
        sys.stdout.flush()
        shutil.copyfileobj(file, sys.stdout.buffer)
        typer.echo()
    for warning in head["warnings"]:
        note(f"{warning['code']}: {warning['message']}")
    print_excluded(client, campaign_id)


def _fetch(client: httpx.Client, url: str, file: IO[bytes]) -> dict[str, Any]:
    """Download complete results to a file, and return their head.

    Retries if other results replace them, and finally raises ParameterError.
    """
    import httpx

    for _ in range(_TRIES):
        head = checked(client.get(f"{url}/head"))
        file.seek(0)
        file.truncate()
        try:
            with client.stream("GET", url) as response:
                if not response.is_success:
                    response.read()
                if checked(response).headers["ETag"] != head.headers["ETag"]:
                    continue
                for block in response.iter_bytes():
                    file.write(block)
        except httpx.RemoteProtocolError:
            continue  # other results have replaced them
        found: dict[str, Any] = head.json()
        return found
    raise ParameterError("commands.results-replaced")
