"""The JSON Schemas for editors agree with the readers."""

import json
from pathlib import Path

import pytest

from skillkit.core.exceptions import SkillsUseError
from skillkit.core.fields import FIELDS
from skillkit.core.header import load, split
from skillkit.core.parser import SkillParser
from skillkit.core.sources import BUNDLED
from skillkit.evaluation.cases import Suite
from skillkit.evaluation.formats import read_cases_file
from skillkit.evaluation.json_values import schema_differences
from skillkit.evaluation.schemas import SCHEMAS, schema

JUDGED = {"missing-field", "wrong-type", "lenient-value", "name-format", "description-length"} | {
    "compatibility-length"
}
"""What the schema of a header can say; the rest is about the file, its folder or its text."""


def refused_by_schema(header: str) -> bool:
    values = {field.key: field.value for field in load(header)}
    return any(True for _ in schema_differences(schema("skill"), values))


def refused_by_reader(header: str, path) -> bool:
    try:
        SkillParser(strict=True).parse(f"---\n{header}\n---\n".encode(), path)
    except SkillsUseError as error:
        return any(found.code in JUDGED for found in error.diagnostics)
    return False


def test_the_schema_has_every_field_that_is_read():
    assert set(schema("skill")["properties"]) == set(FIELDS)


@pytest.mark.parametrize("name", SCHEMAS)
def test_every_schema_is_one(name):
    from jsonschema import Draft7Validator

    Draft7Validator.check_schema(schema(name))
    assert json.loads(json.dumps(schema(name))) == schema(name)


@pytest.mark.parametrize(
    "more",
    [
        "license: MIT",
        "license: ''",
        "license: [MIT]",
        "version: 1.0",
        "compatibility: [a]",
        "metadata: text",
        "metadata: {a: b}",
        "metadata: {a: 1}",
        "allowed-tools: Read Bash(git add *)",
        "allowed-tools: Read, Bash",
        "allowed-tools: Bash(a, b) Read",
        "allowed-tools: [Read]",
        "user-invocable: NO",
        "user-invocable: maybe",
        "disable-model-invocation: 1",
        "argument-hint: [file]",
        "triggers: {keywords: [a], verbs: b}",
        "triggers: 5",
        "triggers: {keywords: {a: b}}",
        "scripts: [a, {name: b, retry: safe}]",
        "scripts: [{name: b, retry: often}]",
        "permissions: {env: [API_KEY, A_*], hosts: ['*.example.com', 'http://a.example:8080'], timeout: 5}",
        "permissions: {env: [a-b]}",
        "permissions: {hosts: ['a b']}",
        "permissions: {network: perhaps}",
        "permissions: {timeout: -1}",
        "permissions: {secrets: {KEY: {hosts: [api.example.com]}}}",
        "permissions: {secrets: {KEY: {header: X}}}",
        "permissions: [network]",
        "requires: {commands: [git], mcp: {a: {}}}",
        "requires: [other]",
        "requires: 3.11",
        "min_agent_base_version: 1.2",
        "min_agent_base_version: new",
        "hooks: [a]",
        "unknown: {anything: [1, 2]}",
    ],
)
def test_schema_and_strict_reader_agree_on_each_kind_of_field(more, tmp_path):
    header = f"name: some\ndescription: Does something.\n{more}"
    path = tmp_path / "some" / "SKILL.md"
    assert refused_by_schema(header) == refused_by_reader(header, path)


@pytest.mark.parametrize(
    "header",
    ["name: some", "description: x", "name: Some_Name\ndescription: x", "name: a\ndescription: ''"],
)
def test_both_refuse_a_header_without_a_good_name_and_description(header, tmp_path):
    assert refused_by_schema(header)
    assert refused_by_reader(header, tmp_path / "a" / "SKILL.md")


EXAMPLES = sorted(Path("examples/skills").glob("*/SKILL.md")) + sorted(BUNDLED.glob("*/SKILL.md"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.parent.name)
def test_schema_and_reader_agree_on_skills_that_ship(path):
    data = path.read_bytes()
    parts = split(data)
    header = data[parts.header_start : parts.header_end].decode()
    assert refused_by_schema(header) == refused_by_reader(header, path)


@pytest.mark.parametrize(
    ("document", "good"),
    [
        ({"skill_name": "a", "evals": [{"id": 1, "prompt": "Hello"}]}, True),
        ([{"query": "Hello", "should_trigger": False}], True),
        ({"evals": [{"id": 1}]}, False),
        ({"cases": [{"id": 1}]}, False),
        ({"cases": ["Hello"]}, True),
        ({"tests": [{"id": 1, "input": {"prompt": "Hello"}}]}, True),
        ({"tests": [{"id": 1, "input": {}}]}, False),
        ({"should_trigger": {"train": ["Hello"], "val": ["Hi"]}, "should_not_trigger": ["Bye"]}, True),
        ({"tasks": [{"id": 1, "runs": 3}]}, False),
        ({"scenarios": [{"name": "a", "prompt": "Hello"}]}, True),
        ({"evals": []}, False),
        ({"name": "a"}, False),
    ],
)
def test_the_schema_of_cases_takes_what_is_read(document, good, tmp_path):
    assert any(True for _ in schema_differences(schema("evals"), document)) != good
    path = tmp_path / "evals.json"
    path.write_text(json.dumps(document))
    assert isinstance(read_cases_file(path), Suite) == good


def test_the_schema_of_a_lock_takes_what_is_written(tmp_path):
    entry = {"source": {}, "revision": None, "digest": f"sha256:{'0' * 64}", "files": {}}
    lock = {"version": 1, "skills": {"a": {"skillkit": entry}, "b": {"computedHash": "x"}}}
    assert not any(True for _ in schema_differences(schema("lock"), lock))
    for broken in ({**lock, "version": 2}, {**lock, "skills": {"a": {}}}):
        assert any(True for _ in schema_differences(schema("lock"), broken))
