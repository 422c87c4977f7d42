"""Folders of other clients: who sees which skill, and taking over what is there."""

from collections.abc import Sequence
from pathlib import Path

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import Full, NoEnable, Trusted, examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.skill.installing import enable, installer, show_use
from skillkit.agent.cli.skill_names import ManyInstalled
from skillkit.core.disk import real_path
from skillkit.core.text import escape_hidden
from skillkit.install.inspection import Verification
from skillkit.install.views import installed_view, left_out_view, place_view

app = Family()


@app.command("where", epilog=examples("agent skill where", "agent skill where pdf --json"))
def where(names: ManyInstalled = None) -> Result:
    """Show which clients see installed skills, and in which folders."""
    with installer() as (opened, _):
        checks = opened.verify(names or ())
    data = {check.skill.name: [place_view(place) for place in check.places] for check in checks}
    return Result({"skills": data}, lambda: _show_places(checks))


def _show_places(checks: Sequence[Verification]) -> None:
    rows = [
        (
            check.skill.name,
            ", ".join(found.place.clients),
            "copy" if found.place.copied else "link",
            found.state.value,
            found.place.path,
        )
        for check in checks
        for found in check.places
    ]
    if rows:
        output.table(("Name", "Clients", "Kind", "State", "Path"), rows, flexible="Path")
    alone = [check.skill.name_canonical for check in checks if not check.places]
    if alone:
        output.remark(f"Only this program sees: {', '.join(alone)}")
        output.remark("To show one to other clients, add it again with --for.")
    if not checks:
        output.remark("No skills are installed.")


@app.command(
    "adopt",
    short_help="Approve and enable the skills that other tools installed.",
    epilog=examples("agent skill adopt", "agent skill adopt --trusted --json"),
)
def adopt(no_enable: NoEnable = False, trusted: Trusted = False, full: Full = False) -> Result:
    """Approve and enable the skills that other tools installed, with one question.

    Nothing is moved. Where a tool says where a skill came from, verify, outdated and update work on it.
    """
    with installer(trusted=trusted, full=full) as (opened, _):
        adopted = opened.adopt(Path.cwd())
        found = enabled_skills().manager.list_skills() if adopted.approved else ()
        names = [item.name for item in adopted]
        names += [skill.name for skill in found if real_path(skill.skill_path.parent) in adopted.approved]
        if not no_enable:
            enable(opened, names)

    def show() -> None:
        for item in adopted:
            output.say(f"Adopted {item.name} from {item.origin}", "green", whole=True)
        for path in adopted.approved:
            output.say(f"Approved {escape_hidden(str(path))}", "green", whole=True)
        show_use(names)
        output.left_out("Left alone", adopted.left_out)
        if not (adopted or adopted.approved or adopted.left_out):
            output.say("No skills of other tools were found.")

    data = {
        "adopted": [installed_view(item) for item in adopted],
        "approved": [str(path) for path in adopted.approved],
        "left_out": left_out_view(adopted.left_out),
    }
    done = adopted or adopted.approved
    return Result(data, show, outcome.PARTIAL if done and adopted.left_out else outcome.OK)
