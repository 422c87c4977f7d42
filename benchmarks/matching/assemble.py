"""Libraries with the requests that their authors wrote, out of repositories of skills.

python3 dev.py bench matching assemble --repositories FOLDER --data FOLDER

Every repository beneath FOLDER (`OWNER+NAME/repo`, a git directory) whose skills bring their own requests
becomes a library; those with fewer than eight skills are put together into one. A hash of the name sends
each to the half `A`, which may be looked at, or `B`, which is for measuring. Requests that say whether the
skill should be used (`should_trigger` and the like, routing files) have the kind `trigger`; the prompts of
evaluations of a skill's work have the kind `work`. Only English requests are taken, at most twelve of a
kind for a skill.
"""

import hashlib
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import yaml

from benchmarks.matching.unseen import PUT_TOGETHER
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.header import split
from skillkit.core.parser import SkillParser

FEWEST_SKILLS, MOST_SKILLS, MOST_OF_A_KIND = 8, 1_000, 12
TEXTS = ("query", "prompt", "user_prompt", "input", "request", "utterance", "text", "message", "user_message")
FLAGS = ("should_trigger", "shouldTrigger", "should_activate", "expected_trigger", "trigger", "triggers")
ROUTES = ("expected_skill", "expectedSkill", "expected_skills", "skill", "expected", "target", "route")
POSITIVE = ("should_trigger", "shouldTrigger", "positive", "positives", "triggers", "should_activate")
NEGATIVE = ("should_not_trigger", "shouldNotTrigger", "negative", "negatives", "near_misses", "non_triggers")
NAMES = (
    "id",
    "name",
    "title",
    "category",
    "type",
    "kind",
    "prompt_type",
    "case_type",
    "tags",
    "tag",
    "scenario",
)
EXPECTED = (
    "expected_output",
    "expected_behavior",
    "expectations",
    "assertions",
    "expected",
    "expect",
    "notes",
)
_LABELS = re.compile(r"(?i)eval|trigger|routing")
_ROUTING = re.compile(r"(?i)rout|trigger|activation")
_NOT_OURS = re.compile(
    r"(?i)(^|/)(node_modules|fixtures?|testdata|templates?|examples?|worktrees?|workspace|runs?|results?|"
    r"dist|vendor|archive|deprecated|\.github)(/|$)|package(-lock)?\.json|grading|timing|transcript|metadata|"
    r"session|metrics|schema|baseline|plugin\.json|report|manifest|config"
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
"""In the name or kind of an evaluation: the skill may be left alone, or only do something else."""
_NO = re.compile(r"(?i)(no|not|skip|false|should[_ -]?not|do[_ -]?not|negative|reject)")


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
        self.half = "AB"[hashlib.sha256(self.name.encode()).digest()[0] % 2]
        self.skills: dict[str, tuple[str, str]] = {}
        self.requests: dict[str, Labelled] = {}
        self._owners: dict[str, str] = {}
        self._files = [
            name for name in self._git("ls-tree", "-r", "--name-only", "-z", "HEAD").split("\0") if name
        ]

    def read(self) -> bool:
        """Whether there is anything to ask."""
        manifests = [
            path for path in self._files if Path(path).name == "SKILL.md" and not _NOT_OURS.search(path)
        ]
        if len(manifests) > MOST_SKILLS:
            return False
        for path in sorted(manifests, key=lambda path: (path.count("/"), path)):
            self._add_skill(path)
        for path in self._files:
            if (
                _LABELS.search(path)
                and path.endswith((".json", ".yaml", ".yml"))
                and not _NOT_OURS.search(path)
            ):
                found = _parsed(self._git("show", f"HEAD:{path}"))
                self._read(found, self._owner(path), path)
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

    def _git(self, *arguments: str) -> str:
        command = ("git", f"--git-dir={self.git_dir}", *arguments)
        return subprocess.run(command, capture_output=True, check=False).stdout.decode("utf-8", "replace")

    def _add_skill(self, path: str) -> None:
        content = self._git("show", f"HEAD:{path}").encode()
        place = Path(path) if "/" in path else Path(self.name.partition("/")[2]) / path
        try:
            skill = SkillParser(recover=True).parse(content, place)
            body = content[split(content).body_start :].decode("utf-8", "replace")
        except SkillsUseError:
            return
        if skill.description:
            self._owners[os.path.dirname(path)] = skill.canonical_name
            self.skills.setdefault(skill.canonical_name, (skill.description, body))

    def _owner(self, path: str) -> str | None:
        """The skill in whose folder a file is, or whose name is in its path."""
        for folder in Path(path).parents:
            if str(folder) != "." and (owner := self._owners.get(str(folder))):
                return owner
        named = (self._known(part) for part in reversed(re.split(r"[/.]", path)))
        return next((found[0] for found in named if found), self._owners.get(""))

    def _known(self, value: object) -> list[str]:
        values = value if isinstance(value, list) else [value]
        texts = [one.get("name") if isinstance(one, dict) else one for one in values]
        names = [re.split(r"[:/]", text.strip("/"))[-1] for text in texts if isinstance(text, str)]
        return [name for name in names if name in self.skills]

    def _read(self, value: Any, owner: str | None, path: str) -> None:
        if isinstance(value, list):
            for one in value:
                self._read(one, owner, path)
        if not isinstance(value, dict):
            return
        text = _text(value)
        if text is None:
            owner = next(iter(self._known(value.get("skill_name") or value.get("skill"))), owner)
        for keys, wanted in ((POSITIVE, True), (NEGATIVE, False)):
            for one in (one for key in keys if isinstance(value.get(key), list) for one in value[key]):
                self._add(_text(one), [owner] if owner else [], wanted=wanted, kind="trigger")
        if text is None:
            for key, inner in value.items():
                if key not in (*POSITIVE, *NEGATIVE):
                    self._read(inner, next(iter(self._known(key)), owner), path)
            return
        routed = next((found for key in ROUTES if (found := self._known(value.get(key)))), [])
        wanted = _flag(value, path)
        if wanted is None and _is_left_alone(value):
            wanted = False
        if wanted is None and _DOUBTFUL.search(" ".join(_said(value, NAMES))):
            return
        is_trigger = wanted is not None or bool(routed and _ROUTING.search(path))
        skills = routed or ([owner] if owner else [])
        self._add(text, skills, wanted=wanted is not False, kind="trigger" if is_trigger else "work")

    def _add(self, text: str | None, skills: list[str], *, wanted: bool, kind: str) -> None:
        text = (text or "").strip()
        letters = [letter for letter in text if letter.isalpha()]
        if len(text.split()) < 2 or not skills or sum(map(str.isascii, letters)) < 0.9 * len(letters):
            return
        request = self.requests.setdefault(text, Labelled(text))
        request.kind = "trigger" if kind == "trigger" else request.kind
        chosen = request.relevant if wanted else request.negative_for
        chosen.extend(skill for skill in skills if skill not in (*request.relevant, *request.negative_for))


def _parsed(text: str) -> Any:
    try:
        return yaml.safe_load(text)  # JSON is YAML
    except (yaml.YAMLError, ValueError, RecursionError):
        return None


def _text(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if isinstance(value, dict):
        return next((value[key] for key in TEXTS if isinstance(value.get(key), str)), None)
    return None


def _flag(value: dict[str, Any], path: str) -> bool | None:
    known = next((value[key] for key in FLAGS if isinstance(value.get(key), bool)), None)
    if known is None and "trigger" in path.lower():
        said = next(
            (value[key] for key in (*FLAGS, "expect", "expected") if isinstance(value.get(key), str)), None
        )
        known = None if said is None else not _NO.match(said)
    return known


def _is_left_alone(value: dict[str, Any]) -> bool:
    """Whether what is expected first is that the skill is not used."""
    return any(_LEFT_ALONE.search(text) for text in _said(value, EXPECTED)[:2])


def _said(value: dict[str, Any], keys: tuple[str, ...]) -> list[str]:
    """The texts in some fields, those of lists one by one."""
    found = (
        one for key in keys for one in (value[key] if isinstance(value.get(key), list) else [value.get(key)])
    )
    return [
        text for one in found if isinstance(text := one.get("text") if isinstance(one, dict) else one, str)
    ]


def assemble(repositories: Path, data: Path) -> None:
    """Write every library beneath `data`, in the form that `data.libraries` reads."""
    small: dict[str, list[Repository]] = {"A": [], "B": []}
    for git_dir in sorted(repositories.glob("*/repo")):
        repository = Repository(git_dir)
        if not repository.read():
            continue
        if len(repository.skills) < FEWEST_SKILLS:
            small[repository.half].append(repository)
        else:
            _write(data / repository.half / repository.name.replace("/", "__"), [repository])
    for half, some in small.items():
        _write(data / half / PUT_TOGETHER, some)


def _write(folder: Path, repositories: list[Repository]) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    skills, requests = [], []
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
    print(f"{folder.parent.name} {folder.name}: {len(skills)} skills, {dict(kinds)}", flush=True)
