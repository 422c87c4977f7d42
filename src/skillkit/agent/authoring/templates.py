"""Skills to start from: instructions only, with a script, or with a script and a toolset."""

import os
import re
from pathlib import Path

from skillkit.core.diagnostics import Diagnostic, Severity
from skillkit.core.exceptions import ConfigurationError
from skillkit.core.names import canonical_name, deviation
from skillkit.core.text import escape_hidden

_DESCRIPTION = "Follows the steps of {name}. Say here what it does, and which requests it is for."

_HEAD = """---
name: {name}
description: {description}
{fields}---

# {title}

## When to use

Say which requests this skill is for, and which it is not for.
"""

_STEPS = """
## Steps

1. Say what to do first.
2. Say what to check.
3. Say what a good result looks like.
"""

_TOOLS = """
## Tools

- `{tool}` greets somebody; it runs inside the agent, so keep it small.
"""

_SCRIPTS = """
## Scripts

Do not read the scripts; ask them for `--help` first.

### `scripts/greet.py`

**When to use:** to greet somebody by name. `--json` prints JSON only.
"""

_SECTIONS = {"instructions": (_STEPS,), "scripts": (_SCRIPTS,), "hybrid": (_TOOLS, _SCRIPTS)}

_SCRIPT = '''#!/usr/bin/env python3
# /// script
# requires-python = ">=3.11"
# dependencies = []
# ///
"""Greet somebody."""

import argparse
import json


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("name", help="who is greeted")
    parser.add_argument("--json", action="store_true", help="print JSON only")
    arguments = parser.parse_args()
    greeting = f"Hello, {arguments.name}!"
    print(json.dumps({"greeting": greeting}) if arguments.json else greeting)


if __name__ == "__main__":
    main()
'''

_TOOLSET = '''"""Tools that run inside the agent's process."""

from skillkit.toolsets import AgentToolset


class {class_name}(AgentToolset):
    """Greetings."""

    async def {tool}(self, name: str) -> str:
        """Greet somebody.

        Args:
            name: Who is greeted.
        """
        return f"Hello, {{name}}!"
'''


_TRIGGERS = """[
  {{"query": "Use {name} for this, please", "should_trigger": true}},
  {{"query": "What time is it in Tokyo?", "should_trigger": false}}
]
"""

_EVALS = """{{
  "skill_name": "{name}",
  "evals": [
    {{
      "id": 1,
      "prompt": "Use {name} and say in one sentence what you did.",
      "expected_output": "One sentence about the steps of the skill",
      "assertions": ["Says which steps were taken"]
    }}
  ]
}}
"""

_SCRIPT_CASES = """{{
  "skill_name": "{name}",
  "scripts": [
    {{
      "id": "greets",
      "script": "greet",
      "args": ["Ada", "--json"],
      "exit_code": 0,
      "json": {{"greeting": "Hello, Ada!"}}
    }},
    {{"id": "needs-a-name", "script": "greet", "args": [], "exit_code": 2}}
  ]
}}
"""


def create_skill(
    name: str, into: Path, *, template: str = "instructions", description: str | None = None
) -> tuple[Path, list[str]]:
    """Write a new skill; return its folder and the files in it. Nothing is ever overwritten."""
    checked_name(name)
    words = {
        "name": name,
        "description": quoted_description(description or _DESCRIPTION.format(name=name)),
        "title": name.replace("-", " ").capitalize(),
        "class_name": "".join(part.capitalize() for part in name.split("-")) + "Tools",
        "tool": f"{name.replace('-', '_')}_greet",
    }
    if words["class_name"][0].isdigit():
        words |= {"class_name": f"Skill{words['class_name']}", "tool": f"skill_{words['tool']}"}
    words["fields"] = f"toolsets:\n  - toolsets.tools:{words['class_name']}\n" if template == "hybrid" else ""
    files = {
        "SKILL.md": _HEAD + "".join(_SECTIONS[template]),
        "evals/triggers.json": _TRIGGERS,
        "evals/evals.json": _EVALS,
    }
    if template in ("scripts", "hybrid"):
        files["scripts/greet.py"] = _SCRIPT.replace("{", "{{").replace("}", "}}")
        files["evals/scripts.json"] = _SCRIPT_CASES
    if template == "hybrid":
        files["toolsets/__init__.py"] = ""
        files["toolsets/tools.py"] = _TOOLSET
    folder = new_folder(into, name)
    for path, content in files.items():
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(content.format(**words), encoding="utf-8")
        if path.startswith("scripts/"):
            os.chmod(target, 0o755)
    return folder, sorted(files)


def template_text(skill_file: Path) -> list[Diagnostic]:
    """Return a warning about lines of a SKILL.md that are still those that `create_skill` writes."""
    try:
        lines = skill_file.read_text("utf-8").splitlines()
    except (OSError, ValueError):
        return []  # other checks say so
    written = {line for line in (_HEAD + _STEPS).splitlines() if line.lstrip("123. ").startswith("Say ")}
    written.add(f"description: {quoted_description(_DESCRIPTION.format(name=skill_file.parent.name))}")
    left = [str(number) for number, line in enumerate(lines, 1) if line.rstrip() in written]
    if not left:
        return []
    where = f"line{'s' * (len(left) > 1)} {', '.join(left)}"
    message = f"still the text of the template in {where}: replace it with what this skill does"
    return [Diagnostic(skill_file, "template-text", Severity.WARNING, message, int(left[0]))]


def checked_name(name: str) -> None:
    problem = deviation(name)
    if problem is not None:
        better = re.sub(r"[^a-z0-9]+", "-", canonical_name(name)).strip("-")[:64].rstrip("-")
        hint = f". Try: {better}" if better else ""
        raise ConfigurationError(f"The name '{escape_hidden(name)}' {problem}{hint}", "name")


def new_folder(into: Path, name: str) -> Path:
    """The folder of a new skill, which must not exist yet."""
    folder = into / name
    into.mkdir(parents=True, exist_ok=True)
    try:
        folder.mkdir()
    except FileExistsError:
        raise ConfigurationError(
            f"{folder} exists already. Choose another name, or another folder with --into."
        ) from None
    return folder


def quoted_description(description: str) -> str:
    """A description on one line, within its limit, as YAML takes it."""
    text = " ".join(description.split())
    if len(text) > 1024:
        raise ConfigurationError(f"The description has {len(text)} characters; the limit is 1024")
    if text and text.replace(" ", "").replace("-", "").replace(",", "").replace(".", "").isalnum():
        return text
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'  # a scalar that is nothing else
