"""What a script takes on its command line, in few tokens: a small model has not read its help."""

from skillkit.core.models import SkillMetadata
from skillkit.scripts.catalogue import find_script
from skillkit.scripts.script_help import written_help_of

_MOST = 12
_LONGEST = 90
_SAID_ANYWAY = ("--json", "--help", "--version", "--verbose", "--quiet", "--timeout")


def usage_of(skill: SkillMetadata, name: str) -> str:
    """Return the arguments of a script as its text has them, a line each; nothing where it says none."""
    script = find_script(skill, name)
    written = written_help_of(skill, script) if script is not None else None
    if written is None:
        return ""
    found = [line.strip() for line in written.text.splitlines() if line.startswith("  ")]
    listed = [line[:_LONGEST] for line in found if not line.startswith(_SAID_ANYWAY)][:_MOST]
    if not listed:
        return f"{name}: {written.usage}" if written.usage else ""
    return "\n".join([f"{name} takes these, and of them only what was asked for:", *listed])
