"""The files of the studio, read without a browser: what they may do, and that they fit."""

import re
from html.parser import HTMLParser
from importlib.resources import files

import pytest
from tests.campaign.mechanisms import MECHANISMS, reports_of
from tests.campaign.people import api_document

from quietcrowd.campaign.results.reports import MemoryRows, StoredReports
from quietcrowd.campaign.results.snapshots import Again, snapshot
from quietcrowd.campaign.server.problem_responses import ProblemDocument
from quietcrowd.campaign.web.files import PREVIEW, WORKER
from quietcrowd.inference import METHODS, usual_method

FOLDER = files("quietcrowd.campaign.web") / "studio"
TEXTS = {file.name: file.read_text("utf-8") for file in sorted(FOLDER.iterdir())}
SCRIPTS = {name: text for name, text in TEXTS.items() if name.endswith(".js")}
DEVICE = PREVIEW["device.js"].text
SHARED = ("elements.js", "qr.js")
"""Modules of the worker's page that the studio imports."""
PAGE = TEXTS["index.html"]
STYLE = WORKER["worker.css"].text + TEXTS["studio.css"]

FORBIDDEN = {
    "js": (
        r"\w+://",
        r"\beval\b",
        r"\bFunction\b",
        r"\bimport\(",
        r"innerHTML",
        r"outerHTML",
        r"insertAdjacentHTML",
        r"createContextualFragment",
        r"document\.write",
        r"Math\.random",
        r"localStorage",
        r"sessionStorage",
        r"indexedDB",
        r"\.cookie\b",
        r"\.style\b",
        r"\bconsole\b",
        r"\.on[a-z]+\s*=[^=]",
        r"setAttribute\(\s*[\"'](?:on|style|src|href)",
        r"(?:setTimeout|setInterval)\(\s*[\"'`]",
    ),
    "html": (
        r"\w+://",
        r"\son\w+\s*=",
        r"\sstyle\s*=",
        r"<style",
        r"<script(?![^>]*\ssrc=)",
        r"<script[^>]*>[^<]",
        r"javascript:",
        r"<input(?![^>]*type=\"radio\")[^>]*\sname=",
        r"<form[^>]*\saction=",
        r"<(?:iframe|object|embed|base)\b",
    ),
    "css": (r"\w+://", r"@import", r"\burl\(", r"expression\("),
}

SINS = {
    "js": "x = 'https://x'; eval(1); Function(1); import(a); a.innerHTML; a.outerHTML; "
    "insertAdjacentHTML; createContextualFragment; document.write; Math.random(); localStorage; "
    "sessionStorage; indexedDB; a.cookie; a.style; console; a.onclick = 1; setAttribute('style'); "
    "setTimeout('a')",
    "html": "http://x <a onclick=1 style=1> <style> <script></script> <script src=a>1</script> "
    "javascript: <input id=a name=k> <form action=x> <base>",
    "css": "https://x @import url(a) expression(b)",
}


def sins(kind, text):
    return [pattern for pattern in FORBIDDEN[kind] if re.search(pattern, text)]


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_forbidden_is_in_a_file(name):
    assert sins(name.rpartition(".")[2], TEXTS[name]) == []


@pytest.mark.parametrize("kind", FORBIDDEN)
def test_what_is_forbidden_would_be_found(kind):
    assert sins(kind, SINS[kind]) == list(FORBIDDEN[kind])


class Page(HTMLParser):
    """The elements of the page: (tag, attributes, template that they are in)."""

    def __init__(self):
        super().__init__()
        self.elements = []
        self.template = ""
        self.feed(PAGE)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag == "template":
            self.template = found["id"]
        self.elements.append((tag, found, self.template))

    def handle_endtag(self, tag):
        if tag == "template":
            self.template = ""

    def all(self, tag):
        return [attributes for one, attributes, _ in self.elements if one == tag]

    def ids(self, template=None):
        return [
            attributes["id"]
            for tag, attributes, place in self.elements
            if "id" in attributes and (template is None or place in ("", template))
        ]


def test_every_element_that_a_script_asks_for_exists():
    page = Page()
    for template in (attributes["id"] for attributes in page.all("template")):
        ids = page.ids(template)
        assert len(set(ids)) == len(ids), template
    asked = [one for text in SCRIPTS.values() for one in re.findall(r'byId\("([\w-]+)"\)', text)]
    assert set(asked) <= set(page.ids())
    assert len(set(asked)) > 60


def test_every_value_that_a_template_asks_for_is_one_of_its_screen():
    """A misspelt name of a value or of an act would leave an empty place."""
    words = set(re.findall(r"\w+", "\n".join(SCRIPTS.values())))
    for _, attributes, template in Page().elements:
        for kind in ("text", "put", "do", "value", "if"):
            if f"data-{kind}" in attributes:
                assert attributes[f"data-{kind}"] in words, (template, attributes)


def test_labels_and_names_are_there():
    page = Page()
    labels = {attributes.get("for") for attributes in page.all("label")}
    wrapped = re.findall(r"<label[^>]*>[^<]*<input ([^>]*)>", PAGE)
    for tag in ("input", "select", "textarea"):
        for attributes in page.all(tag):
            is_wrapped = any(f'id="{attributes.get("id")}"' in one for one in wrapped)
            is_named = attributes.get("type") in ("radio", "search") or "aria-label" in attributes
            is_hidden = "hidden" in attributes
            assert attributes.get("id") in labels or is_wrapped or is_named or is_hidden, attributes
    ids = page.ids()
    for _, attributes, _ in page.elements:
        for relation in ("aria-labelledby", "aria-describedby", "for"):
            for target in attributes.get(relation, "").split():
                assert target in ids
    for attributes in page.all("svg"):
        is_picture = attributes.get("role") == "img"  # series.js gives it its label
        assert is_picture or attributes["aria-hidden"] == "true"
    assert page.all("html") == [{"lang": "en"}]


def test_scripts_import_what_others_export_and_nothing_is_left_over():
    exported = {
        (name, one)
        for name, text in SCRIPTS.items()
        for one in re.findall(
            r"^export (?:async )?(?:function\*?|class|const) (\w+)", text, re.MULTILINE
        )
    }
    imported = {
        (name, one.strip())
        for text in SCRIPTS.values()
        for names, name in re.findall(
            r'^import \{ (.*?) \} from "\./([\w.]+)";$', text, re.MULTILINE
        )
        for one in names.split(",")
    }
    assert {pair for pair in imported if pair[0] not in SHARED} == exported
    for text in SCRIPTS.values():
        assert text.count("import ") == len(re.findall(r"^import \{", text, re.MULTILINE))
    assert {attributes["src"] for attributes in Page().all("script")} == {"../web/studio/main.js"}
    assert {name for name, _ in imported} | {"main.js"} == {*SCRIPTS, *SHARED}


def result_rows():
    """Return results of labels and of numbers."""
    found = []
    for name in ("one-layer", "laplace"):
        reports = reports_of(MECHANISMS[name], tasks=3, workers=4, seed=1)
        method = METHODS[usual_method(reports.table.domain, reports.mechanism)]()
        rows = MemoryRows(reports=reports)
        stored = StoredReports(rows=rows, independent=rows, again={}, known_truths=None)
        found_here = stored.infer(method, None)
        one = snapshot(
            found_here, rows, rows, again=Again({}, 1), config_hash="", messages=(), answers=3
        )
        found.append({**one.head, "truths": list(one.truths), "workers": list(one.workers)})
    return found


@pytest.mark.filterwarnings("ignore::quietcrowd.exceptions.QuietcrowdWarning")
def test_every_field_that_a_script_reads_is_one_of_the_interface():
    schemas = api_document()["components"]["schemas"]
    results = result_rows()
    fields = {
        "campaign": set(schemas["CampaignDocument"]["properties"]),
        "results": set(schemas["ResultHead"]["properties"]),
        "page": set(schemas["ResultRows"]["properties"]),
        "reading": set(schemas["FileReading"]["properties"]),
        "server": set(schemas["ServerDocument"]["properties"]),
        "plan": set(schemas["PlanDocument"]["properties"]),
        "row": {
            *schemas["CampaignDocument"]["properties"],
            *schemas["PlanRowDocument"]["properties"],
        },
        "warning": set(schemas["Caution"]["properties"]),
        "task": set(schemas["TaskDocument"]["properties"]),
        "problem": set(ProblemDocument.model_fields),
        "truth": {"decided", *(name for one in results for row in one["truths"] for name in row)},
        "worker": {name for one in results for row in one["workers"] for name in row},
    }
    read = {
        (kind, field)
        for text in SCRIPTS.values()
        for kind, field in re.findall(
            r"(?<![\w.#\"])(\w+?)(?:s\[0\])?\.(\w+)",
            re.sub(r"^import.*", "", text, flags=re.MULTILINE),
        )
        if kind in fields
    }
    assert {kind for kind, _ in read} == fields.keys()
    assert [pair for pair in sorted(read) if pair[1] not in fields[pair[0]]] == []
    for one in results:
        assert set(one) == fields["results"] - {"no_estimates", "decided_from", "round"}


def luminance(colour):
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one, other):
    """Return the contrast of two colours, as WCAG 2 defines it."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_everything_can_be_read_in_both_schemes(scheme):
    blocks = re.findall(r":root \{(.*?)\}", STYLE, re.DOTALL)
    texts = blocks[::2] if scheme == "light" else blocks[1::2]
    colours = dict(re.findall(r"--([\w-]+): (#\w{6});", "".join(texts)))
    backgrounds = {
        "ink": ("ground", "card", "note", "bad-tint", "tint", "line"),
        "quiet": ("ground", "card"),
        "accent": ("ground", "card", "tint"),
        "on-accent": ("accent",),
        "bad": ("ground", "card", "bad-tint"),
    }
    for text, behind in backgrounds.items():
        for ground in behind:
            assert contrast(colours[text], colours[ground]) >= 4.5, (text, ground)
    assert contrast(colours["accent"], colours["bar"]) >= 3
    assert set(re.findall(r"var\(--([\w-]+)\)", TEXTS["studio.css"])) <= colours.keys()


def test_a_preview_has_all_of_a_device_that_the_page_uses():
    page = "".join(file.text for path, file in WORKER.items() if path.startswith("page/"))
    used = {*re.findall(r"\bdevice\.(\w+)", page), *re.findall(r"\{ ([\w, ]+) \} = device\b", page)}
    names = {name for one in used - {"js"} for name in one.split(", ")}
    there = set(re.findall(r"^  (?:async |static async )?(\w+)(?:\(| = |;)", DEVICE, re.MULTILINE))
    assert "answersWithin" in names
    assert names - there == {"closes"}  # which is left open there


def test_a_key_comes_from_its_field_alone_and_stays_in_memory():
    fragment = SCRIPTS["credentials.js"]
    assert 'history.replaceState(null, "", location.pathname)' in fragment
    assert 'brought.get("c")' in fragment
    assert 'brought.has("k")' in fragment
    assert fragment.count("brought.get") == 1
    assert [name for name, text in SCRIPTS.items() if "location.hash" in text] == [
        "credentials.js",
        "main.js",
    ]
    assert [name for name, text in SCRIPTS.items() if re.search("#key|#secret", text)] == ["api.js"]
    [shown] = re.findall(r"`Bearer .*?`", "".join(SCRIPTS.values()))
    assert shown == "`Bearer ${this.#secret}`"
    [field] = [attributes for attributes in Page().all("input") if attributes.get("id") == "key"]
    assert (field["type"], field["autocomplete"]) == ("password", "current-password")
