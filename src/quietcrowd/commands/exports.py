"""From a server to files of a requester: reports in every format, truths, and label configs."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from quietcrowd.commands.requester import checked
from quietcrowd.exceptions import ParameterError
from quietcrowd.formats import read_reports, write_reports
from quietcrowd.formats.files import replacing, sidecar, write_beside
from quietcrowd.formats.label_config import common_texts, write_label_config
from quietcrowd.formats.report_files import read_report_note
from quietcrowd.mechanisms import Mechanism

if TYPE_CHECKING:
    import httpx

__all__ = ["export_label_config", "export_reports", "export_truths"]


def export_truths(client: httpx.Client, one: str, output: Path, chosen: str) -> None:
    """Let the server write the latest truths to a file, in one of the formats.

    Raises
    ------
    ParameterError
        Where it is none that the server writes, or the server refuses.
    """
    served = {"csv": "csv", "crowd-kit": "csv", "jsonl": "jsonl", "label-studio": "label-studio"}
    if chosen not in served or output.suffix.lower() not in (".csv", ".jsonl", ".json"):
        raise ParameterError(f"{output}: truths go to a file .csv, .jsonl or .json")
    with replacing(output) as temporary:
        _download(client, f"/campaigns/{one}/truths", served[chosen], temporary)


def export_reports(client: httpx.Client, one: str, output: Path, chosen: str) -> None:
    """Let the server write reports in the formats that it can, and convert to the others here.

    Raises
    ------
    ParameterError
        Where the server refuses.
    """
    url = f"/campaigns/{one}/reports"
    if output.suffix.lower() == ".jsonl":
        with replacing(output) as temporary:
            _download(client, url, "jsonl", temporary)
    elif chosen in ("csv", "crowd-kit") and output.suffix.lower() == ".csv":
        about = checked(client.get(url, params={"format": "mechanism"}))
        with replacing(output) as temporary:
            _download(client, url, "csv", temporary)
            sidecar(output).unlink(missing_ok=True)
        write_beside(output, about.json())
    else:
        with TemporaryDirectory() as folder:
            received = Path(folder) / "reports.jsonl"
            _download(client, url, "jsonl", received)
            write_reports(read_reports(received), output, file_format=chosen)


def export_label_config(
    client: httpx.Client, one: str, output: Path, label_config: Path, *, truths: bool
) -> None:
    """Write the config of a project of Label Studio for the tasks that were written to a file.

    Parameters
    ----------
    client : httpx.Client
        Of a requester.
    one : str
        The campaign, in hex.
    output : Path
        What `export_reports` or `export_truths` has written.
    label_config : Path
        The file to write.
    truths : bool
        Whether truths were written, and not reports.

    Raises
    ------
    ParameterError
        Where the server refuses.
    """
    if not truths:
        write_label_config(label_config, read_report_note(output).mechanism.report_domain)
        return
    about = checked(client.get(f"/campaigns/{one}")).json()
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
