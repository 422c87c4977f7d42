"""Headers of skills as tests write them, and the three ways to read them."""

from pathlib import Path

from skillkit.core.models import SkillMetadata
from skillkit.core.parser import SkillParser

LENIENT = SkillParser(recover=True)
PLAIN = SkillParser()
STRICT = SkillParser(strict=True)

MINIMAL = "name: pdf\ndescription: Reads PDF files."


def skill(header: str, body: str = "# PDF\n") -> bytes:
    return f"---\n{header}\n---\n{body}".encode()


def parsed(path: Path, data: bytes | str, parser: SkillParser = LENIENT) -> SkillMetadata:
    return parser.parse(data if isinstance(data, bytes) else skill(data), path)


def codes(metadata: SkillMetadata) -> list[str]:
    return [found.code for found in metadata.diagnostics]
