"""What a version finds in the committed files."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tests.compatibility.campaigns import use
from tests.compatibility.files import write_json
from tests.compatibility.memos import memo_reports, private_copy
from tests.compatibility.spelling import in_hex


def write_observed(written: Path, path: Path) -> None:
    """Write what memos, the database and the devices give, floats bit by bit."""
    with TemporaryDirectory() as place:
        memos = memo_reports(private_copy(written / "memos", Path(place) / "memos"))
    campaigns = written / "campaigns"
    found = {
        "memos": memos,
        **use(campaigns),
    }
    flat = {f"{name}/{one}": in_hex(found[name][one]) for name in found for one in found[name]}
    write_json(path, flat)
