"""Tests stand where what they test stands: they mirror their package file by file."""

from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGES = {
    Path("tests"): Path("src", "quietcrowd"),
    Path("research", "tests"): Path("research", "src", "quietcrowd_research"),
}
"""The package that each folder of tests mirrors."""

APART = {
    Path("tests", "compatibility"): "what earlier versions wrote, read and used by this one",
    Path(
        "tests", "campaign", "conformance"
    ): "both clients of a worker, the Python one and the page",
    Path("tests", "core"): "core/, every kernel by the name of its file",
    Path("tests", "deploy"): "deploy/, with the programs that it is for",
}
"""Folders that are about several of the package, and what about them."""

FILES = [
    path.relative_to(ROOT) for tests in PACKAGES for path in sorted((ROOT / tests).rglob("*.py"))
]
PLACES = [file for file in FILES if not any(file.is_relative_to(folder) for folder in APART)]
MODULES = [place for place in PLACES if place.name[:5] == "test_"]
FOLDERS = sorted({place.parent for place in PLACES})

NO_MIRROR = {
    "test_architecture": "the pictures of the folders, and the page about them",
    "test_answer_rounds": "the command that answers, in campaigns with a menu or rounds",
    "test_audit_shares": "a table of research/docs/audit.md, for all mechanisms",
    "test_broken_mechanisms": "mechanisms that are broken on purpose, and the audit of each",
    "test_client_rounds": "a device, in campaigns with a menu or rounds",
    "test_consent_page": "the screen of consent, with what a device says of a campaign",
    "test_contract": "every route, by requests that are made from the OpenAPI document",
    "test_contributing": "what CONTRIBUTING.md prints, through everything",
    "test_crashes": "the whole server, killed at any moment",
    "test_crowd_kit": "several methods, beside those of crowd-kit",
    "test_database_loss": "the whole server, while PostgreSQL is away",
    "test_debian": "what installs PostgreSQL, Chromium and Prometheus for the tests",
    "test_decimal_context": "every number that is worked out in decimals",
    "test_decisions": "nothing can be decided after the draw, over the modules of a device",
    "test_distributions": "the wheel and the sdist, and where they are installed",
    "test_documents": "the README and the pages of docs/",
    "test_draw_studio": "the screens of the page on 50 people, and what takes their pictures",
    "test_draw_worker": "the screens of the pages on campaigns, and what takes their pictures",
    "test_draws_in_page": "distributions and losses of what the page's modules draw in a browser",
    "test_durations": "the tests themselves: none depends on how fast a machine is",
    "test_examples": "examples/, the scenarios of the papers",
    "test_every_format": "every format, in and out",
    "test_faults": "the list of faults for make nightly, and what seeds them",
    "test_first_screen": "what a browser asks for until the page for workers shows a screen",
    "test_floating_point": "an attack on noise in floats, and every mechanism under it",
    "test_floods": "the whole server, while strangers send it what nobody asked for",
    "test_funnel": "how many people came how far, as the server tells it",
    "test_grafana_dashboard": "deploy/grafana, against what a server publishes",
    "test_histograms": "what research/docs/theory/surveys.md says of histograms",
    "test_interruptions": "the whole page for workers, whatever comes between",
    "test_json_output": "every command that prints JSON",
    "test_layout": "the tests themselves",
    "test_lost_files": "databases, journals and copies, whatever is lost and restored",
    "test_menus_and_rounds": "campaigns with a menu or rounds: who may send what, and who sees it",
    "test_mixtures": "reports of several mechanisms, through every method",
    "test_looks": "what a requester sees, whatever workers do in whichever order",
    "test_losses": "what the page works out of losses, beside what Python does",
    "test_package": "the package as a whole",
    "test_site": "the site for users: its limits, links and pictures",
    "test_stranger": "the README and the pages, from a wheel",
    "test_programs": "what the tests start programs with",
    "test_page": "docs/run/campaigns.md, against the server that it starts",
    "test_pictures": "the pictures of docs/, and the scripts that draw them",
    "test_page_refuses": "the whole page for workers, where a server is not honest",
    "test_participation": "whether having answered is hidden, for every mechanism that says so",
    "test_prose": "what counts hard English in all texts, for make check",
    "test_profile_folder": "every page, and what a browser keeps of a visit in its files",
    "test_randomness_sources": "where every module takes its randomness from",
    "test_read_only_database": "the whole server, while PostgreSQL may only be read",
    "test_roles": "every route, for every kind of asker",
    "test_round_screens": "screens of campaigns with a menu or rounds",
    "test_screens": "every screen of the page for workers, with a device that is made up",
    "test_secrets": "everything that a server leaves behind",
    "test_studio_campaigns": "a whole campaign in the studio, with a server",
    "test_research_pages": "the pages of research/docs, and their pictures",
    "test_studio_in_browser": "the whole studio, with a server",
    "test_studio_rounds": "levels of privacy and rounds in the studio, with a server",
    "test_studio_screens": "every screen of the studio, with a server",
    "test_task_files": "files of tasks of any format, by the routes that take them",
    "test_ten_questions": "the page for workers as a person meets it: taps, words, a kill",
    "test_terms": "what the page makes of configurations and tasks, beside what Python does",
    "test_three_servers": "several whole servers, on one PostgreSQL",
    "test_truth_under_noise": "the table of research/docs/truth-under-noise.md, on small crowds",
    "test_two_worlds": "every route, for every observer, whether one worker acted or not",
    "test_types": "what a type checker knows of the package",
    "test_upgrade_in_turn": "two whole servers on one PostgreSQL, of two versions",
    "test_what_leaves": "the whole page for workers: every byte that leaves a browser",
    "test_whole_campaigns": "both pages and a server, from consent to truths",
    "test_whole_rounds": "a campaign of rounds with a menu, from devices to results",
    "test_worlds_of_rounds": "a device in two worlds, which differ in the answers of some rounds",
}
"""Tests that cut across modules, by name, and what each is about instead of one of them."""


def mirrored(place: Path) -> Path:
    """Return where the package has what a test module, or a folder of tests, is named after."""
    (tests,) = (folder for folder in PACKAGES if place.is_relative_to(folder))
    return (PACKAGES[tests] / place.relative_to(tests)).with_name(place.name.removeprefix("test_"))


def mirrors(test: Path) -> bool:
    """Return whether there is a module, or a folder, that a test module is named after."""
    place = ROOT / mirrored(test.with_suffix(""))
    files = (place.with_suffix(suffix) for suffix in (".py", ".js"))
    return place.is_dir() or any(file.is_file() for file in files)


def test_every_folder_of_tests_is_one_of_the_package():
    packages = {folder: PACKAGES.get(folder) or mirrored(folder) for folder in FOLDERS}
    assert not [folder for folder, package in packages.items() if not (ROOT / package).is_dir()]


def test_every_test_module_is_named_after_a_module():
    """Give a new one the name of the module that it tests, or say its subject in NO_MIRROR."""
    assert not [test for test in MODULES if not mirrors(test) and test.stem not in NO_MIRROR]


def test_every_exception_is_needed_once():
    unlike = [test.stem for test in MODULES if not mirrors(test)]
    assert sorted(unlike) == sorted(NO_MIRROR)


def test_every_kernel_has_tests_of_its_name():
    kernels = {path.stem for path in (ROOT / "core" / "kernels").glob("*.cpp")}
    tests = {
        path.stem.removeprefix("test_") for path in (ROOT / "tests" / "core").glob("test_*.py")
    }
    assert kernels <= tests
