"""The worker page: one document for all campaigns, one file to be saved, and their hashes.

The modules of the page are joined when the package is imported; the order is that of imports.
"""

import json
import re
from collections.abc import Mapping
from posixpath import basename, dirname, join, normpath, splitext
from typing import TypeAlias

import quietcrowd
from quietcrowd.campaign.web.files import (
    PAGE,
    SERVICE_WORKER,
    WORKER,
    PageFile,
    fill,
    html_file,
    policy_hash,
)

ANY_CAMPAIGN = "0" * 32
"""Id in the address under which browsers store the page, which is the same for all campaigns."""

START, BUNDLE, STYLE_SHEET = "page/main.js", "page.js", "worker.css"
MESSAGES = "{{messages}}"
APP, ICON = "app.webmanifest", "icon.svg"
APP_LINK = f'  <link rel="manifest" href="../worker/{APP}">\n'
STYLE = f'<link rel="stylesheet" href="../worker/{STYLE_SHEET}">'
SCRIPT = f'<script type="module" src="../worker/{START}"></script>'
"""Parts of the template; each occurs once."""

_IMPORT = re.compile(r'^import (\{[^}]*\}|\w+) from "([^"]*)"(?: with \{[^}]*\})?;\n', re.MULTILINE)
_EXPORT = re.compile(r"^export (?=(?:async )?(?:function|class|const|let)\b)", re.MULTILINE)
_DECLARED = re.compile(
    r"^(export )?(?:async )?(?:(?:function|class) (\w+)|(?:const|let|var) ([^=;]+))", re.MULTILINE
)
_WORD = re.compile(r"\w+")
_NONE: Mapping[str, str] = {}
_ROOT, _SERVER, _CHARSET = '<html lang="en"', "{{server}}", '<meta charset="utf-8">'


Modules: TypeAlias = Mapping[str, PageFile]


def modules_in_order(start: str = START, modules: Modules | None = None) -> list[str]:
    """Return the paths of a module and of all its imports, in the order in which they run."""
    files = WORKER if modules is None else modules
    found: dict[str, None] = {}

    def visit(path: str, above: tuple[str, ...]) -> None:
        if path in found:
            return
        for names, name in _IMPORT.findall(files[path].text):
            other = normpath(join(dirname(path), name))
            if other not in files:
                raise ValueError(f"{path} imports {other}, which is missing")
            if other in above:
                raise ValueError(f"{path} imports {other}, which imports it")
            if missing := {*_WORD.findall(names)} - _declared_names(other, files, exported=True):
                raise ValueError(f"{path} imports {min(missing)}, which {other} does not export")
            visit(other, (*above, path))
        found[path] = None

    visit(start, (start,))
    return list(found)


def _declared_names(path: str, files: Modules, *, exported: bool = False) -> set[str]:
    """Return the names at the top of a module, all or those that it exports."""
    return {
        name
        for export, *names in _DECLARED.findall(_module(path, files))
        if export or not exported
        for name in _WORD.findall(" ".join(names))
    }


def joined_modules(start: str = START, modules: Modules | None = None) -> str:
    """Return a module and all its imports as one, without imports and exports."""
    files = WORKER if modules is None else modules
    where: dict[str, str] = {}
    parts = []
    for path in modules_in_order(start, files):
        for name in sorted(_declared_names(path, files)):
            if name in where:
                raise ValueError(f"{where[name]} and {path} both declare {name}")
            where[name] = path
        text = _EXPORT.sub("", _IMPORT.sub("", _module(path, files)))
        parts.append(f"\n// {path}\n\n{text.strip()}\n")
    return "".join(parts)


def _module(path: str, files: Modules) -> str:
    """Return the text of a module; one of data declares its file's name, as all import it."""
    text = files[path].text
    name, suffix = splitext(basename(path))
    return f"export const {name} = {text.strip()};\n" if suffix == ".json" else text


def messages_blocks() -> str:
    """Return the messages of all languages as data blocks, which browsers do not run."""
    blocks = []
    for path, file in WORKER.items():
        folder, _, name = path.rpartition("/")
        if folder == "messages":
            text = json.dumps(json.loads(file.text), ensure_ascii=False, separators=(",", ":"))
            language, data = name.removesuffix(".json"), text.replace("<", r"\u003c")
            blocks.append(
                f'<script type="application/json" data-messages="{language}">{data}</script>'
            )
    return "\n".join(blocks)


WORKER_FILES: Mapping[str, PageFile] = {
    BUNDLE: PageFile(content=joined_modules().encode(), media_type=WORKER[START].media_type),
    **{path: WORKER[path] for path in (STYLE_SHEET, APP, ICON)},
}
"""Files that the page loads, by path below ``/worker/``."""

WORKER_PAGE = html_file(
    fill(
        WORKER[PAGE].text,
        {
            STYLE: STYLE.replace(">", f' integrity="{WORKER_FILES[STYLE_SHEET].integrity}">'),
            SCRIPT: f'<script type="module" src="../worker/{BUNDLE}" '
            f'integrity="{WORKER_FILES[BUNDLE].integrity}"></script>',
            MESSAGES: messages_blocks(),
        },
    )
)
WORKER_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self'",
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
        "trusted-types service-worker",
    )
)
"""The page, and its header ``Content-Security-Policy``."""


STYLE_TEXT = f"\n{WORKER_FILES[STYLE_SHEET].text}"


def one_file(script: str, head: Mapping[str, str] = _NONE) -> str:
    """Return the page with its style and a script inside; `head` replaces further parts."""
    return fill(
        WORKER[PAGE].text,
        {
            STYLE: f"<style>{STYLE_TEXT}</style>",
            SCRIPT: f'<script type="module">{script}</script>',
            MESSAGES: messages_blocks(),
            APP_LINK: "",
            **head,
        },
    )


def _template() -> str:
    """Return the page with all files that it loads, and a placeholder for the server's address."""
    script = WORKER_FILES[BUNDLE].text
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {policy_hash(script)}",
            f"style-src {policy_hash(STYLE_TEXT)}",
            "img-src data: blob:",
            f"connect-src {_SERVER}/",
            "base-uri 'none'",
            "form-action 'none'",
            "require-trusted-types-for 'script'",
            "trusted-types 'none'",
        )
    )
    return one_file(
        script,
        {
            _ROOT: f'{_ROOT} data-server="{_SERVER}"',
            _CHARSET: f'{_CHARSET}\n  <meta http-equiv="Content-Security-Policy" '
            f'content="{policy}">',
        },
    )


SAVED_TEMPLATE = html_file(_template())  # the saved page, without a server's address


def saved_page(server: str) -> PageFile:
    """Return the saved page of a server, given its address as `ServerAddress` formats it."""
    return html_file(SAVED_TEMPLATE.text.replace(_SERVER, server))


SERVED: Mapping[str, PageFile] = {
    **{f"j/{path}": file for path, file in WORKER.items() if path == SERVICE_WORKER},
    **{f"worker/{path}": file for path, file in WORKER_FILES.items()},
}
"""All files that the page may load, by path below the server's address."""


MANIFEST = PageFile(
    content=(
        json.dumps(
            {
                "version": quietcrowd.__version__,
                "files": {path: file.integrity for path, file in SERVED.items()},
                "page": WORKER_PAGE.integrity,
                "saved_page": SAVED_TEMPLATE.integrity,
            },
            indent=2,
        )
        + "\n"
    ).encode(),
    media_type="application/json; charset=utf-8",
)
"""Version of the release, and the SHA-384 of every file, the page, and the saved page's template.
"""
