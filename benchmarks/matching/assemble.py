"""Libraries with the requests that their authors wrote, out of repositories of skills.

python3 dev.py bench matching assemble --repositories FOLDER --data FOLDER

Every repository beneath FOLDER (`OWNER+NAME/repo`, a git directory) whose skills bring their own requests
becomes a library; those with fewer than eight skills are put together into one. `commits.json` names the
commits. Files of cases are read as `agent skill test` reads them. Requests that say which skill should be
used have the kind `trigger`; the prompts of evaluations of a skill's work have the kind `work`. Only English
requests are taken, at most twelve of a kind for a skill.
"""

import hashlib
import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.header import split
from skillkit.core.parser import SkillParser
from skillkit.evaluation.cases import Case, Suite
from skillkit.evaluation.discovery import find_suites
from skillkit.evaluation.routing import canonical, routed_cases

SMALL = "small"
"""The library that is made of repositories with few skills."""
FEWEST_SKILLS, MOST_SKILLS, MOST_OF_A_KIND = 8, 1_000, 12
_READ = ("SKILL.md", ".json", ".jsonl", ".yaml", ".yml", ".txt")
_NOT_OURS = re.compile(
    r"(?i)(^|/)(node_modules|fixtures?|testdata|templates?|examples?|worktrees?|workspace|runs?|results?|"
    r"dist|vendor|archive|archived|deprecated|\.github)(/|$)|package(-lock)?\.json|grading|timing|transcript|"
    r"metadata|session|metrics|schema|baseline|plugin\.json|report|manifest|config"
)
_LEFT_ALONE = re.compile(
    r"""(?ix)
    \b(?:skill|it|this)\s+(?:is|was|should|must|does|do|did|will)\s+not\s+(?:be\s+)?
        (?:invoked?|trigger(?:ed)?|activated?|used?|loaded?|fire|apply|run)\b
  | \b(?:should|must|does|do)\s+not\s+(?:trigger|activate|invoke|fire|
        (?:load|use)\s+(?:the|this)\s+skill)\b
  | \bskill\s+not\s+(?:invoked|triggered|activated|used|loaded)\b
  | \b(?:doesn['’]t|not)\s+(?:trigger|activate)(?:ed)?\b
  | \bout[\s-]of[\s-]scope\s+for\s+(?:this|the)\s+skill\b
    """
)
"""What is expected of a skill that the request is not for."""
_DOUBTFUL = re.compile(
    r"(?i)anti[_-]?trigger|no[_-]?trigger|non[_-]?trigger|negative|out[_-]?of[_-]?scope|near[_-]?miss|"
    r"should[_-]?not|do(?:es)?[_-]?not[_-]?use|false[_-]?positive|wrong[_-]?skill|redirect|refus|declin|decoy"
)
"""In the name of an evaluation: the skill may be left alone, or only do something else."""


@dataclass
class Labelled:
    """A request and what its author says of it."""

    query: str
    relevant: list[str] = field(default_factory=list)
    negative_for: list[str] = field(default_factory=list)
    kind: str = "work"


class Repository:
    """The skills of one repository and the requests that it brings for them."""

    def __init__(self, git_dir: Path) -> None:
        self.git_dir = git_dir
        self.name = git_dir.parent.name.replace("+", "/", 1)
        self.skills: dict[str, tuple[str, str]] = {}
        self.requests: dict[str, Labelled] = {}
        self._owners: dict[Path, str] = {}
        """The folder of a skill → its name."""

    @property
    def commit(self) -> str:
        return self._git("rev-parse", "HEAD").decode().strip()

    def read(self) -> bool:
        """Whether there is anything to ask."""
        with tempfile.TemporaryDirectory() as folder:
            files = Path(folder, self.name.partition("/")[2]).resolve()
            self._unpack(files)
            manifests = [path for path in files.rglob("SKILL.md") if self._is_ours(path, files)]
            if len(manifests) > MOST_SKILLS:
                return False
            for path in sorted(manifests, key=lambda path: (len(path.parts), path)):
                self._add_skill(path)
            for suite in find_suites([files]).suites:
                if self._is_ours(suite.path, files):
                    self._add_requests(suite)
        return any(request.relevant for request in self.requests.values())

    def kept(self) -> Iterator[Labelled]:
        """A bounded number of each kind, by a hash of the text."""
        seen: Counter[tuple[object, ...]] = Counter()
        for request in sorted(
            self.requests.values(),
            key=lambda one: hashlib.sha256(one.query.encode("utf-8", "surrogatepass")).digest(),
        ):
            key = (*request.relevant, "", *request.negative_for, request.kind)
            seen[key] += 1
            if seen[key] <= MOST_OF_A_KIND:
                yield request

    def _unpack(self, folder: Path) -> None:
        """Lay out the files that skills and cases are; links and what a snapshot lacks stay out."""
        listed = self._git("ls-tree", "-r", "-z", "HEAD").split(b"\0")
        files = {}
        for entry in filter(None, listed):
            mode, _, rest = entry.decode("utf-8", "replace").split(" ", 2)
            blob, _, name = rest.partition("\t")
            if mode != "120000" and name.endswith(_READ):
                files[name] = blob
        wanted = "".join(f"{blob}\n" for blob in files.values()).encode()
        contents = self._git("cat-file", "--batch", send=wanted)
        place = 0
        folder.mkdir()
        for name in files:
            line, _, _ = contents[place : place + 200].partition(b"\n")
            place += len(line) + 1
            if line.endswith(b" missing"):
                continue
            size = int(line.rsplit(b" ", 1)[1])
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(contents[place : place + size])
            place += size + 1

    def _git(self, *arguments: str, send: bytes = b"") -> bytes:
        command = ("git", f"--git-dir={self.git_dir}", *arguments)
        return subprocess.run(command, input=send, capture_output=True, check=False).stdout

    def _is_ours(self, path: Path, files: Path) -> bool:
        return not _NOT_OURS.search(os.path.relpath(path, files))

    def _add_skill(self, path: Path) -> None:
        content = path.read_bytes()
        try:
            skill = SkillParser(recover=True).parse(content, path)
            body = content[split(content).body_start :].decode("utf-8", "replace")
        except SkillsUseError:
            return
        if skill.description:
            self._owners[path.parent] = skill.canonical_name
            self.skills.setdefault(skill.canonical_name, (skill.description, body))

    def _add_requests(self, suite: Suite) -> None:
        around = next((self._owners[folder] for folder in suite.path.parents if folder in self._owners), None)
        owner = around or (canonical(suite.skill) if suite.skill else None) or self._named_in(suite.path)
        for routed in routed_cases(suite.cases, owner, suite.path):
            wanted, unwanted = routed.wanted, routed.unwanted
            if routed.implied and _is_left_alone(routed.case):
                wanted, unwanted = (), wanted
            elif routed.implied and _DOUBTFUL.search(f"{routed.case.id} {routed.case.name}"):
                continue
            self._add(routed.request, wanted, unwanted, "work" if routed.implied else "trigger")

    def _named_in(self, path: Path) -> str | None:
        """The skill whose name is in a path."""
        parts = (canonical(part) for part in reversed(re.split(r"[/.]", str(path))) if part)
        return next((part for part in parts if part in self.skills), None)

    def _add(self, text: str, wanted: tuple[str, ...], unwanted: tuple[str, ...], kind: str) -> None:
        text = text.strip()
        letters = [letter for letter in text if letter.isalpha()]
        known = [[name for name in names if name in self.skills] for names in (wanted, unwanted)]
        if (
            len(text.split()) < 2
            or not any(known)
            or len(known[0]) < len(wanted)
            or sum(map(str.isascii, letters)) < 0.9 * len(letters)
        ):
            return
        request = self.requests.setdefault(text, Labelled(text))
        request.kind = "trigger" if kind == "trigger" else request.kind
        for names, chosen in zip(known, (request.relevant, request.negative_for), strict=True):
            chosen.extend(name for name in names if name not in (*request.relevant, *request.negative_for))


def _is_left_alone(case: Case) -> bool:
    """Whether what is expected first is that the skill is not used."""
    expected = [case.expected_output, *(check.text for check in case.checks[:2])]
    return any(_LEFT_ALONE.search(text) for text in expected)


def assemble(repositories: Path, data: Path) -> None:
    """Write every library beneath `data`, in the form that `data.libraries` reads."""
    small: list[Repository] = []
    commits = {}
    for git_dir in sorted(repositories.glob("*/repo")):
        repository = Repository(git_dir)
        if not repository.read():
            continue
        commits[repository.name] = repository.commit
        if len(repository.skills) < FEWEST_SKILLS:
            small.append(repository)
        else:
            _write(data / repository.name.replace("/", "__"), [repository])
    if small:
        _write(data / SMALL, small)
    (data / "commits.json").write_text(json.dumps(commits, indent=2), encoding="utf-8")


def _write(folder: Path, repositories: list[Repository]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    skills: list[dict[str, str]] = []
    requests = []
    for repository in repositories:
        taken = {skill["name"] for skill in skills}
        names = {name: f"{name}-{len(skills)}" if name in taken else name for name in repository.skills}
        for name, (description, body) in repository.skills.items():
            skills.append(
                {"skill_id": names[name], "name": names[name], "description": description, "body": body}
            )
        for request in repository.kept():
            row = asdict(request)
            for key in ("relevant", "negative_for"):
                row[key] = [names[name] for name in row[key]]
            requests.append(row)
    for name, rows in (("skills.jsonl", skills), ("queries.jsonl", requests)):
        (folder / name).write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    kinds = Counter(request["kind"] for request in requests if request["relevant"])
    against = sum(not request["relevant"] for request in requests)
    print(
        f"{folder.name}: {len(skills)} skills, {dict(kinds)}, {against} not for one",
        flush=True,
    )
