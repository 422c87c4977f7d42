"""Kills an operation at every point where it touches the disk, and looks at what is left.

Run as a program: `crash_driver.py FOLDER ACTION`; prints one JSON object. Every attempt starts from
the same home, in a forked child that counts its system calls on the home and kills itself with
SIGKILL before the n-th one, or in the middle of it when it is a write. The parent then looks: raw,
as a library user, and after the next run.
"""

import fcntl
import json
import os
import shutil
import signal
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

sys.path.insert(0, os.path.dirname(__file__))

from skill_repositories import Repository, skill_text

from skillkit.core.digest import tree_digest
from skillkit.core.manager import SkillManager
from skillkit.install import locking
from skillkit.install.clients import InstallTargets, all_clients
from skillkit.install.fetch import LoadedSkill
from skillkit.install.installer import SkillInstaller
from skillkit.install.record import InstalledSkill

CALLS = (
    *("open", "write", "fsync", "close", "fchmod", "chmod", "replace", "rename"),
    *("mkdir", "rmdir", "symlink", "unlink"),
)
State = dict[str, str]


def installer(home: Path) -> SkillInstaller:
    return SkillInstaller(home, consent=lambda proposal: True)


class Killer:
    """Counts calls and ends the process at one of them."""

    def __init__(self, at: int, *, torn: bool) -> None:
        self.at = at
        self.torn = torn
        self.count = 0

    def install(self, report: int) -> None:
        real = {name: getattr(os, name) for name in CALLS}
        for name, call in real.items():
            setattr(os, name, self.wrapped(name, call, real["write"], report))
        flock = fcntl.flock
        fcntl.flock = self.wrapped("flock", flock, real["write"], report)

    def wrapped(self, name: str, call: Callable, write: Callable, report: int) -> Callable:
        def counted(*arguments: object, **options: object) -> object:
            self.count += 1
            if self.count == self.at:
                if self.torn and name == "write":
                    data = bytes(arguments[1])
                    call(arguments[0], data[: len(data) // 2])
                write(report, name.encode())
                os.kill(os.getpid(), signal.SIGKILL)
            return call(*arguments, **options)

        return counted


def raw_state(home: Path) -> State:
    """What registry.json says, and that every file it speaks of is there, byte for byte."""
    registry = home / "skills" / "registry.json"
    if not registry.exists():
        return {}
    state = {}
    for name, entry in json.loads(registry.read_text())["skills"].items():
        folder = home / "store" / entry["stored"]
        assert tree_digest(folder).digest == entry["digest"], f"{name} is not what was approved"
        for version in entry["previous"]:
            assert tree_digest(home / "store" / version["stored"]).digest == version["digest"]
        state[name] = entry["digest"]
    return state


def seen_by_manager(home: Path) -> State:
    """What a program finds that knows nothing of registries."""
    if not (home / "skills").is_dir():
        return {}
    manager = SkillManager(project_skill_dir=home / "skills", anthropic_config_dir="")
    manager.discover()
    return {skill.canonical_name: tree_digest(skill.base_dir).digest for skill in manager.list_skills()}


def leftovers(home: Path) -> list[str]:
    """Temporary things that nobody will ever need."""
    left = [path.name for path in (home / "store").glob("tmp-*")] if (home / "store").exists() else []
    folders = [home / "skills", *(home / "project").glob(".*/skills")]
    return left + [path.name for folder in folders if folder.is_dir() for path in folder.glob(".*")]


def placed(home: Path) -> State:
    """What clients see in the project, byte for byte; a link or a copy that leads nowhere is an error."""
    folders = sorted((home / "project").glob(".*/skills/[!.]*"))
    return {str(path.relative_to(home)): tree_digest(path.resolve()).digest for path in folders}


def run(folder: Path, action: str) -> dict[str, object]:
    base, work = folder / "base", folder / "work"
    act, repeat = prepare(folder, work, action)
    old = raw_state(work)
    shutil.copytree(work, base, symlinks=True)
    act(work)
    new = raw_state(work)
    assert old != new, "the action does nothing"
    points: list[str] = []
    while True:
        number = len(points) + 1
        operation = attempt(base, work, act, number, torn=False)
        if operation is None:
            break
        points.append(operation)
        look(work, old, new, repeat, f"{action}, {operation} number {number}")
    writes = [number for number, operation in enumerate(points, 1) if operation == "write"]
    for number in writes:
        attempt(base, work, act, number, torn=True)
        look(work, old, new, repeat, f"{action}, in the middle of write number {number}")
    return {"points": len(points) + len(writes), "operations": sorted(set(points))}


def attempt(base: Path, work: Path, act: Callable[[Path], object], number: int, *, torn: bool) -> str | None:
    """The name of the call at which the action died; None when it came to its end."""
    shutil.rmtree(work)
    shutil.copytree(base, work, symlinks=True)
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reader)
        Killer(number, torn=torn).install(writer)
        act(work)
        os._exit(0)
    os.close(writer)
    _, status = os.waitpid(child, 0)
    with os.fdopen(reader, "rb") as pipe:
        operation = pipe.read().decode()
    if os.WIFSIGNALED(status):
        return operation
    assert status == 0, f"the action failed by itself ({status})"
    return None


def look(work: Path, old: State, new: State, repeat: Callable[[Path], object], where: str) -> None:
    raw = raw_state(work)
    assert raw in (old, new), f"{where}: the registry is between two states: {raw}"
    for name, digest in seen_by_manager(work).items():
        assert digest in (old.get(name), new.get(name)), f"{where}: {name} is neither old nor new"
    names = {*old, *new}
    assert all(name in seen_by_manager(work) for name in names if name in old and name in new), where
    installed = installer(work)
    listed = {skill.name_canonical: skill.digest for skill in installed.list()}
    assert listed == raw, f"{where}: the next run sees something else"
    assert seen_by_manager(work) == raw, f"{where}: the links were not mended"
    assert all(check.intact and not check.strays for check in installed.verify()), where
    assert set(placed(work).values()) <= {raw.get("pdf")}, f"{where}: clients see {placed(work)}"
    assert not installed.registry.notices, f"{where}: {installed.registry.notices}"
    repeat(work)
    assert raw_state(work) == new == seen_by_manager(work), f"{where}: the action cannot be repeated"
    assert not leftovers(work), f"{where}: {leftovers(work)}"


def prepare(
    folder: Path, base: Path, action: str
) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    """The action, and the action again where it may have happened already."""
    source = folder / "source" / "pdf"
    source.mkdir(parents=True)
    (source / "SKILL.md").write_text(skill_text("pdf"))
    (source / "scripts").mkdir()
    (source / "scripts" / "run.py").write_text("print(1)\n")
    other = folder / "source" / "other"
    other.mkdir()
    (other / "SKILL.md").write_text(skill_text("other"))
    base.mkdir()
    installer(base).add(str(other))
    action, _, how = action.partition("-")
    add = _add(str(source), base, how)
    if action == "add":
        return add, add
    if action == "sync":
        return _sync(folder, base)
    add(base)
    if action == "remove":
        return lambda home: installer(home).remove("pdf"), _unless_gone
    (source / "SKILL.md").write_text(skill_text("pdf", body="Do it better."))
    (source / "scripts" / "run.py").unlink()
    if action == "update":
        return _update, _update
    assert action == "rollback"
    _update(base)
    return lambda home: installer(home).rollback("pdf"), _rollback_once(base)


def _add(source: str, home: Path, how: str) -> Callable[[Path], object]:
    """Add the skill, for two clients that share a folder and one that does not when `how` says so."""
    clients = tuple(all_clients()[name] for name in ("codex", "cursor", "claude-code"))
    placing = InstallTargets(clients, home / "project", copy=how == "copied") if how else None
    return lambda home: installer(home).add(source, placing=placing)


def _update(home: Path) -> object:
    return installer(home).update("pdf")


def _unless_gone(home: Path) -> None:
    if "pdf" in installer(home).registry.load().skills:
        installer(home).remove("pdf")


def _rollback_once(base: Path) -> Callable[[Path], object]:
    before = raw_state(base)["pdf"]

    def rollback(home: Path) -> None:
        if raw_state(home)["pdf"] == before:
            installer(home).rollback("pdf")
        else:  # any other writing has to work
            with installer(home).registry.transaction():
                pass

    return rollback


def _sync(folder: Path, base: Path) -> tuple[Callable[[Path], object], Callable[[Path], object]]:
    repository = Repository(folder / "team.git")
    repository.commit({"skills/pdf/SKILL.md": skill_text("pdf"), "skills/xls/SKILL.md": skill_text("xls")})
    maker = installer(folder / "maker")
    maker.add(repository.url, everything=True)
    maker.lock(folder / "skills-lock.json")
    installer(base).add(repository.url, skills=["xls"])
    repository.commit(
        {"skills/pdf/SKILL.md": skill_text("pdf"), "skills/xls/SKILL.md": skill_text("xls", "New")}
    )
    maker.update("xls")
    maker.lock(folder / "skills-lock.json")

    remember_fetched()

    def sync(home: Path) -> object:
        return installer(home).sync(folder / "skills-lock.json")

    return sync, sync


def remember_fetched() -> None:
    """Ask git once for what is the same in every attempt; what is killed is the writing."""
    fetch = locking.fetch_locked
    known: dict[tuple[str, ...], list[tuple[LoadedSkill, tuple[str, ...]]]] = {}

    def remembered(
        state: object, wanted: Sequence[InstalledSkill], *rest: object
    ) -> list[tuple[LoadedSkill, tuple[str, ...]]]:
        names = tuple(locked.name for locked in wanted)
        if names not in known:
            known[names] = fetch(state, wanted, *rest)
        return list(known[names])

    locking.fetch_locked = remembered


if __name__ == "__main__":
    os.environ["TMPDIR"] = sys.argv[1]
    print(json.dumps(run(Path(sys.argv[1]), sys.argv[2])))
