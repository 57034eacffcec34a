import tomllib

from tests import prose

SOURCE = '''
"""A law beside it."""


def tell_all(name):
    """Return who it is: ``who`` in code does not count.

    >>> who = 1
    """
    # whoever reads this  # a law
    value = 1  # noqa: E501 law
    return f"nobody of {name} tells", "two words", "a law of large numbers here"
'''

SETTINGS = {
    "markers": {
        "law": {
            "pattern": r"\blaws?\b",
            "limit": 10,
            "docs": 500,
            "allowed": [{"text": "law of large numbers", "why": "a theorem"}],
        },
        "who": {"pattern": r"\b(?:who|whoever)\b", "limit": 0, "docs": 0},
    },
    "baseline": {"docstrings": {"law": 90.0}},
}


def texts_of(tmp_path):
    path = tmp_path / "module.py"
    path.write_text(SOURCE)
    texts = {kind: [] for kind in ("docstrings", "comments", "messages", "names")}
    prose.of_python(path, texts)
    return texts


def test_each_kind_of_text_is_found_once(tmp_path):
    texts = texts_of(tmp_path)
    found = {kind: [text.words.strip() for text in parts] for kind, parts in texts.items()}
    assert found["names"] == ["tell_all"]
    assert found["comments"] == ["whoever reads this  # a law"]
    assert found["messages"] == ["nobody of   tells", "a law of large numbers here"]
    assert found["docstrings"][0] == "A law beside it."
    assert "in code does not count" in found["docstrings"][1]
    assert ">>>" not in found["docstrings"][1]
    assert [text.line for text in texts["docstrings"]] == [2, 6]


def test_allowed_uses_do_not_count(tmp_path):
    texts = texts_of(tmp_path)
    law = SETTINGS["markers"]["law"]
    assert [text.words for text, _ in prose.places(texts["messages"], law)] == []
    assert len([*prose.places(texts["comments"], law)]) == 1


def test_a_rate_fails_above_its_limit_and_its_baseline_unless_it_is_of_few():
    def lines(rate, number, kind="docstrings"):
        return prose.excesses({(kind, "law"): (rate, number)}, SETTINGS)

    assert lines(91.0, 50) == ["docstrings: law 91.00 per 1,000, 50 times; at most 90"]
    assert lines(90.0, 50) == lines(91.0, prose.FEW) == []
    assert lines(11.0, 50, "comments") == ["comments: law 11.00 per 1,000, 50 times; at most 10"]
    assert lines(499.0, 50, "docs") == []


def test_baselines_only_fall():
    def written(rate, kind="docstrings"):
        return prose.lowered({(kind, "law"): (rate, 50)}, SETTINGS)

    assert written(70.0)["docstrings"]["law"] < 70.01
    assert written(95.0)["docstrings"]["law"] == 90.0
    assert "docstrings" not in written(9.0)
    assert not written(70.0, kind="comments")


def test_settings_may_have_no_baseline():
    settings = {"markers": SETTINGS["markers"]}
    found = {("docstrings", "law"): (20.0, 50)}
    assert prose.excesses(found, settings) == [
        "docstrings: law 20.00 per 1,000, 50 times; at most 10"
    ]
    assert prose.lowered(found, settings) == {}


def test_every_exception_has_a_reason():
    settings = tomllib.loads(prose.SETTINGS.read_text(encoding="utf-8"))
    for marker in settings["markers"].values():
        assert all(one["why"] for one in marker.get("allowed", []))
