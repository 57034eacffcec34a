import base64
import hashlib
import json

import quietcrowd
from quietcrowd.campaign.web.manifest import MANIFEST, SERVED
from quietcrowd.campaign.web.saved_page import SAVED_TEMPLATE
from quietcrowd.campaign.web.worker_page import WORKER_PAGE

MOST_BYTES = 260_000
"""Of all but messages and the table of look-alike characters, which has a limit of its own."""

TABLE = "worker/terms/confusables.js"


def hashed(content):
    return f"sha384-{base64.b64encode(hashlib.sha384(content).digest()).decode()}"


def test_the_manifest_names_the_hash_of_all_that_is_served():
    assert json.loads(MANIFEST.text) == {
        "version": quietcrowd.__version__,
        "files": {path: hashed(file.content) for path, file in SERVED.items()},
        "page": hashed(WORKER_PAGE.content),
        "saved_page": hashed(SAVED_TEMPLATE.content),
    }


def test_all_of_the_page_is_small():
    scripts = [file for path, file in SERVED.items() if "/messages/" not in path and path != TABLE]
    assert sum(len(file.content) for file in (WORKER_PAGE, *scripts)) < MOST_BYTES
