"""Bytes of a SKILL.md → SkillMetadata and diagnostics; strict and lenient in one code path."""

import logging
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import Any

from skillkit.core.content import read_whole
from skillkit.core.diagnostics import RULES, Diagnostic, Severity
from skillkit.core.exceptions import (
    InvalidFrontmatterError,
    InvalidYAMLError,
    MissingRequiredFieldError,
    RefusedYAMLError,
    SkillParsingError,
)
from skillkit.core.fields import (
    FIELDS,
    GRANTS,
    KNOWN,
    TYPED_WHEN_STRICT,
    FieldRule,
    WrongTypeError,
    nested_requirements,
    trigger_problems,
    unknown_field,
)
from skillkit.core.header import FIRST_READ, HEAD_BYTES, MAX_HEADER_BYTES, Split, load, split
from skillkit.core.lazy_names import older_names
from skillkit.core.models import NO_REQUIREMENTS, SkillMetadata, SkillSource
from skillkit.core.names import canonical_name, deviation, flat_name, refusal
from skillkit.core.recovery import UNREADABLE, first_heading, quoted_values, readable_fields
from skillkit.core.simple_header import Field
from skillkit.core.text import escape_hidden, has_hidden, texts_in

logger = logging.getLogger(__name__)

MAX_DESCRIPTION = 1024
MAX_COMPATIBILITY = 500
_MAX_DIAGNOSTICS = 100
"""Most diagnostics of one file, so that it cannot fill the memory or the log."""


class SkillParser:
    """Reads manifests.

    `strict` follows the Agent Skills specification to the letter. `recover` makes the best of a broken
    or missing header and marks the result `recovered`. Neither: a broken header raises, unless it only
    lacks quotes around a value; the rest is forgiven with a diagnostic.
    """

    def __init__(self, *, strict: bool = False, recover: bool = False) -> None:
        self.strict = strict
        self.recover = recover and not strict

    def parse_skill_file(self, skill_path: Path) -> SkillMetadata:
        """The metadata of one SKILL.md."""
        data, _ = read_whole(Path(skill_path))
        metadata = self.parse(data, Path(skill_path))
        for found in metadata.diagnostics:
            if found.severity is Severity.WARNING:
                logger.warning("%s", found)
        return metadata

    def parse(self, data: bytes, path: Path, source: SkillSource | None = None) -> SkillMetadata:
        """The metadata in `data`, which begins with the whole header of `path`.

        Raises SkillParsingError; its `diagnostics` say everything that was found.
        """
        return _Parse(self, data, path, source).result()


class _Parse:
    """One file on its way from bytes to metadata."""

    def __init__(self, parser: SkillParser, data: bytes, path: Path, source: SkillSource | None) -> None:
        self.strict = parser.strict
        self.recover = parser.recover
        self.data = data
        self.path = path
        self.source = source
        self.fields: list[Field] = []
        self.diagnostics: list[Diagnostic] = []
        self.recovered = False
        """The header had to be guessed."""
        self.repaired = False
        """The header was broken, and its meaning is unambiguous."""
        self.may_hide = False
        """Whether the header could contain hidden characters."""

    def result(self) -> SkillMetadata:
        try:
            metadata = self._metadata()
        except SkillParsingError as error:
            raise self._located(error) from error.__cause__
        if self.strict and self.diagnostics:
            first = self.diagnostics[0].message
            refused = InvalidFrontmatterError(f"{first} in {escape_hidden(str(self.path))}")
            refused.diagnostics = tuple(self.diagnostics)
            raise refused
        return metadata

    def _metadata(self) -> SkillMetadata:
        parts = split(self.data)
        if parts.bom:
            self.note("byte-order-mark", "The file starts with a byte order mark; save it without")
        self.fields = self._fields(parts)
        values = self._values()
        if "triggers" in values:
            self._note_triggers()
        name = self._name(values)
        description = self._description(values)
        if self.recovered or self.repaired:
            for attribute in GRANTS & values.keys():
                if values.pop(attribute):
                    self.note(
                        "grant-dropped",
                        f"'{attribute}' is ignored in an invalid header",
                    )
        self._fill_from_metadata(values)
        if self.source is not None:
            values["source"] = self.source.source_type
            values["source_label"] = self.source.label
            values["plugin_name"] = self.source.plugin_name
            if self.source.plugin_name is not None:
                values["plugin_root"] = self.source.directory
                values["plugin_id"] = self.source.plugin_id
        if values.get("when_to_use") and not self.strict:
            description = f"{description} {values['when_to_use']}"
        values["name"], values["description"] = name, description
        return SkillMetadata(
            skill_path=self.path,
            recovered=self.recovered,
            diagnostics=tuple(self.diagnostics),
            **values,
        )

    # The header

    def _fields(self, parts: Split) -> list[Field]:
        if parts.late:
            self.note("blank-lines-first", "The header must start on the first line", line=1)
        if not parts.found:
            return self._without_header(parts)
        if parts.header_end - parts.header_start > MAX_HEADER_BYTES:
            raise InvalidFrontmatterError(
                f"The header is longer than {MAX_HEADER_BYTES // 1024} KiB. "
                "Move text behind the closing '---'."
            )
        text = self._decoded(self.data[parts.header_start : parts.header_end])
        self.may_hide = not text.isascii() or "\\" in text
        if not parts.terminated:
            return self._unterminated(text, parts)
        return self._loaded(text, parts.first_line)

    def _loaded(self, text: str, first_line: int) -> list[Field]:
        try:
            return load(text, first_line, text_only=TYPED_WHEN_STRICT if self.strict else KNOWN)
        except RefusedYAMLError:
            raise
        except (InvalidYAMLError, InvalidFrontmatterError) as error:
            if self.strict:
                raise
            return self._repaired(text, first_line, error)

    def _repaired(self, text: str, first_line: int, error: SkillParsingError) -> list[Field]:
        """Return the fields with missing quotes added, else those that can be read on their own."""
        repaired = quoted_values(text) or text
        try:
            fields = load(repaired, first_line, text_only=KNOWN)
        except (InvalidYAMLError, InvalidFrontmatterError):
            if not self.recover:
                raise error from error.__cause__
            fields, notes = readable_fields(repaired, first_line, error)
            for number, message in notes:
                self.note("broken-field", message, line=number)
            self.recovered = self.may_hide = True
            return fields
        self.repaired = True
        line = getattr(error, "line", None)
        self.note("unquoted-value", f"{error}. Read as if the value were in quotes", line=line)
        return fields

    def _without_header(self, parts: Split) -> list[Field]:
        message = "SKILL.md must start with YAML front matter: a header between two '---' lines"
        if not self.recover:
            raise InvalidFrontmatterError(f"Skill file missing YAML frontmatter delimiters (---). {message}")
        body = self._decoded(self.data[parts.body_start : FIRST_READ], partial=True)
        if "\0" in body:
            raise InvalidFrontmatterError(f"The file is not text. {message}")
        self.note(
            "no-header",
            f"{message}. Name taken from the folder, description from the first heading",
        )
        return self._guessed(body, [])

    def _unterminated(self, text: str, parts: Split) -> list[Field]:
        message = "The header has no closing '---' line"
        if not self.recover:
            raise InvalidFrontmatterError(message)
        self.note(
            "unterminated-header",
            f"{message}; everything up to the first line of prose is read as the header",
            line=parts.first_line,
        )
        fields = self._loaded(text, parts.first_line)
        return self._guessed(self._decoded(self.data[parts.body_start : HEAD_BYTES], partial=True), fields)

    def _guessed(self, body: str, fields: list[Field]) -> list[Field]:
        """Return `fields`, completed from the folder and the body."""
        self.recovered = self.may_hide = True
        known = {field.key for field in fields if field.value}
        if "name" not in known:
            fields.append(Field("name", self.path.parent.name, 1, False))
        if "description" not in known and (heading := first_heading(body)):
            fields.append(Field("description", heading[:MAX_DESCRIPTION], 1, False))
        return fields

    def _decoded(self, raw: bytes, *, partial: bool = False) -> str:
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            if partial and error.end == len(raw) and error.reason == "unexpected end of data":
                return raw[: error.start].decode("utf-8")
            if self.data.startswith((b"\xff\xfe", b"\xfe\xff")):
                raise InvalidFrontmatterError("The file is UTF-16. Save it as UTF-8.") from error
            raise InvalidFrontmatterError(
                f"The file contains invalid UTF-8 (byte {error.start} of the header). Save it as UTF-8."
            ) from error

    # The fields

    def _values(self) -> dict[str, Any]:
        values: dict[str, Any] = {}
        extra: dict[str, object] = {}
        seen: set[str] = set()
        for field in self.fields:
            key, value, line, quoted, repeated = field
            for twice in repeated:
                self._note_twice(twice, f" in '{escape_hidden(key)}'", line)
            if key in seen:
                self._note_twice(key, "", line)
                continue
            seen.add(key)
            rule = FIELDS.get(key)
            if rule is None:
                if value is not UNREADABLE:
                    extra[key] = value
                    self.note(*unknown_field(key), line=line)
                continue
            attribute, read, specified, as_specified, _ = rule
            if self.strict:
                read = as_specified or read
                if not specified:
                    message = f"Field '{key}' is not in the Agent Skills specification"
                    self.note("extension-field", message, line=line)
            if not quoted and (value is None or value == ""):
                values.pop(attribute, None)
                continue
            try:
                values[attribute] = read(value)
            except WrongTypeError as error:
                if read is not as_specified or not self._read_anyway(values, rule, field, error):
                    self._deny(values, rule, field, error)
        if extra:
            values["extra"] = extra
        if self.may_hide:
            self._note_hidden()
        return values

    def _note_twice(self, key: str, where: str, line: int) -> None:
        message = f"Field '{escape_hidden(key)}' is duplicated{where}; the first one counts"
        self.note("duplicate-field", message, line=line)

    def _read_anyway(
        self, values: dict[str, Any], rule: FieldRule, field: Field, error: WrongTypeError
    ) -> bool:
        """Note a value that violates the specification and is accepted nevertheless."""
        try:
            values[rule.attribute] = rule.read(field.value)
        except WrongTypeError:
            return False
        message = f"Field '{field.key}' should be {error}; it is accepted here, other clients may reject it"
        self.note("lenient-value", message, line=field.line)
        return True

    def _deny(self, values: dict[str, Any], rule: FieldRule, field: Field, error: WrongTypeError) -> None:
        """Note an invalid value; the field is treated as absent, or as denied where absent allows more."""
        values.pop(rule.attribute, None)
        if rule.denied is not None:
            values[rule.attribute] = rule.denied
        outcome = "absent" if rule.denied is None else str(rule.denied).lower()
        self.note(
            "wrong-type",
            f"Field '{field.key}' should be {error}; it is treated as {outcome}",
            line=field.line,
        )

    def _note_triggers(self) -> None:
        field = next(field for field in self.fields if field.key == "triggers")
        for problem in trigger_problems(field.value):
            self.note("trigger", problem, line=field.line)

    def _note_hidden(self) -> None:
        """Note hidden characters, which YAML escapes can produce."""
        for field in self.fields:
            if field.key != "name" and any(has_hidden(text) for text in texts_in(field.value)):
                self.note(
                    "hidden-characters",
                    f"Field '{escape_hidden(field.key)}' contains control or invisible characters; "
                    "they are not shown",
                    line=field.line,
                )

    def _name(self, values: dict[str, Any]) -> str:
        folder = self.path.parent.name
        if self.recover and not values.get("name") and values.get("description"):
            values["name"] = folder
            self.recovered = True
            self.note("missing-name", f"Name is missing; using the folder's name: '{escape_hidden(folder)}'")
        name = self._required("name", values)
        if not self.strict and (whole := flat_name(name)) != name:
            self.note("name-separator", f"Name '{name}' contains '/'; it is read as '{whole}'", field="name")
            name = whole
        if (reason := refusal(name)) is not None:
            raise InvalidFrontmatterError(
                f"Skill name '{escape_hidden(name)}' {reason}. Use lower-case letters, digits and hyphens."
            )
        if (how := deviation(name)) is not None:
            self.note("name-format", f"Name '{name}' {how}", field="name")
        if name != folder and (self.strict or canonical_name(name) != canonical_name(folder)):
            self.note(
                "name-folder",
                f"Name '{name}' differs from the folder '{escape_hidden(folder)}'",
                field="name",
            )
        return name

    def _description(self, values: dict[str, Any]) -> str:
        description = self._required("description", values)
        if len(description) > MAX_DESCRIPTION:
            self.note(
                "description-length",
                f"Description has {len(description)} characters; the limit is {MAX_DESCRIPTION}",
                field="description",
            )
        compatibility = values.get("compatibility")
        if compatibility and len(compatibility) > MAX_COMPATIBILITY:
            self.note(
                "compatibility-length",
                f"Compatibility has {len(compatibility)} characters; the limit is {MAX_COMPATIBILITY}",
                field="compatibility",
            )
        return description

    def _required(self, field: str, values: dict[str, Any]) -> str:
        value: str | None = values.get(field)
        if value:
            return value
        problem = "is missing" if self._line(field) is None else "cannot be empty and must be text"
        both = field == "name" and not values.get("description")
        also = ", and so is 'description'" if both and self._line("description") is None else ""
        raise MissingRequiredFieldError(f"Required field '{field}' {problem}{also}", field_name=field)

    def _fill_from_metadata(self, values: dict[str, Any]) -> None:
        if nested := values.get("metadata"):
            for name in ("version", "author"):
                if name not in values and isinstance(nested.get(name), str):
                    values[name] = nested[name]
            if (needs := nested_requirements(nested)) is not None:
                values.setdefault("requires", needs)
        if depends := values.pop("depends", ()):
            needs = values.get("requires", NO_REQUIREMENTS)
            values["requires"] = replace(needs, skills=needs.skills + depends)

    # Saying so

    def note(self, code: str, message: str, *, line: int | None = None, field: str | None = None) -> None:
        severity = Severity.ERROR if self.strict else RULES[code]
        line = self._line(field) if field else line
        if len(self.diagnostics) == _MAX_DIAGNOSTICS:
            code, message = "more", "More problems were found; fix the listed ones first"
        if len(self.diagnostics) <= _MAX_DIAGNOSTICS:
            # The same message is used for many files.
            self.diagnostics.append(Diagnostic(self.path, code, severity, intern(message), line))

    def _line(self, key: str) -> int | None:
        return next((field.line for field in self.fields if field.key == key), None)

    def _located(self, error: SkillParsingError) -> SkillParsingError:
        """Return `error` with the file in its message and as the last of its diagnostics."""
        line, column = getattr(error, "line", None), getattr(error, "column", None)
        text = str(error)
        found = Diagnostic(self.path, _code(error), Severity.ERROR, text, line, column)
        error.args = (f"{text} in {escape_hidden(str(self.path))}",)
        error.diagnostics = (*self.diagnostics, found)
        return error


def _code(error: SkillParsingError) -> str:
    match error:
        case InvalidYAMLError():
            return "yaml"
        case MissingRequiredFieldError():
            return "missing-field"
        case _:
            return "header"


__getattr__ = older_names(__name__)
