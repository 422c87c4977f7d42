"""skills-lock.json, in both directions: of `npx skills` and for it."""

import hashlib
import json
import shutil
import subprocess
from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.install.exceptions import DriftError, LockFileError
from skillkit.install.foreign_lock import parse_entries, parse_foreign
from skillkit.install.installer import SkillInstaller
from skillkit.install.lock_hashes import _locale_key, computed_hash, fitting_formula
from skillkit.install.lockfile import find_lock, read_lock

FORMATS = Path(__file__).parents[4] / "shared" / "data" / "formats" / "skills-lock.json"


def write_lock(path: Path, **entries: dict[str, str]) -> Path:
    path.write_text(json.dumps({"version": 1, "skills": entries}))
    return path


def entry(repository: Repository, path: str, files: dict[str, str]) -> dict[str, str]:
    digest = computed_hash({name: text.encode() for name, text in files.items()})
    return {
        "source": repository.url,
        "sourceUrl": repository.url,
        "sourceType": "git",
        "skillPath": path,
        "computedHash": digest,
    }


def test_the_commit_is_found_by_the_hash_and_what_is_not_found_is_named(
    installer: SkillInstaller, person: Person, repository: Repository, tmp_path: Path
) -> None:
    first = {"SKILL.md": skill_text("pdf"), "a.md": "A"}
    wanted = repository.commit({f"skills/pdf/{name}": text for name, text in first.items()})
    for number in range(3):
        repository.commit({"skills/pdf/SKILL.md": skill_text("pdf", body=f"Later {number}.")})
    unknown = {**entry(repository, "skills/pdf/SKILL.md", first), "computedHash": "0" * 64}
    lock = write_lock(
        tmp_path / "skills-lock.json",
        pdf=entry(repository, "skills/pdf/SKILL.md", first),
        other=unknown,
        strange={"source": "x", "sourceType": "node_modules", "computedHash": "1"},
    )
    changed = installer.sync(lock)
    assert [(skill.name, skill.revision) for skill in changed] == [("pdf", wanted)]
    assert "as it is" in " ".join(person.last.offers[0].notes)
    assert {left.path for left in changed.left_out} == {"other", "strange"}
    assert "none of 4 versions" in next(left.reason for left in changed.left_out if left.path == "other")
    again = installer.sync(lock)
    assert ([*again], len(again.left_out)) == ([], 2)
    with pytest.raises(DriftError, match="Cannot be restored"):
        installer.sync(lock, frozen=True)


def test_a_skill_that_was_renamed_since_is_found_without_its_path(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    first = {"SKILL.md": skill_text("page-cro")}
    wanted = repository.commit({f"skills/page-cro/{name}": text for name, text in first.items()})
    repository.commit({"skills/cro/SKILL.md": skill_text("cro")})
    named = entry(repository, "", first)
    del named["skillPath"]
    never = {**named, "computedHash": "0" * 64}
    lock = write_lock(tmp_path / "skills-lock.json", **{"page-cro": named, "never-there": never})
    changed = installer.sync(lock)
    assert [(skill.name, skill.revision) for skill in changed] == [("page-cro", wanted)]
    [left_out] = changed.left_out
    assert "has no skill 'never-there'" in left_out.reason


def test_an_entry_that_cannot_be_used_is_named_and_the_others_are_read(tmp_path: Path) -> None:
    good = {"source": "owner/repo", "sourceType": "github", "computedHash": "1"}
    names = ("pdf", "Spec Kit", "notes", "Notes", "../up")
    lock = write_lock(
        tmp_path / "skills-lock.json",
        bare={"source": "owner/repo", "sourceType": "github"},
        **dict.fromkeys(names, good),
    )
    skills, left_out = parse_entries(read_lock(lock), tmp_path)
    assert [skill.name for skill in skills] == ["Notes", "pdf"]
    assert {left.path: left.reason for left in left_out} == {
        "bare": "no computedHash",
        "Spec Kit": "invalid skill name",
        "../up": "invalid skill name",
        "notes": "another skill with that name is in the lock",
    }


def test_line_ends_of_windows_and_the_formula_of_registries_are_recognised() -> None:
    files = {"SKILL.md": b"a\nb\n", "pic.png": b"\0\n", "node_modules/x": b"?"}
    windows = {"SKILL.md": b"a\r\nb\r\n", "pic.png": b"\0\n"}
    assert fitting_formula(files, computed_hash(windows)) == "with Windows line endings"
    lines = sorted(f"{path}:{hashlib.sha256(data).hexdigest()}" for path, data in list(files.items())[:2])
    registry = hashlib.sha256("\n".join(lines).encode()).hexdigest()
    assert fitting_formula(files, registry) == "by the formula of registries"
    assert fitting_formula(files, "0" * 64) is None


@pytest.mark.skipif(shutil.which("node") is None, reason="Node.js is not installed")
def test_paths_are_ordered_as_javascript_orders_them() -> None:
    paths = "SKILL.md skill.md a/B.md a/b.md a-b.md a_b.md a.md A.md a/b/c s/x.py S/x.py a10 a9 .x _y ~z"
    listed = [*paths.split(), "a b", "a(1)", "a+b", "a&b", "a@b", "a$b"]
    program = "console.log(JSON.stringify(JSON.parse(process.argv[1]).sort((a, b) => a.localeCompare(b))))"
    done = subprocess.run(
        ["node", "-e", program, json.dumps(listed)], capture_output=True, text=True, check=True
    )
    assert sorted(listed, key=_locale_key) == json.loads(done.stdout)


def test_our_lock_has_the_fields_of_npx_and_survives_its_rewriting(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    [skill] = installer.add(repository.url)
    lock = write_lock(
        tmp_path / "skills-lock.json", theirs={"source": "o/r", "sourceType": "github", "computedHash": "2"}
    )
    installer.lock(lock)
    content = json.loads(lock.read_text())
    assert content["version"] == 1
    assert list(content["skills"]) == ["pdf", "theirs"], "entries of other tools are kept"
    ours = content["skills"]["pdf"]
    assert ours["computedHash"] == computed_hash({"SKILL.md": skill_text("pdf").encode()})
    assert (ours["skillPath"], ours["sourceType"]) == ("skills/pdf/SKILL.md", "git")
    assert "ref" not in ours, "nobody asked for a branch"
    assert ours["skillkit"]["revision"] == skill.revision
    del content["skills"]["theirs"], ours["skillkit"]
    lock.write_text(json.dumps(content))
    other = SkillInstaller(tmp_path / "other", consent=Person())
    [restored] = other.sync(lock)
    assert (restored.digest, restored.revision) == (skill.digest, skill.revision)
    other.lock(lock)
    assert json.loads(lock.read_text())["skills"]["pdf"]["skillkit"]["digest"] == skill.digest


def test_a_branch_that_was_asked_for_is_in_the_lock(
    installer: SkillInstaller, repository: Repository, tmp_path: Path
) -> None:
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf")})
    [skill] = installer.add(f"{repository.url}#main")
    assert skill.source.branch == "main"
    installer.lock(tmp_path / "skills-lock.json")
    assert json.loads((tmp_path / "skills-lock.json").read_text())["skills"]["pdf"]["ref"] == "main"


def test_a_manifest_of_apm_is_answered_with_the_commands_that_add_what_it_names(
    installer: SkillInstaller, tmp_path: Path
) -> None:
    manifest = tmp_path / "apm.yml"
    manifest.write_text(
        "name: app\ndependencies:\n  apm:\n    - acme/tools/skills/pdf#v1\n    - ./packages/own\n"
        "    - git: https://git.example.com/team/skills\n      skills: [csv]\n"
    )
    assert find_lock(tmp_path) == manifest
    with pytest.raises(LockFileError, match="`apm install` writes") as refused:
        installer.sync(manifest)
    assert str(refused.value).splitlines()[1:] == [
        "  agent skill add acme/tools/skills/pdf --ref v1",
        "  agent skill add https://git.example.com/team/skills --skill csv",
    ]


@pytest.mark.skipif(not FORMATS.is_dir(), reason="the collection of real locks is not beside the project")
def test_every_entry_of_real_locks_has_a_source() -> None:
    for path in sorted(FORMATS.glob("*.json")):
        for name, fields in read_lock(path).foreign.items():
            assert parse_foreign(name, fields, path.parent).hash
