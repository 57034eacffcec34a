"""Counts words and phrases that make our English hard to read, for each kind of text.

``python -m tests.prose`` fails if a rate is above its limit in ``tests/prose.toml``, and above its
baseline there, which may only fall. ``--show MARKER`` prints each place; ``--write`` writes lower
baselines. The counts are a thermometer: change a sentence because it reads badly.
"""

import argparse
import ast
import io
import json
import re
import sys
import tokenize
import tomllib
from collections import defaultdict
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[1]
SETTINGS = ROOT / "tests" / "prose.toml"

FEW = 3
"""Occurrences that never fail: the rate of a short text says little."""

_MARKDOWN = re.compile(r"```.*?```|<!--.*?-->|\]\([^)]*\)|`[^`\n]*`|^\|[^\n]*$", re.S | re.M)
_COMMENT = re.compile(r"/\*.*?\*/|(?<!:)//[^\n]*", re.S)
_QUOTED = re.compile(r"\"(?:[^\"\\\n]|\\.)*\"")
_EXAMPLE = re.compile(r"``.*?``|`[^`\n]*`|^ *(?:>>>|\.\.\.) [^\n]*", re.S | re.M)
_DIRECTIVE = re.compile(r"#!|# ?(?:noqa|type:|pragma|fmt:)")


class Text(NamedTuple):
    """A piece of prose, and where it begins."""

    path: Path
    line: int
    words: str


def of_python(path, texts):
    """Collect docstrings, comments, messages of three words or more, and names of definitions."""
    source = path.read_text(encoding="utf-8")
    documents, parts = set(), set()
    for node in ast.walk(ast.parse(source)):
        place = getattr(node, "lineno", 0), getattr(node, "col_offset", 0)
        match node:
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                texts["names"].append(Text(path, node.lineno, node.name))
            case ast.Expr(value=ast.Constant(value=str())):
                documents.add(place)
            case ast.JoinedStr():
                inside = [part for part in node.values if isinstance(part, ast.Constant)]
                parts.update((part.lineno, part.col_offset) for part in inside)
                add_message(texts, path, node.lineno, " ".join(part.value for part in inside))
            case ast.Constant(value=str()) if place in documents:
                words = _EXAMPLE.sub("", node.value)
                texts["docstrings"].append(Text(path, node.lineno, words))
            case ast.Constant(value=str()) if place not in parts:
                add_message(texts, path, node.lineno, node.value)
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.COMMENT and not _DIRECTIVE.match(token.string):
            texts["comments"].append(Text(path, token.start[0], token.string[1:]))


def add_message(texts, path, line, words):
    if len(words.split()) >= 3:
        texts["messages"].append(Text(path, line, words))


def of_script(path, texts):
    """Collect the comments of JavaScript and C++, and the messages of JavaScript."""
    source = path.read_text(encoding="utf-8")
    for found in _COMMENT.finditer(source):
        line = source.count("\n", 0, found.start()) + 1
        texts["comments"].append(Text(path, line, re.sub(r"@\w+ (?:\{.*?\})?", "", found[0])))
    if path.suffix == ".js":
        for found in _QUOTED.finditer(_COMMENT.sub("", source)):
            add_message(texts, path, 1, found[0])


def gather(root=ROOT):
    """Return all texts of the repository by kind: lists of `Text`."""
    texts = defaultdict(list)
    for path in sorted((root / "src").rglob("*.py")):
        of_python(path, texts)
    scripts = [*(root / "src").rglob("*.js"), *(root / "core").rglob("*.[hc]*")]
    for path in sorted(path for path in scripts if path.suffix in (".js", ".h", ".cpp")):
        of_script(path, texts)
    for path in sorted((root / "src" / "quietcrowd" / "texts").glob("*.toml")):
        for line, words in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            texts["messages"].append(Text(path, line, words.partition(" = ")[2]))
    for path in sorted((root / "src").rglob("en.json")):
        sentences = json.loads(path.read_text(encoding="utf-8")).values()
        texts["messages"] += [Text(path, 1, one) for one in sentences if isinstance(one, str)]
    for path in (
        root / "README.md",
        root / "CONTRIBUTING.md",
        *sorted((root / "docs").rglob("*.md")),
        *sorted((root / "research" / "docs" / "theory").glob("*.md")),
    ):
        kind = "readme" if path.parent == root else "docs"
        texts[kind].append(Text(path, 1, _MARKDOWN.sub(" ", path.read_text(encoding="utf-8"))))
    return texts


def places(texts, marker):
    """Yield (text, match) for each occurrence of a marker."""
    pattern = re.compile(marker["pattern"], re.IGNORECASE)
    allowed = [re.compile(one["text"], re.IGNORECASE) for one in marker.get("allowed", [])]
    for text in texts:
        words = text.words
        for one in allowed:
            words = one.sub(lambda use: " " * len(use[0]), words)
        for found in pattern.finditer(words):
            yield text, found


def rates(texts, markers):
    """Return (rate per 1,000 words, count) by kind and marker; of names per 1,000 definitions."""
    found = {}
    for kind, parts in sorted(texts.items()):
        count = len(parts) if kind == "names" else sum(len(part.words.split()) for part in parts)
        for name, marker in markers.items():
            if kind in marker.get("kinds", texts):
                number = sum(1 for _ in places(parts, marker))
                found[kind, name] = (1000 * number / max(count, 1), number)
    return found


def excesses(found, settings):
    """Return a line for each rate that is above its limit and its baseline."""
    lines = []
    for (kind, name), (rate, number) in found.items():
        marker = settings["markers"][name]
        limit = marker["docs" if kind == "docs" else "limit"]
        baseline = settings.get("baseline", {}).get(kind, {}).get(name, 0.0)
        if number > FEW and rate > max(limit, baseline) + 0.005:
            most = max(limit, baseline)
            lines.append(f"{kind}: {name} {rate:.2f} per 1,000, {number} times; at most {most:g}")
    return lines


def lowered(found, settings):
    """Return baselines of the rates above their limits, none new or higher than before."""
    table = defaultdict(dict)
    for (kind, name), (rate, number) in found.items():
        marker = settings["markers"][name]
        before = settings.get("baseline", {}).get(kind, {}).get(name, 0.0)
        if before and number > FEW and rate > marker["docs" if kind == "docs" else "limit"]:
            table[kind][name] = min(round(rate + 0.005, 2), before)
    return table


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--show", metavar="MARKER", help="print every place of a marker")
    parser.add_argument("--write", action="store_true", help="write lower baselines")
    options = parser.parse_args()
    settings, texts = tomllib.loads(SETTINGS.read_text(encoding="utf-8")), gather()
    if options.show:
        for kind, parts in sorted(texts.items()):
            for text, found in places(parts, settings["markers"][options.show]):
                line = text.line + text.words.count("\n", 0, found.start())
                near = " ".join(text.words[max(0, found.start() - 40) : found.end() + 40].split())
                print(f"{text.path.relative_to(ROOT)}:{line}: {kind}: {near}")
        return
    found = rates(texts, settings["markers"])
    if options.write:
        head = SETTINGS.read_text(encoding="utf-8").partition("[baseline.")[0].rstrip()
        for kind, table in lowered(found, settings).items():
            head += f"\n\n[baseline.{kind}]\n"
            head += "\n".join(f"{name} = {rate:g}" for name, rate in sorted(table.items()))
        SETTINGS.write_text(head + "\n", encoding="utf-8")
        return
    lines = excesses(found, settings)
    sys.exit("\n".join([*lines, "See tests/prose.py --show MARKER."]) if lines else None)


if __name__ == "__main__":
    main()
