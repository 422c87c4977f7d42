"""Ten lines: find skills, show their metadata, load one, read a file that it mentions."""

from pathlib import Path

from skillkit import SkillManager

manager = SkillManager(only=Path(__file__).parent / "skills")
manager.discover()

for skill in manager.list_skills():  # tier 1: one line each
    print(f"{skill.name}: {skill.description}")

print(manager.invoke_skill("csv-report", "sales.csv"))  # tier 2: the instructions, when they are needed
print(
    manager.read_resource("csv-report", "references/report.md").text
)  # tier 3: a file, when it is asked for
