"""Ask every script of real skills for its help, before and after the packages it needs were accepted.

    python3 dev.py scripts FOLDER …     folders of skills as they are published, such as clones

Counted apart: a help that the script printed, and one that `script_help` read in the text of a script that
prints none. Everything runs in the sandbox of this machine with nothing granted. Packages are those that
`agent skill packages --yes` accepts, wheels and no build; `--corrections FILE` stands for a user who names
the rest, `--results FILE` gets what came of every script. The exit code is 0 when no run was given anything.
"""

import argparse
import ast
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from skillkit.core.digest_memo import tree_digests
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.grants import Grants
from skillkit.core.models import SkillMetadata
from skillkit.core.parser import SkillParser
from skillkit.core.pythons import header_clauses
from skillkit.core.walk import SkillWalk
from skillkit.scripts import LocalRunner
from skillkit.scripts.catalogue import Script, find_scripts
from skillkit.scripts.granted_requests import help_request
from skillkit.scripts.inline_metadata import InlineMetadata
from skillkit.scripts.needed_packages import chosen_requirements, packages_of
from skillkit.scripts.node_packages import node_projects_of
from skillkit.scripts.payloads import help_payload
from skillkit.scripts.script_help import FROM_TEXT, with_written_help, written_help_of

PRINTED = "printed"
_HAS_HELP = re.compile(
    r"argparse|optparse|\bclick\b|typer|docopt|\bfire\b|absl|OptionParser|commander|yargs|parseArgs|--help|"
    r"(?:\b|\\[nt])usage\b",
    re.IGNORECASE,
)
_MODULE_BODY = (
    ast.Import,
    ast.ImportFrom,
    ast.FunctionDef,
    ast.AsyncFunctionDef,
    ast.ClassDef,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.Try,
)


@dataclass(slots=True)
class Asked:
    """One script and what it answered."""

    repository: str
    skill: str
    script: str
    is_module: bool
    """Other files import it, and it starts nothing itself."""
    has_help: bool
    """Whether its text says anything of a help or of usage."""
    before: str = ""
    """`printed`, `text` (what `script_help` reads in it), or nothing."""
    after: str = ""
    reason: str = ""
    """Why it printed no help in the end."""


@dataclass(slots=True)
class Report:
    """What came of all scripts of one run."""

    asked: list[Asked] = field(default_factory=list)
    gained: list[str] = field(default_factory=list)
    """Runs that were given something; there should be none."""
    unresolved: dict[str, str] = field(default_factory=dict)
    """Skills whose packages could not be accepted, and why."""

    def lines(self) -> Iterator[str]:
        for name in sorted({each.repository for each in self.asked}):
            yield _counts(name, [each for each in self.asked if each.repository == name])
        yield _counts("all", self.asked)
        silent = [each for each in self.asked if not each.is_module and each.after != PRINTED]
        reasons = Counter(_kind(each.reason) for each in silent)
        yield from (f"  {count:4} {reason}" for reason, count in reasons.most_common())
        yield f"packages not accepted: {len(self.unresolved)}; given what was not granted: {len(self.gained)}"


def _counts(name: str, asked: list[Asked]) -> str:
    scripts = [each for each in asked if not each.is_module]
    helpful = [each for each in scripts if each.has_help]
    lines = [f"{name}: {len(asked)} files, {len(scripts)} scripts, {len(helpful)} of them speak of a help"]
    for title, group in (("scripts", scripts), ("that speak of a help", helpful)):
        for when in ("before", "after"):
            found = Counter(getattr(each, when) for each in group)
            shares = [f"{kind} {found[kind]} ({_share(found[kind], group)})" for kind in (PRINTED, FROM_TEXT)]
            answered = _share(found[PRINTED] + found[FROM_TEXT], group)
            lines.append(f"  {title}, {when}: {', '.join(shares)}, answered {answered}")
    return "\n".join(lines)


def _share(count: int, group: list[Asked]) -> str:
    return f"{100 * count / len(group):.0f} %" if group else "-"


def _kind(reason: str) -> str:
    """The same words for the same cause."""
    if missing := re.search(r"No module named '([^'.]+)", reason):
        return f"No module named '{missing[1]}'"
    lines = [line for line in reason.splitlines() if line.strip()]
    return re.sub(r"/\S+", "…", lines[-1] if lines else "nothing was printed")[:110]


class Walk:
    """Asks the scripts of every skill beneath the folders, each tree once."""

    def __init__(self, runner: LocalRunner, corrections: dict[str, str], results: Path | None) -> None:
        self._results = results
        self._runner = runner
        self._corrections = corrections
        self._seen: set[str] = set()
        self.report = Report()

    def add(self, folder: Path, pattern: str) -> None:
        for found in SkillWalk(folder.absolute(), include_nested=True, max_depth=64):
            try:
                skill = SkillParser(recover=True).parse_skill_file(Path(found.path))
                digest = tree_digests.with_links(skill.base_dir).digest
            except SkillsUseError:
                continue
            if digest not in self._seen and re.search(pattern, str(skill.base_dir)):
                self._seen.add(digest)
                self._ask_skill(folder.name, skill, digest)

    def _ask_skill(self, repository: str, skill: SkillMetadata, digest: str) -> None:
        scripts = find_scripts(skill)
        texts = {each.relative_path: each.path.read_text("utf-8", "replace") for each in scripts}
        asked = {
            each: Asked(
                repository, skill.name, each.relative_path, is_module(each, texts), has_help(each, texts)
            )
            for each in scripts
        }
        waiting = [each for each, about in asked.items() if not about.is_module]
        for script, (kind, reason) in self._help(skill, digest, waiting, Grants()):
            asked[script].before = asked[script].after = kind
            asked[script].reason = reason
        waiting = [each for each in waiting if asked[each].before != PRINTED]
        if waiting and (grants := self._accept(skill)) != Grants():
            for script, (kind, reason) in self._help(skill, digest, waiting, grants):
                asked[script].after, asked[script].reason = kind, reason
        self.report.asked += asked.values()
        if self._results is not None:  # after every skill: somebody may have waited long enough
            self._results.write_text(json.dumps(asdict(self.report), indent=1))
        if asked:
            good = Counter(
                each.after or ("module" if each.is_module else "nothing") for each in asked.values()
            )
            print(f"{repository} {skill.name}: {dict(good)}", file=sys.stderr, flush=True)

    def _help(
        self, skill: SkillMetadata, digest: str, scripts: list[Script], grants: Grants
    ) -> Iterable[tuple[Script, tuple[str, str]]]:
        """What each script printed or its text says, and why it printed nothing."""

        def ask(script: Script) -> tuple[str, str]:
            request = help_request(skill, script, digest, grants, None)
            payload = help_payload(script.name, request, self._runner.run(request))
            self._check(f"{skill.name} {script.relative_path}", payload["meta"]["grants"])
            reason = "nothing was printed" if payload["success"] else str(payload["message"])
            answer = with_written_help(script.name, payload, written_help_of(skill, script))
            if not answer["success"] or not answer["result"]["help_text"]:
                return "", reason
            return answer["result"].get("source", PRINTED), reason

        with ThreadPoolExecutor(2) as pool:
            return list(zip(scripts, pool.map(ask, scripts), strict=True))

    def _check(self, run: str, given: dict[str, Any]) -> None:
        if given["network"] or given["hosts"] or given["env"] or given["write"] or len(given["read"]) > 1:
            self.report.gained.append(f"{run}: {given}")

    def _accept(self, skill: SkillMetadata) -> Grants:
        """What the user's yes to the proposed packages gives, without those that no index has."""
        return Grants(packages=self._python_lock(skill), node_packages=self._node_lock(skill))

    def _node_lock(self, skill: SkillMetadata) -> str:
        try:
            projects = [each for each in node_projects_of(skill) if each.dependencies]
            locks = {project.folder: self._runner.node.lock(project) for project in projects}
        except SkillsUseError as error:
            self.report.unresolved[f"{skill.name}: npm"] = str(error)
            return ""
        return json.dumps(locks) if locks else ""

    def _python_lock(self, skill: SkillMetadata) -> str:
        needed = packages_of(skill, strict=True)
        added = [fix for each in needed if (fix := self._correction(each.module))]
        left_out = [each.module for each in needed if self._correction(each.module) is not None]
        requirements = chosen_requirements(needed, added, left_out)
        if not requirements:
            return ""
        try:
            metadata = InlineMetadata.of(requirements)
            metadata = replace(metadata, requires_python=header_clauses(skill.requires.python or ""))
            return self._runner.environments.lock(skill.name, metadata)
        except SkillsUseError as error:
            self.report.unresolved[f"{skill.name}: {', '.join(requirements)}"] = str(error)
            print(f"  {skill.name}: {str(error)[-600:]}", file=sys.stderr)
            return ""

    def _correction(self, module: str) -> str | None:
        names = (".".join(module.split(".")[:length]) for length in range(module.count(".") + 1, 0, -1))
        return next((self._corrections[name] for name in names if name in self._corrections), None)


def is_module(script: Script, texts: dict[str, str]) -> bool:
    """Whether a file is there to be imported: nothing happens when it is started."""
    text = texts[script.relative_path]
    if script.path.suffix == ".py":
        try:
            body = ast.parse(text).body
        except (SyntaxError, ValueError):
            return False
        if any(map(_refuses_to_start, body)):
            return True
        documented = (
            node for node in body if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
        )
        return all(isinstance(node, _MODULE_BODY) for node in documented)
    others = (other for path, other in texts.items() if path != script.relative_path)
    imported = re.compile(rf"(?:import|from|require|source|\.)[ (][^\n]*\b{re.escape(script.path.name)}\b")
    starts = r"\$[1@#*]|\$\{[1@#*]|getopts" if script.path.suffix in (".sh", ".bash") else r"\bargv\b"
    return not re.search(starts, text) and any(imported.search(other) for other in others)


def _refuses_to_start(node: ast.stmt) -> bool:
    """Whether all that happens when a file is started is an error."""
    return (
        isinstance(node, ast.If)
        and "__main__" in ast.dump(node.test)
        and all(isinstance(statement, ast.Raise) for statement in node.body)
    )


def has_help(script: Script, texts: dict[str, str]) -> bool:
    """Whether a script's own text speaks of a help."""
    return _HAS_HELP.search(texts[script.relative_path]) is not None


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", nargs="+", type=Path)
    parser.add_argument("--only", default="", metavar="PATTERN", help="skills whose path matches")
    parser.add_argument("--corrections", type=Path, help="JSON of modules and the packages that have them")
    parser.add_argument("--results", type=Path, help="where to write what came of every script")
    parser.add_argument("--home", type=Path, help="where environments are kept for the next time")
    options = parser.parse_args(arguments)
    corrections = json.loads(options.corrections.read_text()) if options.corrections else {}
    with tempfile.TemporaryDirectory(prefix="skillkit-scripts-") as scratch:
        os.chmod(scratch, 0o755)
        runner = LocalRunner(options.home or Path(scratch), concurrency=2)
        walk = Walk(runner, corrections, options.results)
        try:
            for folder in options.folder:
                walk.add(folder, options.only)
        finally:
            runner.close()
    print("\n".join(walk.report.lines()))
    return 1 if walk.report.gained else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
