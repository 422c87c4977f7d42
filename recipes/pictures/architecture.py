"""The layers from top to bottom, and how a skill comes into a prompt."""

from recipes.pictures.drawing import Card

LAYERS = (
    ("agent", "the program: chat, models, sessions, memory"),
    ("inspector · registry", "a page that says why; a server for clients"),
    ("evaluation", "tests of skills: cases, tiers, reports"),
    ("integrations", "one thin file a framework, MCP"),
    ("install", "git → verified store; trust, lock, rollback"),
    ("fleet", "scripts on many machines, through Ray"),
    ("scripts · toolsets", "sandbox, environments; classes as tools"),
    ("disclosure", "catalogue, envelope, budget, session, tools"),
    ("matching", "request → skills with scores and reasons"),
    ("journal · web", "what happened to skills; parts of pages"),
    ("core", "SKILL.md → three tiers; PyYAML alone"),
)
STEPS = (
    ("folders · packages · git · MCP", "where skills come from", "core.discovery, core.parser"),
    ("tier 1: metadata", "name and description", "matching, or load_skill"),
    ("tier 2: instructions", "rendered in one place, cached", "read_skill_resource, script_run, toolsets"),
    ("tier 3: files and answers", "beneath the skill’s root, in the sandbox", ""),
)


def draw() -> str:
    card = Card(
        900,
        114 + 58 * len(LAYERS),
        "Layers of skillkit from agent to core, and the way of a skill into a prompt",
    )
    card.text(32, 44, "The layers", size=18, bold=True)
    card.text(32, 66, "Each may import what is below it, never what is above.", "faint", size=13)
    for number, (name, what) in enumerate(LAYERS):
        y = 88 + number * 58
        card.box(32, y, 340, 48, "layer", radius=6)
        card.text(48, y + 20, name, "ink mono", size=14, bold=True)
        card.text(48, y + 38, what, "faint", size=13)
    card.text(424, 44, "The way of a skill", size=18, bold=True)
    card.text(424, 66, "Nothing is read or run before it is asked for.", "faint", size=13)
    for number, (name, what, next_step) in enumerate(STEPS):
        y = 88 + number * 116
        card.box(424, y, 290, 58, "layer", radius=6)
        card.text(440, y + 24, name, size=15, bold=True)
        card.text(440, y + 44, what, "faint", size=13)
        if next_step:
            card.arrow((450, y + 58), (450, y + 114))
            card.text(464, y + 91, next_step, "ink mono", size=12)
        if number:
            card.arrow((714, y + 29), (766, y + 29))
    card.box(768, 190, 100, 304, "hollow", radius=6)
    for line, words in enumerate(("what", "the model", "sees")):
        card.text(818, 330 + 20 * line, words, bold=True, anchor="middle")
    return card.svg()
