"""Real files of strangers in every format that is read: how many are read, and why the others are not."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.manager import SkillManager
from skillkit.core.plugins import parse_plugin_manifest
from skillkit.evaluation import Unreadable, read_cases_file
from skillkit.install.apm_lock import read_apm_lock
from skillkit.install.foreign_lock import parse_entries
from skillkit.install.lockfile import read_lock
from skillkit.install.sources.marketplace_plugins import read_plugins
from skillkit.install.sources.site_index import read_index

FORMATS = Path(__file__).parents[3] / "shared" / "data" / "formats"
Reader = Callable[[Path, Path], str]
"""Returns why a file is none of its format; empty when it is read. The second path is a new folder."""


def lock(file: Path, folder: Path) -> str:
    found = read_lock(file)
    skills, left_out = parse_entries(found, folder)
    return "" if skills or all(each.reason for each in left_out) else "nothing is read and nothing is named"


def marketplace(file: Path, folder: Path) -> str:
    return "" if read_plugins(file.read_bytes(), file.name) else "no plugin is read"


def plugin(file: Path, folder: Path) -> str:
    return "" if parse_plugin_manifest(file, strict=False).name else "it has no name"


def codex(file: Path, folder: Path) -> str:
    (folder / "demo" / "agents").mkdir(parents=True)
    (folder / "demo" / "SKILL.md").write_text("---\nname: demo\ndescription: A demonstration.\n---\nDo it.\n")
    shutil.copy(file, folder / "demo" / "agents" / "openai.yaml")
    manager = SkillManager(project_skill_dir=folder, anthropic_config_dir="")
    manager.discover()
    return "; ".join(each.message for each in manager.diagnostics if each.code == "openai-yaml")


def site(file: Path, folder: Path) -> str:
    read_index(file.read_bytes(), "https://example.com/.well-known/agent-skills/index.json")
    return ""


def apm(file: Path, folder: Path) -> str:
    read_apm_lock(file)
    return ""


def cases(file: Path, folder: Path) -> str:
    suite = read_cases_file(file, "demo")
    return suite.reason if isinstance(suite, Unreadable) else ""


READERS: dict[str, Reader] = {
    "skills-lock.json": lock,
    "marketplace.json": marketplace,
    "plugin.json": plugin,
    "openai.yaml": codex,
    "well-known-index.json": site,
    "apm": apm,
    "evals.json": cases,
    "trigger-evals": cases,
    "waza": cases,
}
RIGHT = (
    "is a manifest, not a lock",
    "results of an evaluation",
    "describes a skill",
    "start commands",
    "configures",
)
"""Files that lie among the others and are something else, which is what is said of them."""
EXPLAINED = {
    # The cases of this template are in files of their own, and its list has no request.
    "dtsong__data-engineering-skills__e15e8a04.json": "has items without a request",
    # A template whose values are `{{name}}`: no YAML before it is filled in.
    "microsoft__apm__f4234b5d.yml": "a key that is not text",
}
"""Single files that are refused, and with which words that is right."""


def read(format_: str, folder: Path) -> Iterator[tuple[str, str]]:
    for number, file in enumerate(sorted((FORMATS / format_).iterdir())):
        if file.name != "index.jsonl":
            try:
                yield file.name, READERS[format_](file, folder / str(number))
            except SkillsUseError as error:
                yield file.name, str(error)


@pytest.mark.parametrize("format_", READERS)
def test_files_of_strangers_are_read_or_refused_for_what_they_are(
    format_: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    if not FORMATS.is_dir():
        pytest.skip(f"the files of strangers are not beside the repository ({FORMATS})")
    answers = dict(read(format_, tmp_path))
    wrong = {
        name: reason
        for name, reason in answers.items()
        if reason and not any(right in reason for right in (*RIGHT, EXPLAINED.get(name, reason + "?")))
    }
    counts = Counter(
        "read" if not reason else "wrong" if name in wrong else "refused rightly"
        for name, reason in answers.items()
    )
    with capsys.disabled():
        print(f"\n{format_:<24}{len(answers):>4} files: {dict(counts)}")
    assert len(wrong) <= 0.05 * len(answers), wrong
