"""Lists of items: `evals.json` in its official form and its variants, and trigger files."""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Literal

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.path_resolver import open_beneath
from skillkit.evaluation.cases import Case, CaseFile, Check, CheckKind, Routing, Suite
from skillkit.evaluation.formats.aliases import FIELDS, LISTS, WORDS, field_name
from skillkit.evaluation.formats.assertions import checks_of, expected_checks, judged
from skillkit.evaluation.formats.document import (
    FormatError,
    mapping_of,
    mappings_of,
    number_of,
    text_of,
    texts_of,
)
from skillkit.evaluation.formats.script_items import identity_of, not_judged, script_call

Should = Literal["yes", "no"] | None
TURNS = ("turns", "messages", "prompts", "conversation")
"""Keys of a list of messages."""
WITHIN = ("input", "inputs", "scenario")
"""Keys of a mapping with the request."""
_PARTS = ("train", "val", "validation", "test", "holdout")


def read_items(document: object, path: Path, skill: str | None) -> Suite:
    """Read cases from a list, from lists in a mapping, or from lists of requests by expected verdict."""
    top = mapping_of(document)
    about = text_of(top, *FIELDS["skill"]) or next(iter(texts_of(top.get("skills"))), None) or skill
    cases: list[Case] = []
    notes: dict[str, None] = {}
    alone = bool(top) and bool(_prompts(top, path))  # the file is a single case
    items = [(document, None, "")] if alone else [*_items(document), *_by_skill(top)]
    for item, should, split in items:
        case = case_of(item, len(cases) + 1, about, path, should)
        if case is None or (case.script is None and mapping_of(item).keys() & FIELDS["result"]):
            continue
        cases.append(replace(case, split=split) if split and not case.split else case)
        if case.script is not None:
            notes.update(dict.fromkeys(f"{key} is not judged" for key in not_judged(mapping_of(item))))
    if not cases:
        raise FormatError(_why_not(document), invalid_path=str(path))
    routed = all(case.routing and not case.routing.implied and not case.checks for case in cases)
    kind = "scripts" if all(case.script for case in cases) else "triggers" if routed else "evals"
    return Suite(path, kind, tuple(_of_library(cases, about)), about, tuple(notes))


def _of_library(cases: list[Case], about: str | None) -> list[Case]:
    """Assign cases that expect no skill to the whole library, if each case names its own skill."""
    if about is not None or not any(case.routing and any(case.routing.wanted) for case in cases):
        return cases
    none_named, none_wanted = Routing((), ("",)), Routing((), ())
    return [replace(case, routing=none_wanted) if case.routing == none_named else case for case in cases]


def _items(
    document: object, should: Should = None, split: str = "", key: str = "", depth: int = 0
) -> Iterator[tuple[object, Should, str]]:
    """Yield every item, with the attributes of its enclosing list."""
    if depth > 3:
        return
    if isinstance(document, list):
        for item in document:
            if isinstance(item, str) and key not in LISTS["texts"] and should is None:
                continue
            nested = mapping_of(item).get("queries")
            if isinstance(nested, list):  # variants of one query
                for query in nested:
                    yield {**mapping_of(item), "query": query}, should, split
            else:
                yield item, should, split
        return
    for own, value in mapping_of(document).items():
        name = field_name(own)
        if not isinstance(value, list | Mapping):
            continue
        texts = isinstance(value, list) and all(isinstance(each, str) for each in value)
        if name in LISTS["positive"] and (name != "triggers" or texts):
            yield from _items(value, "yes", split, name, depth + 1)
        elif name in LISTS["negative"]:
            yield from _items(value, "no", split, name, depth + 1)
        elif own in LISTS["cases"]:
            part = name if name in _PARTS else split
            yield from _items(value, should, part, name, depth + 1)


def _by_skill(top: Mapping[str, object]) -> Iterator[tuple[object, Should, str]]:
    """Yield the items of a file with lists of requests under the name of each skill, or beside it."""
    skills = top.get("skills")
    listed = [
        *mapping_of(skills).items(),
        *((text_of(each, "name", *FIELDS["skill"]), each) for each in mappings_of(skills)),
    ]
    for name, value in (*top.items(), *listed):
        lists = {field_name(key) for key in mapping_of(value)}
        of_skill = (name, value) in listed and bool(name)
        wanted = {*LISTS["positive"], *LISTS["negative"], *(LISTS["cases"] if of_skill else ())}
        if name in LISTS["cases"] or not (lists & wanted or (of_skill and isinstance(value, list))):
            continue
        for item, should, split in _items(value):
            asked = {"prompt": item} if isinstance(item, str) else mapping_of(item)
            yield {"skill": str(name), **asked}, should, split


def case_of(
    item: object, identity: object, skill: str | None, path: Path, should: Should = None
) -> Case | None:
    """Read a case of any format; `identity` names one that its author did not name."""
    if isinstance(item, str):
        item = {"prompt": item} if item.strip() else {}
    if not isinstance(item, Mapping):
        return None
    about = text_of(item, *FIELDS["skill"]) or skill
    case = Case(identity_of(item, identity), name=text_of(item, "name", "eval_name", "title"), skill=about)
    if script := script_call(item):
        return replace(case, script=script, files=_files(item))
    prompts = _prompts(item, path)
    if not prompts:
        return None
    checks = _checks(item)
    expected = text_of(
        item, "expected_output", "ground_truth", "with_skill_expected", "expected_response", "expected_result"
    )
    runs = number_of(item.get("runs") or item.get("repeat"))
    return replace(
        case,
        prompts=prompts,
        routing=_routing(item, about, should) or _routing_of(checks, about),
        checks=checks,
        expected_output=expected,
        files=_files(item),
        runs=int(runs) if runs else None,
        seconds=number_of(item.get("timeout") or item.get("timeout_seconds")),
        split=text_of(item, "split"),
    )


def _routing_of(checks: Iterable[Check], skill: str | None) -> Routing | None:
    """Return the routing of a request without a verdict: from checks about loaded skills, or implied."""
    wanted, unwanted = (
        tuple(name for check in checks if check.kind is kind for name in check.values)
        for kind in (CheckKind.SKILL_LOADED, CheckKind.SKILL_NOT_LOADED)
    )
    if wanted or unwanted:
        return Routing(wanted, unwanted)
    return Routing((skill,), implied=True) if skill else None


def _routing(item: Mapping[str, object], skill: str | None, should: Should) -> Routing | None:
    """Return the routing of an item, combined with that of its enclosing list."""
    fields = {field_name(key): value for key, value in item.items()}
    named = [fields[key] for key in FIELDS["wanted_skills"] if key in fields]
    unwanted = tuple(
        name for key in FIELDS["unwanted_skills"] if key in fields for name in texts_of(fields[key])
    )
    if isinstance(forbidden := fields.get("should_not_trigger"), str | list):
        unwanted += texts_of(forbidden)
    if not named and (name := _named_as_verdict(fields)):
        named = [name]
    if not named and "negative_for" not in fields:
        return _by_verdict(should or _verdict(fields, FIELDS["verdict"] + FIELDS["kind"]), skill, unwanted)
    first = next((names for value in named if (names := texts_of(value))), ())
    wanted = tuple(name for name in first if _word(name) not in WORDS["no_skill"])
    if wanted and _verdict(fields, FIELDS["verdict"]) == "no":
        return Routing((), (*wanted, *unwanted))
    return Routing(wanted, unwanted)


def _by_verdict(verdict: Should, skill: str | None, unwanted: tuple[str, ...]) -> Routing | None:
    if verdict is None:
        return None
    about = skill or ""  # without one, any skill that the file is tested with
    if verdict == "yes":
        return Routing((about,), unwanted)
    return Routing((), (about, *unwanted) if skill else ("",))


def _named_as_verdict(fields: Mapping[str, object]) -> str | None:
    """Return the skill named in a verdict field, such as `"should_trigger": "peer-review"`."""
    for key in ("should_trigger", "expected_trigger"):
        value = fields.get(key)
        if isinstance(value, str) and _word(value) not in WORDS["yes"] + WORDS["no"] and " " not in value:
            return value.strip()
    return None


def _word(text: str) -> str:
    return text.strip().lower().replace("-", "_")


def _verdict(fields: Mapping[str, object], keys: Iterable[str]) -> Should:
    for key in keys:
        value = fields.get(key)
        if value is None and key == "should_trigger" and key in fields:
            return "no"
        if isinstance(value, bool) and key in FIELDS["verdict"]:
            return "yes" if value else "no"
        if isinstance(value, str):
            word = _word(value)
            if word in WORDS["yes"]:
                return "yes"
            if word in WORDS["no"]:
                return "no"
    return None


def _prompts(item: Mapping[str, object], path: Path) -> tuple[str, ...]:
    if text := text_of(item, *FIELDS["prompt"]):
        return (text,)
    for key in TURNS:
        turns = item.get(key)
        if key == "prompts" and any("prompt" in each for each in mappings_of(turns)):
            continue  # separate cases
        if isinstance(turns, list):
            said = [
                each
                if isinstance(each, str)
                else text_of(mapping_of(each), "content", "prompt", "text", "user")
                for each in turns
                if isinstance(each, str) or mapping_of(each).get("role", "user") == "user"
            ]
            if any(said):
                return tuple(text for text in said if text)
    for key in WITHIN:
        if text := text_of(mapping_of(item.get(key)), *FIELDS["prompt"]):
            return (text,)
    if (file := text_of(item, "file", "prompt_file")) and (text := _prompt_file(file, path.parent)):
        return (text,)
    return ()


def _prompt_file(file: str, within: Path) -> str:
    """Read the request from a separate file: its section `Prompt` or `Input`, or the whole file."""
    try:
        with open_beneath(within, file) as descriptor:
            text = os.read(descriptor, 100_000).decode("utf-8", "replace")
    except (SkillsUseError, OSError):
        return ""
    part: list[str] = []
    inside = False
    for line in text.splitlines():
        if line.startswith("#"):
            inside = line.strip("# :").lower() in ("prompt", "input", "request", "user prompt", "query")
        elif inside:
            part.append(line)
    return "\n".join(part).strip() or text.strip()


_CHECKS = (
    *("assertions", "expectations", "asserts", "assert"),
    *("criteria", "graders", "validators", "success_criteria"),
)
_BESIDE = ("expect_tools", "reject_tools", "must_contain", "expected_contains", "must_not_contain")


def _checks(item: Mapping[str, object]) -> tuple[Check, ...]:
    found = [*expected_checks(mapping_of(item.get("expected")))]
    for key in _CHECKS:
        found.extend(checks_of(item.get(key)))
    for key in ("expected_behavior", "checks"):
        found.extend(() if isinstance(item.get(key), str) else checks_of(item.get(key)))
    found.extend(checks_of({key: item[key] for key in _BESIDE if texts_of(item.get(key))}))
    found.extend(judged(item.get("rubric")))
    found.extend(judged([f"The answer avoids this: {text}" for text in texts_of(item.get("forbidden"))]))
    return tuple(found)


def _files(item: Mapping[str, object], *, whole: bool = False) -> tuple[CaseFile, ...]:
    """Return the case files from `files`: paths, a mapping of names and texts, or objects.

    A file of a case's setup keeps its `whole` path; others have only a name.
    """
    found: list[CaseFile] = []
    for key in ("files", "input_files", "fixtures"):
        value = item.get(key)
        if isinstance(value, Mapping):
            found.extend(CaseFile(str(name), content=str(text)) for name, text in value.items())
        for each in value if isinstance(value, list) else ():
            if isinstance(each, str) and each.strip():
                found.append(CaseFile(Path(each).name, source=each))
            elif isinstance(each, Mapping):
                name = text_of(each, "path", "name", "filename") or ("input.txt" if whole else "")
                content, source = each.get("content"), text_of(each, "source", "src")
                text = content if isinstance(content, str) else None
                alone = text is None and not source
                kept = name if whole or not alone else Path(name).name
                if name:
                    found.append(CaseFile(kept, name if alone else source or None, text))
    for key in () if whole else ("setup", "environment", "inputs"):
        found.extend(_files(mapping_of(item.get(key)), whole=True))
    return tuple(found)


def _why_not(document: object) -> str:
    """Describe a file without cases, as far as its keys identify it."""
    top = mapping_of(document)
    if not top and isinstance(document, list):
        top = mapping_of(document[0]) if document else {}
    keys = {str(key) for key in top}
    if not keys:
        return "holds no cases"
    if keys & (
        {*FIELDS["result"]} | {"query_id", "eval_id", "summary", "trigger_metrics", "benchmark", "timestamp"}
    ):
        return "holds results of an evaluation, not cases"
    if {"pattern", "run"} <= keys:
        return "holds patterns that start commands, not requests"
    if {"name", "description"} <= keys or keys == {"content"}:
        return "describes a skill and holds no cases"
    if keys & {"targets", "default_targets", "harness"}:
        return "configures a test program and holds no cases"
    if any(top.get(key) == [] for key in LISTS["cases"]):
        return "has no cases"
    of_cases = {*FIELDS["prompt"], "id", "should_trigger", "shouldTrigger", "expected_skill"}
    if any(isinstance(top.get(key), list) for key in LISTS["cases"]) or keys & of_cases:
        return f"has items without a request; their keys are {', '.join(sorted(keys)[:8])}"
    return f"holds no cases; its keys are {', '.join(sorted(keys)[:8])}"
