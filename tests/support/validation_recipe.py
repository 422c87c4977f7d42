"""`just validate`: every validation command of tests/validation/commands.toml, through the real program.

    python3 dev.py validate                all of them
    python3 dev.py validate 004-7 001      those whose number begins so
    python3 dev.py validate --only plain   those that need neither the model nor the test suite

One line a command: ok or FAILED, its numbers, the command and what was expected; on failure its output.
"""

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Self

from git_http_server import GitServer
from kalshi_exchange import Exchange
from program import clean_environment
from skill_repositories import Repository, skill_text
from terminal import Terminal

import skillkit
from skillkit.agent.local.files import QWEN_CODER, ModelStore
from skillkit.disclosure.tool_result import unfence

ROOT = Path(__file__).parents[2]
COMMANDS = ROOT / "tests" / "validation" / "commands.toml"
BUNDLED = Path(skillkit.__file__).parent / "bundled"
PATIENCE = 3600
"""Seconds for one command; a model on a busy machine may think for minutes."""


@dataclass(frozen=True)
class Command:
    """One command of the documents, ours in its place, and what must come of it."""

    listed: dict[str, str]
    run: str
    why: str = ""
    before: str = ""
    needs: str = "plain"
    answers: Sequence[Sequence[str]] = ()
    exit: int = 0
    expect: Sequence[str] = ()
    never: Sequence[str] = ()
    calls: str = ""
    arguments: str = ""
    asks: str = ""
    carries: str = ""
    spares: str = ""
    gap: str = ""

    @property
    def numbers(self) -> str:
        return ", ".join(self.listed)

    def has_number(self, beginnings: Sequence[str]) -> bool:
        return not beginnings or any(number.startswith(tuple(beginnings)) for number in self.listed)

    @property
    def expectation(self) -> str:
        parts = [f"exit {self.exit}", *self.expect, *(f"no {pattern}" for pattern in self.never)]
        parts += [f"calls {self.calls}({self.arguments})"] if self.calls else []
        parts += [f"asks {self.asks}"] if self.asks else []
        parts += [f"carries {self.carries}"] if self.carries else []
        parts += [f"spares {self.spares}"] if self.spares else []
        return " · ".join(parts)


@dataclass(frozen=True)
class Scene:
    """Commands that share a home and a project, in order."""

    title: str
    commands: Sequence[Command]
    given: Sequence[str] = ()
    skills: str | None = None
    trace: bool = False

    def needs(self, what: str) -> bool:
        return any(command.needs == what for command in self.commands)


def scenes(path: Path = COMMANDS) -> list[Scene]:
    data = tomllib.loads(path.read_text())
    return [
        Scene(commands=[Command(**command) for command in scene.pop("command")], **scene)
        for scene in data["scene"]
    ]


def selected(scenes: Sequence[Scene], numbers: Sequence[str], kinds: Sequence[str]) -> list[Scene]:
    """The commands of these kinds, up to the last one with such a number: it may need those before it."""
    found = []
    for scene in scenes:
        kept = [
            command
            for command in scene.commands
            if command.needs in kinds and (command.needs != "suite" or command.has_number(numbers))
        ]
        last = max((place for place, command in enumerate(kept, 1) if command.has_number(numbers)), default=0)
        if last:
            found.append(replace(scene, commands=kept[:last]))
    return found


@dataclass(frozen=True)
class Outcome:
    """What a command did, and what of its expectation did not come true."""

    command: Command
    output: str
    failures: list[str] = field(default_factory=list)


class Stage:
    """A fresh home and project for one scene, what it is given, and servers on loopback while it lasts."""

    def __init__(self, scene: Scene, folder: Path, models: Path | None) -> None:
        self.scene = scene
        self.folder = folder
        self.home, self.project = folder / "home", folder / "project"
        self.cache = models if models is not None else folder / "cache"
        self.exchange: Exchange | None = None
        self.repository: Repository | None = None
        self._versions = 0
        self._seen: set[Path] = set()
        self._open = ExitStack()
        self.environment = clean_environment(
            self.home,
            **_package_index(),
            XDG_CACHE_HOME=str(self.cache),
            PATH=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            BUNDLED=str(BUNDLED),
            COLUMNS="120",
            TERM="xterm",
        )
        if scene.skills is not None:
            self.environment["AGENT_SKILLS"] = scene.skills
        if scene.trace:
            self.environment |= {"LOG_LEVEL": "trace", "ENABLE_SENSITIVE_DATA": "true"}

    def __enter__(self) -> Self:
        self.home.mkdir(parents=True)
        self.project.mkdir()
        for name in self.scene.given:
            getattr(self, f"_given_{name}")()
        if self.scene.needs("model"):
            self._shell("agent config set provider local")
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def run(self, command: Command) -> Outcome:
        if command.before:
            getattr(self, command.before)()
        if command.needs == "suite":
            code, output = self._suite(command.run)
        elif command.answers:
            code, output = self._typed(command)
        else:
            code, output = self._shell(command.run)
        return Outcome(command, output, list(self._failures(command, code, output)))

    def publish(self) -> None:
        """A newer version at the source."""
        assert self.repository is not None
        self._versions += 1
        text = skill_text("test-skill", body=f"Version {self._versions}.", version=f"1.{self._versions}.0")
        script = "print('hello')\n"
        self.repository.commit({"SKILL.md": text, "scripts/hello.py": script})

    def _given_exchange(self) -> None:
        self.exchange = exchange = self._open.enter_context(Exchange())
        exchange.says("/exchange/status", {"exchange_active": True, "trading_active": True})
        series = {"ticker": "KXBTC", "title": "Bitcoin price", "category": "Crypto"}
        event = {"event_ticker": "KXBTC-26", "title": "Bitcoin above $100,000?", "series_ticker": "KXBTC"}
        exchange.says("/series", {"series": [series]})
        exchange.says("/events", {"events": [event], "cursor": ""})
        self.environment["KALSHI_API_URL"] = exchange.url

    def _given_repository(self) -> None:
        server = self._open.enter_context(GitServer(self.folder / "git"))
        self.repository = Repository(self.folder / "git" / "test-skill.git")
        self.environment["REPOSITORY"] = f"{server.url}/test-skill.git"
        self.publish()

    def _given_stranger(self) -> None:
        self._project_skill("stranger", skill_text("stranger"))

    def _given_broken(self) -> None:
        self._project_skill("broken", "---\nname: broken\n---\n\nDo it.\n")

    def _project_skill(self, name: str, text: str) -> None:
        folder = self.project / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(text)

    def _shell(self, line: str) -> tuple[int, str]:
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", line],
            cwd=self.project,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=PATIENCE,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def _typed(self, command: Command) -> tuple[int, str]:
        terminal = Terminal(shell=command.run, cwd=self.project, environment=self.environment, columns=120)
        try:
            for question, answer in command.answers:
                terminal.expect(question).type(answer)
        except AssertionError as error:
            return terminal.end(), str(error)
        return terminal.end(), terminal.text

    def _suite(self, line: str) -> tuple[int, str]:
        """The project's own tests and checks run where the project is, without this page's commands."""
        environment = os.environ | {
            "PATH": self.environment["PATH"],
            "PYTEST_ADDOPTS": "--deselect tests/validation/test_validation_commands.py",
        }
        done = subprocess.run(
            ["bash", "-c", line],
            cwd=ROOT,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.returncode, done.stdout.decode("utf-8", "replace")

    def _failures(self, command: Command, code: int, output: str) -> Iterator[str]:
        if code != command.exit:
            yield f"exit code {code}, expected {command.exit}"
        flags = re.IGNORECASE | re.MULTILINE
        yield from (
            f"not said: {wanted}" for wanted in command.expect if not re.search(wanted, output, flags)
        )
        yield from (f"said: {unwanted}" for unwanted in command.never if re.search(unwanted, output, flags))
        if command.asks:
            assert self.exchange is not None
            asked = [path for path, _ in self.exchange.requests]
            self.exchange.requests.clear()
            if command.asks not in asked:
                yield f"the exchange was not asked for {command.asks} but for {asked}"
        if command.calls or command.carries or command.spares:
            yield from self._untold(command, self._new_steps())

    def _untold(self, command: Command, steps: list[dict[str, str]]) -> Iterator[str]:
        """What the trace of this command's conversation should show and does not."""
        calls = [
            (step["name"], step["arguments"], step["result"]) for step in steps if step["kind"] == "tool"
        ]
        if command.calls and not any(
            re.fullmatch(command.calls, name)
            and re.search(command.arguments, arguments, re.IGNORECASE)
            and _succeeded(result)
            for name, arguments, result in calls
        ):
            yield f"no successful call of {command.calls}({command.arguments}); called: {calls}"
        first = next((step["instructions"] for step in steps if step["kind"] == "model"), None)
        if first is None:
            yield "the trace shows no request to the model"
            return
        for skill, wanted in ((command.carries, True), (command.spares, False)):
            if skill and (f'<skill_context id="{skill}">' in first) is not wanted:
                yield f"the first request {'does not carry' if wanted else 'carries'} {skill}"

    def _new_steps(self) -> list[dict[str, str]]:
        logs = set((self.home / ".agent" / "logs").glob("session-*-trace.log")) - self._seen
        self._seen |= logs
        return [json.loads(line) for log in sorted(logs) for line in log.read_text().splitlines()]


def play(scene: Scene, folder: Path, models: Path | None = None) -> Iterator[Outcome]:
    """The outcomes of a scene's commands, one after the other."""
    with Stage(scene, folder, models) as stage:
        for command in scene.commands:
            yield stage.run(command)


def _succeeded(result: str) -> bool:
    """Whether a tool answered `success: true`."""
    try:
        return bool(json.loads(unfence(result) or result)["success"])
    except (ValueError, KeyError, TypeError):
        return False


def cache_with_model(folder: Path, store: ModelStore) -> Path:
    """A cache folder that has the user's model and nothing else of the user's."""
    models = folder / "skillkit" / "models"
    models.mkdir(parents=True, exist_ok=True)
    link = models / QWEN_CODER.filename
    if not link.exists():
        link.symlink_to(store.path(QWEN_CODER))
    return folder


def _package_index() -> dict[str, str]:
    """A fresh home has no settings of pip; where packages come from is the machine's affair."""
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    own = Path.home() / ".config" / "pip" / "pip.conf"
    return kept | ({"PIP_CONFIG_FILE": str(own)} if own.is_file() and "PIP_CONFIG_FILE" not in kept else {})


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="dev.py validate", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("numbers", nargs="*", help="Only commands whose number begins so.")
    parser.add_argument("--only", choices=("plain", "model", "suite"), help="Only commands of this kind.")
    chosen = parser.parse_args(arguments)
    kinds = (chosen.only,) if chosen.only else ("plain", "model", "suite")
    wanted = selected(scenes(), chosen.numbers, kinds)
    store = ModelStore()
    if any(scene.needs("model") for scene in wanted) and not store.installed(QWEN_CODER):
        subprocess.run([Path(sys.executable).parent / "agent", "model", "install"], check=True)
    failed = total = 0
    with tempfile.TemporaryDirectory(prefix="validate-") as temporary:
        cache = cache_with_model(Path(temporary) / "cache", store)
        for place, scene in enumerate(wanted):
            print(f"\n{scene.title}")
            models = cache if scene.needs("model") else None
            for outcome in play(scene, Path(temporary) / str(place), models):
                total += 1
                failed += bool(outcome.failures)
                show(outcome)
    print(f"\n{total} commands, {total - failed} ok, {failed} failed")
    return 1 if failed else 0


def show(outcome: Outcome) -> None:
    command = outcome.command
    mark = "FAILED" if outcome.failures else "ok    "
    print(f"{mark}  {command.numbers}: {command.run}  →  {command.expectation}", flush=True)
    if outcome.failures:
        known = [f"known: {command.gap}"] if command.gap else []
        lines = [*known, *outcome.failures, "its output:", *outcome.output.splitlines()]
        print("".join(f"        | {line}\n" for line in lines), end="", flush=True)


if __name__ == "__main__":
    if not shutil.which("jq"):
        sys.exit("The commands of the documents use jq; install it.")
    sys.exit(main(sys.argv[1:]))
