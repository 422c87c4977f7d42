"""The three tiers, with the exact token counts of the skills in this repository."""

import math
from dataclasses import dataclass

from recipes.pictures.drawing import Card
from skillkit import SkillManager
from skillkit.disclosure import CatalogueStyle, EncodingCounter, render_catalogue
from skillkit.disclosure.catalogue import entry_tokens

SKILLS = ("kalshi-markets", "hello-extended", "skill-author")
CODE = ("scripts/", "toolsets/")


@dataclass(frozen=True)
class Tiers:
    """Tokens of one skill."""

    name: str
    entry: int
    instructions: int
    code: int
    text: int
    files: int
    scripts: int


def measured() -> tuple[list[Tiers], int]:
    """Every skill, and the catalogue of all of them."""
    counter = EncodingCounter.named()
    manager = SkillManager(project_skill_dir="", anthropic_config_dir="", bundled=True)
    manager.discover()
    catalogue = render_catalogue(manager.offered_skills(), style=CatalogueStyle.COMPACT, counter=counter)
    return [_measure(manager, name, counter) for name in SKILLS], counter.count(catalogue.text)


def _measure(manager: SkillManager, name: str, counter: EncodingCounter) -> Tiers:
    skill = manager.get_skill(name)
    # Instructions begin with the skill's folder, which is another one on every machine.
    instructions = manager.invoke_skill(name).replace(str(skill.base_dir), f"skills/{name}")
    paths = [resource.path for resource in manager.list_resources(name)]
    tokens = {path: counter.count(manager.read_resource(name, path, 0, 1 << 20).text or "") for path in paths}
    code = {path: count for path, count in tokens.items() if path.startswith(CODE)}
    return Tiers(
        name,
        entry_tokens(skill, counter),
        counter.count(instructions),
        sum(code.values()),
        sum(tokens.values()) - sum(code.values()),
        len(paths),
        sum(path.startswith("scripts/") for path in paths),
    )


def description(skills: list[Tiers], catalogue: int) -> str:
    """The picture in words, for those who cannot see it."""
    each = "; ".join(
        f"{skill.name} {skill.entry}, {skill.instructions:,} and {skill.code + skill.text:,}"
        for skill in skills
    )
    return (
        f"Tokens of the three tiers: {each}. The catalogue that every prompt carries has {catalogue} tokens, "
        f"everything together {everything(skills):,}."
    )


def everything(skills: list[Tiers]) -> int:
    return sum(skill.entry + skill.instructions + skill.code + skill.text for skill in skills)


def draw() -> str:
    skills, catalogue = measured()
    card = Card(900, 500, description(skills, catalogue))
    card.text(32, 44, "What a skill costs, tier by tier", size=20, bold=True)
    card.text(32, 68, "Tokens of the skills in this repository; a square’s area is its count.", "faint")
    rows = (
        (148, "Tier 1", "a line: name and first clause", "in every prompt"),
        (232, "Tier 2", "instructions", "when a request needs the skill"),
        (368, "Tier 3", "scripts, toolsets, references", "when the instructions ask for it"),
    )
    for middle, tier, what, when in rows:
        card.text(32, middle - 12, tier, size=16, bold=True)
        card.text(32, middle + 8, what)
        card.text(32, middle + 27, when, "faint", size=13)
    for column, skill in enumerate(skills):
        x = 290 + column * 195
        card.text(x, 108, skill.name, "ink mono", size=14, bold=True)
        _square(card, x, 148, skill.entry)
        _square(card, x, 232, skill.instructions)
        kind = "hollow" if skill.code else "soft"
        _square(card, x, 368, skill.code + skill.text, kind=kind, note=_contents(skill))
    for y in (190, 276):
        card.rule(32, y, 868, y)
    card.text(
        32,
        474,
        f"Every prompt carries {catalogue} tokens: the catalogue of all three. "
        f"Everything at once would be {everything(skills):,}.",
        bold=True,
    )
    return card.svg()


def _square(card: Card, x: float, middle: float, tokens: int, *, kind: str = "ours", note: str = "") -> None:
    side = math.sqrt(tokens)
    card.box(x, middle - side / 2, side, side, kind, radius=min(3, side / 4))
    beside = x + side + 10
    if side > 100:  # there is room for the words inside
        beside = x + 14
    card.text(beside, middle + (0 if note else 5), f"{tokens:,}", size=15, bold=True)
    for number, line in enumerate(note.split("\n") if note else []):
        card.text(beside, middle + 18 + 16 * number, line, "faint", size=12)


def _contents(skill: Tiers) -> str:
    if skill.code and skill.scripts == skill.files:
        return f"{skill.scripts} scripts:\nrun, never read"
    if skill.code:
        return "a toolset and a script:\nrun, never read"
    return "a reference:\nread a page at a time"
