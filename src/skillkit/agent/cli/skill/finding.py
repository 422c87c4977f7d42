"""Which skill for which request: search, match."""

from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Folders, MatchingMode, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.core.models import SourceType
from skillkit.core.text import escape_hidden
from skillkit.install.enabled import EnabledSkills
from skillkit.install.views import match_view
from skillkit.matching import SkillMatcher

app = Family()

WORTH_SHOWING = 0.02
"""Below it a search result is noise; the threshold for matching is far above."""


@app.command("find", hidden=True)
@app.command(
    "search",
    epilog=examples('agent skill search "pdf forms"', "agent skill search deploy --limit 20 --json"),
)
def search(
    words: Annotated[list[str], typer.Argument(help="Search terms.")],
    folders: Folders = None,
    limit: Annotated[int, typer.Option("--limit", "-n", min=1, help="Maximum number of results.")] = 10,
    mode: MatchingMode = None,
) -> Result:
    """Rank the skills that are found by how well they fit some words."""
    query = " ".join(words)
    enabled = enabled_skills(folders or ())
    matcher = matcher_of(enabled, mode)
    ranked = [found for found in matcher.rank(query, limit) if found.score >= WORTH_SHOWING]
    data = {
        "query": query,
        "mode": matcher.mode.value,
        "signals": list(matcher.signals),
        "results": [match_view(found, enabled) for found in ranked],
    }
    rows = [
        (found.skill.name, f"{found.score:.2f}", output.summary(found.skill.description, 160))
        for found in ranked
    ]
    columns = ("Skill", "Score", "Description")
    otherwise = f"Nothing found for {escape_hidden(query)!r}. All skills: agent skill list"
    return Result(data, lambda: output.listing(columns, rows, flexible="Description", otherwise=otherwise))


@app.command(
    "match",
    epilog=examples(
        'agent skill match "Turn this CSV into a report"',
        'agent skill match "What is 2+2?" --mode lexical',
        'agent skill match "Write the release notes" --in ./my-skills --json',
    ),
)
def match(
    words: Annotated[list[str], typer.Argument(help="A request, as a user would type it.")],
    folders: Folders = None,
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            help="Maximum skills per request; default: SKILL_MAX_PER_REQUEST or 3.",
        ),
    ] = None,
    mode: MatchingMode = None,
) -> Result:
    """Show which skills a request would bring in, how surely, and why."""
    request = " ".join(words)
    enabled = enabled_skills(folders or ())
    matcher = matcher_of(enabled, mode)
    result = matcher.explain(request, limit)
    missing = {found.skill.name: enabled.status(found.skill).refusal for found in result.matches}
    # A folder that was given is looked at as if its skills were active.
    injected = [
        found
        for found in result.matches
        if missing[found.skill.name] is None or found.skill.source is SourceType.CUSTOM
    ]
    verdicts = {"match": result.matches, "cut": result.cut, "no": result.near}
    views = {verdict: [match_view(found, enabled) for found in some] for verdict, some in verdicts.items()}
    data = {
        "request": request,
        "mode": result.mode.value,
        "signals": list(result.signals),
        "threshold": result.threshold,
        "limit": result.limit,
        "matches": views["match"],
        "cut": views["cut"],
        "near": views["no"],
        "injected": [found.skill.canonical_name for found in injected],
        "explanation": result.explanation,
    }

    def show() -> None:
        rows = [
            (found.skill.name, f"{found.score:.2f}", verdict, "; ".join(found.reasons))
            for verdict, some in verdicts.items()
            for found in some
        ]
        if rows:
            output.table(("Skill", "Score", "Verdict", "Why"), rows, flexible="Why")
            output.say()
        mode = f"Mode {result.mode.value} ({' + '.join(result.signals)})"
        output.say(f"{mode}, threshold {result.threshold:.2f}. {result.explanation}")
        names = ", ".join(escape_hidden(found.skill.name) for found in injected)
        output.say(f"Instructions put into the prompt: {names}." if names else "No instructions are put in.")
        for found in result.matches:
            if found.skill.source is SourceType.CUSTOM:
                remedy = enabled.selection.remedy(found.skill)
                output.say(f"To use '{escape_hidden(found.skill.name)}': {remedy}", whole=True)
            elif (refusal := missing[found.skill.name]) is not None:
                output.say(escape_hidden(refusal.reason), whole=True)

    return Result(data, show)


def matcher_of(enabled: EnabledSkills, mode: str | None) -> SkillMatcher:
    """A matcher over every skill that is found, active or not: authors try before they enable."""
    return SkillMatcher(enabled.manager.list_skills(), mode=mode)
