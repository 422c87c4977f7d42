"""Skills on disk for matching, and a small library of everyday ones."""

from collections.abc import Callable
from pathlib import Path

import pytest

from skillkit.core.models import SkillMetadata, Triggers

MakeSkill = Callable[..., SkillMetadata]

EVERYDAY = {
    "pdf-extractor": "Extract text and tables from PDF files. Use for a scanned document or a form.",
    "invoice-writer": 'Write invoices for customers. Use when people say "send a bill" or "payment due".',
    "git-history": "Rewrite, bisect and explain git history, branches and merge conflicts.",
    "image": "Resize, crop and compress pictures for the web. For video clips, see movie-cutter.",
    "movie-cutter": "Cut and join video clips, add subtitles, and change their format.",
    "sql-tuning": "Find slow database queries, read query plans and propose indexes.",
}


@pytest.fixture
def make_skill(tmp_path: Path) -> MakeSkill:
    """`make_skill("pdf", "What it does", body="…", keywords=("pdf",), disable_model_invocation=True)`."""

    def make(
        name: str,
        description: str = "Does something useful",
        *,
        body: str = "",
        keywords: tuple[str, ...] = (),
        verbs: tuple[str, ...] = (),
        patterns: tuple[str, ...] = (),
        **fields: object,
    ) -> SkillMetadata:
        path = tmp_path / str(fields.get("source_label", "")) / name / "SKILL.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"---\nname: {name}\ndescription: x\n---\n{body}", encoding="utf-8")
        triggers = Triggers(keywords, verbs, patterns)
        return SkillMetadata(name, description, path, triggers=triggers, **fields)  # type: ignore[arg-type]

    return make


@pytest.fixture
def everyday(make_skill: MakeSkill) -> list[SkillMetadata]:
    """Six skills that have little to do with each other."""
    return [make_skill(name, description) for name, description in EVERYDAY.items()]
