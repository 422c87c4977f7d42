"""`agent demo`: the whole job of the library on skills that ship with it, without a model."""

import textwrap
from pathlib import Path

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family
from skillkit.agent.cli.options import examples
from skillkit.core.manager import SkillManager
from skillkit.core.text import count_of, escape_hidden
from skillkit.disclosure import Disclosure, SkillContextProvider
from skillkit.disclosure.cost import CostReport, cost_report
from skillkit.matching import SkillMatcher

app = Family()

SAMPLES = Path(__file__).parents[1] / "demo"
REQUEST = "What is in sales.csv? Give me the totals"
NEXT = (
    ("skills of this machine", "agent skill list"),
    ("a skill of your own", "agent skill create my-skill"),
    ("the agent; any model, by default a local one", 'AGENT_SKILLS=all agent -p "Say bonjour to Alice"'),
)


@app.command("demo", short_help="Show what skills do, without a model.", epilog=examples("agent demo"))
def demo() -> None:
    """Show each step from finding skills to running a script, on a sample file and without a model."""
    manager = SkillManager(
        additional_search_paths=[SAMPLES], project_skill_dir="", anthropic_config_dir="", bundled=True
    )
    manager.discover()
    report = cost_report(manager)
    _show_catalogue(report)
    disclosed = SkillContextProvider(manager).disclose(REQUEST)
    _show_match(manager)
    _show_instructions(manager, disclosed)
    _run_script(manager, disclosed)
    _show_savings(report, disclosed)
    output.say("\nNext", "bold")
    for what, command in NEXT:
        output.say(f"  {command}", "cyan", whole=True)
        output.say(f"      {what}")


def _show_catalogue(report: CostReport) -> None:
    output.say(f"1. Find skills: {count_of(len(report.skills), 'skill')} found, headers read", "bold")
    rows = [(skill.id, skill.tier1, f"{skill.tier2 or 0:,}", f"{skill.tier3:,}") for skill in report.skills]
    output.table(("Skill", "Its line", "Instructions", "Files"), rows, flexible="Skill")
    output.say(f"Tokens. Every prompt carries the lines alone: {report.catalogue:,} tokens with the frame.")


def _show_match(manager: SkillManager) -> None:
    output.say(f"\n2. Match a request: “{REQUEST}”", "bold")
    result = SkillMatcher(manager.offered_skills()).explain(REQUEST)
    rows = [
        (found.skill.name, f"{found.score:.2f}", "; ".join(found.reasons))
        for found in (*result.matches, *result.near)
    ]
    output.table(("Skill", "Score", "Why"), rows, flexible="Why")
    output.say(result.explanation)


def _show_instructions(manager: SkillManager, disclosed: Disclosure) -> None:
    output.say(f"\n3. Put its instructions in: {disclosed.tokens.skills:,} tokens", "bold")
    for match in disclosed.matched:
        _quote(manager.load_skill(match.skill.name).content)


def _run_script(manager: SkillManager, disclosed: Disclosure) -> None:
    from skillkit.scripts.tools import ScriptTools

    sample = SAMPLES / "sales.csv"
    output.say("\n4. Run its script, as a model would: script_run", "bold")
    for match in disclosed.matched:
        payload = ScriptTools(manager).script_run(
            match.skill.name, "summarise", [str(sample)], json=False, inputs={sample.name: sample}
        )
        if not payload["success"]:
            output.complain(str(payload["message"]))
            raise typer.Exit(1)
        _quote(str(payload["result"]))
        meta = payload["meta"]
        seconds = meta["duration_ms"] / 1000
        output.say(
            f"Sandbox: {meta['backend']}, {seconds:.1f} s, no network, no file but {sample.name} and its own."
        )


def _show_savings(report: CostReport, disclosed: Disclosure) -> None:
    used = disclosed.tokens
    whole = sum((skill.tier2 or 0) + skill.tier3 for skill in report.skills)
    output.say("\n5. Count", "bold")
    output.table(
        ("Tokens of skills in this request", ""),
        [
            ("their lines, the matched instructions, the schemas of tools", f"{used.total:,}"),
            ("the instructions of all of them in every prompt", f"{report.static:,}"),
            ("the instructions and files of all of them", f"{whole:,}"),
        ],
        flexible="Tokens of skills in this request",
    )
    output.say(f"A request that needs no skill carries {report.catalogue:,}: {report.saved:.0%} saved.")


def _quote(text: str) -> None:
    """Show foreign text as such, within the width of the screen."""
    width = max(20, output.console().width - 4)
    for line in text.strip().splitlines():
        indent = " " * (len(line) - len(line.lstrip()))
        for part in textwrap.wrap(escape_hidden(line), width, subsequent_indent=indent) or [""]:
            output.say(f"  │ {part}".rstrip(), whole=True)
