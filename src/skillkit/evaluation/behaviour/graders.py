"""Checks of a run: passed, failed, or not judged."""

import ast
import operator
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import takewhile
from typing import Any

from skillkit.core.foreign_json import parse_json
from skillkit.core.names import canonical_name
from skillkit.evaluation.behaviour.executor import ToolCall, Transcript
from skillkit.evaluation.cases import Check, CheckKind
from skillkit.evaluation.json_values import (
    LONGEST_PATTERN,
    NotJudgedError,
    find_pattern,
    schema_differences,
    subset_differences,
)

NEEDS_JUDGE = "needs a judge: --judge PROVIDER"


Rule = Callable[[Check, str, str], Iterator[str]]
"""Yields the problems of a text, given its description."""
Grader = Callable[[Check, Transcript, str], Iterator[str]]
"""Yields the problems of a run of the skill with that name."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The result of one check of one run; `passed` is None if it was not judged."""

    check: Check
    passed: bool | None
    evidence: str = ""

    def as_data(self) -> dict[str, object]:
        return {
            "text": self.check.text or self.check.shown,
            "compiled": self.check.shown if self.check.compiled else None,
            "kind": self.check.kind.value,
            "passed": self.passed,
            "evidence": self.evidence,
        }


def grade(check: Check, run: Transcript, skill: str) -> Grade:
    """Grade a check without a model; statements are left for the judge."""
    grader = _GRADERS.get(check.kind)
    if grader is None:
        return Grade(check, None, check.note or NEEDS_JUDGE)
    try:
        problem = next(iter(grader(check, run, skill)), None)
    except NotJudgedError as error:
        return Grade(check, None, str(error))
    return Grade(check, problem is None, problem or "")


def _contains(check: Check, text: str, what: str) -> Iterator[str]:
    where = text if check.same_case else text.casefold()
    missing = [
        value for value in check.values if (value if check.same_case else value.casefold()) not in where
    ]
    if missing and (not check.any_of or len(missing) == len(check.values)):
        yield f"{what} lacks {', '.join(map(repr, missing[:3]))}"


def _excludes(check: Check, text: str, what: str) -> Iterator[str]:
    where = text if check.same_case else text.casefold()
    for value in check.values:
        if (value if check.same_case else value.casefold()) in where:
            yield f"{what} has {value!r}"


def _matches(check: Check, text: str, what: str) -> Iterator[str]:
    missing = [value for value in check.values if not _search(value, text, same_case=check.same_case)]
    if missing and (not check.any_of or len(missing) == len(check.values)):
        yield f"{what} does not match {', '.join(missing[:3])}"


def _not_matches(check: Check, text: str, what: str) -> Iterator[str]:
    for value in check.values:
        if found := _search(value, text, same_case=check.same_case):
            yield f"{what} matches {value}: {found[:80]!r}"


def _search(pattern: str, text: str, *, same_case: bool) -> str:
    return find_pattern(pattern, text, "(?ms)" if same_case else "(?ims)")


def _of_answer(rule: Rule) -> Grader:
    return lambda check, run, skill: rule(check, run.answer, "the answer")


def _of_files(rule: Rule, *, absent_is_good: bool = False) -> Grader:
    def check_files(check: Check, run: Transcript, skill: str) -> Iterator[str]:
        files = _files(check.path, run)
        if not files and not absent_is_good:
            yield f"there is no file {check.path}; files: {', '.join(list(run.files)[:5]) or 'none'}"
        problems = [next(rule(check, text, name), "") for name, text in files.items()]
        if problems and all(problems):
            yield problems[0]
        elif absent_is_good and any(problems):
            yield next(problem for problem in problems if problem)

    return check_files


def _files(pattern: str, run: Transcript) -> Mapping[str, str]:
    wanted = pattern.removeprefix("./")
    return {
        name: text
        for name, text in run.files.items()
        if name == wanted or fnmatchcase(name, wanted) or fnmatchcase(f"/{name}", wanted.replace("**/", "*/"))
    }


def _file_absent(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    if found := _files(check.path, run):
        yield f"there is {next(iter(found))}"


def _document(check: Check, run: Transcript) -> object:
    text = next(iter(_files(check.path, run).values()), "") if check.path else run.answer
    for candidate in (text, _fenced(text)):
        try:
            return parse_json(candidate)
        except ValueError:
            continue
    raise ValueError


def _fenced(text: str) -> str:
    """Return the lines of the first fenced block."""
    lines = iter(text.splitlines())
    if not any(line.strip() in ("```", "```json") for line in lines):
        return ""
    return "\n".join(takewhile(lambda line: line.strip() != "```", lines))


def _json(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    try:
        document = _document(check, run)
    except ValueError:
        yield f"{check.path or 'the answer'} is not valid JSON"
        return
    if check.kind is CheckKind.JSON_SUBSET:
        yield from subset_differences(check.data, document)
    elif isinstance(check.data, Mapping):
        yield from schema_differences(check.data, document)
    else:
        raise NotJudgedError("the schema is not in the file")


def _tool_calls(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    """Yield the missing tool calls: each named tool, with matching arguments, in order if required."""
    remaining = list(run.calls)
    called = ", ".join(call.name for call in run.calls[:8]) or "none"
    for name, pattern in _wanted_calls(check):
        place = next((at for at, call in enumerate(remaining) if _is_call(call, name, pattern)), None)
        if place is None:
            how = f" with {pattern}" if pattern else ""
            order = " in this order" if check.ordered else ""
            yield f"{name} was not called{how}{order}; called: {called}"
            return
        if check.ordered:
            del remaining[: place + 1]
    if check.exact and len(run.calls) > len(check.values):
        yield f"more calls than expected; called: {called}"


def _tools_absent(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    for name, pattern in _wanted_calls(check):
        for call in run.calls:
            if _is_call(call, name, pattern):
                yield f"{call.name} was called with {call.arguments[:80]}"
                return


def _wanted_calls(check: Check) -> Iterator[tuple[str, str | Mapping[str, object] | None]]:
    """Yield the tools named by a check, each with the pattern or values of its arguments."""
    patterns = check.data if isinstance(check.data, list) else [None] * len(check.values)
    yield from zip(check.values, patterns, strict=True)


def _is_call(call: ToolCall, name: str, pattern: str | Mapping[str, object] | None) -> bool:
    if call.name.casefold() != name.casefold():
        return False
    if isinstance(pattern, Mapping):
        try:
            return not any(subset_differences(pattern, parse_json(call.arguments)))
        except ValueError:
            return False
    return pattern is None or bool(_search(pattern, call.arguments, same_case=False))


def _skill_loaded(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    for name in check.values or (skill,):
        if canonical_name(name) not in map(canonical_name, run.skills):
            yield f"the skill {name} was not loaded; loaded: {', '.join(run.skills) or 'none'}"


def _skill_not_loaded(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    for name in check.values or (skill,):
        if canonical_name(name) in map(canonical_name, run.skills):
            yield f"the skill {name} was loaded"


def _limit(measure: Callable[[Transcript], float], unit: str) -> Grader:
    def check_limit(check: Check, run: Transcript, skill: str) -> Iterator[str]:
        if check.limit is not None and measure(run) > check.limit:
            yield f"{measure(run):g} {unit}, more than {check.limit:g}"

    return check_limit


def _completed(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    if run.error:
        yield run.error


def _expression(check: Check, run: Transcript, skill: str) -> Iterator[str]:
    for text in check.values:
        if not evaluate(text, {"output": run.answer}):
            yield f"{text} is false"


_GRADERS: dict[CheckKind, Grader] = {
    CheckKind.CONTAINS: _of_answer(_contains),
    CheckKind.EXCLUDES: _of_answer(_excludes),
    CheckKind.MATCHES: _of_answer(_matches),
    CheckKind.NOT_MATCHES: _of_answer(_not_matches),
    CheckKind.FILE_EXISTS: _of_files(lambda check, text, what: iter(())),
    CheckKind.FILE_ABSENT: _file_absent,
    CheckKind.FILE_CONTAINS: _of_files(_contains),
    CheckKind.FILE_EXCLUDES: _of_files(_excludes, absent_is_good=True),
    CheckKind.FILE_MATCHES: _of_files(_matches),
    CheckKind.FILE_NOT_MATCHES: _of_files(_not_matches, absent_is_good=True),
    CheckKind.JSON_SCHEMA: _json,
    CheckKind.JSON_SUBSET: _json,
    CheckKind.TOOL_CALLS: _tool_calls,
    CheckKind.TOOLS_ABSENT: _tools_absent,
    CheckKind.SKILL_LOADED: _skill_loaded,
    CheckKind.SKILL_NOT_LOADED: _skill_not_loaded,
    CheckKind.MAX_TOKENS: _limit(lambda run: run.tokens, "tokens"),
    CheckKind.MAX_SECONDS: _limit(lambda run: run.seconds, "seconds"),
    CheckKind.MAX_TOOL_CALLS: _limit(lambda run: len(run.calls), "calls of tools"),
    CheckKind.COMPLETED: _completed,
    CheckKind.EXPRESSION: _expression,
}


# Expressions over the answer, such as Waza's `len(output) > 10`: a subset of Python, evaluated here

_COMPARISONS: dict[type[ast.cmpop], Callable[[Any, Any], object]] = {
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.In: lambda left, right: left in right,
    ast.NotIn: lambda left, right: left not in right,
}
_METHODS = frozenset(
    {"lower", "upper", "strip", "startswith", "endswith", "count", "split", "splitlines", "find"}
)
_FUNCTIONS: dict[str, Callable[..., object]] = {"len": len, "any": any, "all": all, "str": str, "int": int}


def evaluate(text: str, names: Mapping[str, object]) -> object:
    """Evaluate an expression of names, strings, numbers, comparisons and a few string methods."""
    try:
        return _value(ast.parse(text[:LONGEST_PATTERN], mode="eval").body, names)
    except (SyntaxError, TypeError, ValueError, KeyError, RecursionError, MemoryError) as error:
        raise NotJudgedError(f"the expression cannot be evaluated: {error}") from error


def _value(node: ast.expr, names: Mapping[str, object]) -> object:
    match node:
        case ast.Constant(value=value):
            return value
        case ast.Name(id=name):
            return names[name]
        case ast.List(elts=parts) | ast.Tuple(elts=parts):
            return [_value(part, names) for part in parts]
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return not _value(operand, names)
        case ast.BoolOp(op=operation, values=parts):
            found = (bool(_value(part, names)) for part in parts)
            return all(found) if isinstance(operation, ast.And) else any(found)
        case ast.Compare(left=left, ops=operations, comparators=others):
            return _compared(_value(left, names), operations, [_value(other, names) for other in others])
        case ast.Call(func=ast.Name(id=name), args=[argument], keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](_value(argument, names))
        case ast.Call(func=ast.Attribute(value=where, attr=name), args=arguments, keywords=[]) if (
            name in _METHODS
        ):
            text = _value(where, names)
            if isinstance(text, str):
                return getattr(text, name)(*(_value(argument, names) for argument in arguments))
    raise NotJudgedError(f"the expression has a {type(node).__name__}, which is not evaluated")


def _compared(left: object, operations: Sequence[ast.cmpop], others: Sequence[object]) -> bool:
    for operation, right in zip(operations, others, strict=True):
        if type(operation) not in _COMPARISONS or not _COMPARISONS[type(operation)](left, right):
            return False
        left = right
    return True
