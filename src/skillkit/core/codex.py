"""`agents/openai.yaml`: what Codex reads beside a SKILL.md."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from skillkit.core.cache import Stamp
from skillkit.core.content import open_skill_file, stamp_of
from skillkit.core.diagnostics import Diagnostic, Severity
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.models import SkillMetadata

FILE = "agents/openai.yaml"
_MAX_BYTES = 64 * 1024
_MAX_NAME, _MAX_TEXT = 64, 1024


def codex_stamp(skill_path: str) -> Stamp | None:
    """The state of the file beside a SKILL.md; None where there is none."""
    path = f"{skill_path.rpartition('/')[0]}/{FILE}"
    if not os.access(path, os.F_OK):  # nearly always, and cheaper than an exception
        return None
    try:
        return stamp_of(os.stat(path))
    except OSError:
        return None


def with_codex(skill: SkillMetadata) -> SkillMetadata:
    """Add to `skill` the fields of its `agents/openai.yaml`; an invalid file is ignored, as in Codex."""
    path = skill.base_dir / FILE
    try:
        content = _read(path)
    except (SkillsUseError, OSError, ValueError) as error:
        message = f"The file cannot be read and is ignored: {error}"
        found = Diagnostic(path, "openai-yaml", Severity.WARNING, message)
        return replace(skill, diagnostics=(*skill.diagnostics, found))
    interface, policy = _mapping(content.get("interface")), _mapping(content.get("policy"))
    servers = [
        tool["value"]
        for tool in _mapping(content.get("dependencies")).get("tools") or ()
        if isinstance(tool, dict) and tool.get("type") == "mcp" and isinstance(tool.get("value"), str)
    ]
    return replace(
        skill,
        disable_model_invocation=skill.disable_model_invocation
        or policy.get("allow_implicit_invocation") is False,
        display_name=_text(interface.get("display_name"), _MAX_NAME),
        short_description=_text(interface.get("short_description"), _MAX_TEXT),
        requires=replace(skill.requires, mcp=(*skill.requires.mcp, *servers)) if servers else skill.requires,
    )


def _read(path: Path) -> dict[str, Any]:
    from skillkit.core.yaml_header import load_yaml

    with os.fdopen(open_skill_file(path), "rb") as file:
        data = file.read(_MAX_BYTES + 1)
    if len(data) > _MAX_BYTES:
        raise ValueError(f"it is larger than {_MAX_BYTES:,} bytes")
    return {field.key: field.value for field in load_yaml(data.decode("utf-8-sig"), 1, frozenset())}


def _mapping(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _text(value: object, limit: int) -> str | None:
    """One line within the limit; anything else is left out."""
    line = " ".join(value.split()) if isinstance(value, str) else ""
    return line if 0 < len(line) <= limit else None
