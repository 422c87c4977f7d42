"""Changing what is installed: add, update, remove, rollback."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.options import (
    MAX_BYTES,
    MAX_FILES,
    Installed,
    Json,
    ManyInstalled,
    MaxBytes,
    MaxFiles,
    Trusted,
    Yes,
    examples,
)
from skillkit.agent.cli.remedies import explain
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.text import escape_hidden

if TYPE_CHECKING:
    from skillkit.agent.cli.asking import Asker
    from skillkit.install.installer import SkillInstaller
    from skillkit.install.tree import TreeLimits


def register(app: typer.Typer) -> None:
    app.command(
        "add",
        short_help="Install skills, after showing what they can do.",
        epilog=examples(
            "agent skill add owner/repo",
            "agent skill add owner/repo/skills/pdf@v1.2.0",
            "agent skill add https://git.example.com/team/skills.git --skill pdf --ref main",
            "agent skill add ./my-skill --name my-copy",
            "agent skill add owner/repo --ref FULL_COMMIT --yes      (in a script)",
        ),
    )(add)
    app.command(
        "update",
        epilog=examples(
            "agent skill update pdf",
            "agent skill update",
            "agent skill update pdf --ref v2.0.0",
            "agent skill update pdf --overwrite-edits",
        ),
    )(update)
    app.command("remove", epilog=examples("agent skill remove pdf", "agent skill remove pdf --yes"))(remove)
    app.command(
        "rollback",
        short_help="Go back to the version before, or take a skill out of the trash.",
        epilog=examples("agent skill rollback pdf", "agent skill rollback pdf --json"),
    )(rollback)


@contextmanager
def installer(
    *, yes: bool = False, trusted: bool = False, limits: "TreeLimits | None" = None
) -> "Iterator[tuple[SkillInstaller, Asker]]":
    """An installer that asks at this terminal, with progress on stderr."""
    from skillkit.agent.cli.asking import Asker
    from skillkit.agent.cli.progress import Progress
    from skillkit.install.installer import SkillInstaller

    with Progress() as progress:
        asker = Asker(progress, yes=yes, trusted=trusted)
        opened = SkillInstaller(consent=asker.consent, progress=progress, limits=limits)
        yield opened, asker
        progress.pause()
        for notice in opened.registry.notices:
            output.remark(escape_hidden(notice), "yellow")


@contextmanager
def naming_missing_skill(name: str) -> Iterator[None]:
    """Tells a skill that is there but was never installed apart from one that is not there at all."""
    from skillkit.install.exceptions import NotInstalledError

    try:
        yield
    except NotInstalledError as error:
        raise NotInstalledError(_whose(name) or str(error)) from None


def _whose(name: str) -> str | None:
    from skillkit.agent.cli.overview import enabled_skills
    from skillkit.core.exceptions import SkillNotFoundError

    try:
        skill = enabled_skills().manager.get_skill(name)
    except SkillNotFoundError:
        return None
    if skill.source_label == "bundled":
        return (
            f"Skill '{skill.name}' comes with the program and changes with it. "
            f"To switch it off: agent skill disable {skill.canonical_name}"
        )
    return (
        f"Skill '{skill.name}' was not installed by `agent skill add`. "
        f"It is a folder of your own: {skill.base_dir}"
    )


def add(
    source: Annotated[
        str,
        typer.Argument(
            help="owner/repo[/path][@ref], an https, ssh or file address, or ./folder.", show_default=False
        ),
    ],
    *,
    ref: Annotated[str | None, typer.Option(help="Branch, tag or full commit.")] = None,
    path: Annotated[str | None, typer.Option(help="Where in the repository to look.")] = None,
    skill: Annotated[
        list[str] | None, typer.Option("--skill", "-s", help="Which skill of many; may be repeated.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Every skill of the source.")] = False,
    name: Annotated[str | None, typer.Option(help="Install under another name.")] = None,
    max_files: MaxFiles = MAX_FILES,
    max_bytes: MaxBytes = MAX_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    json: Json = False,
) -> None:
    """Install skills from a repository or a folder, after showing what they can do."""
    from skillkit.install.tree import TreeLimits
    from skillkit.install.views import installed_view

    with installer(yes=yes, trusted=trusted, limits=TreeLimits(max_files, max_bytes)) as (opened, asker):
        before = opened.list()
        installed = opened.add(
            source,
            ref=ref,
            path=path,
            skills=skill or (),
            everything=everything,
            chooser=asker.choose if asker.interactive else None,
            name=name,
        )
    if json:
        left_out = [{"path": left.path, "reason": left.reason} for left in installed.left_out]
        output.print_json({"installed": [installed_view(item) for item in installed], "left_out": left_out})
        raise typer.Exit(outcome.PARTIAL if left_out else outcome.OK)
    for item in installed:
        done = "Already there:" if item in before else "Installed"
        output.say(f"{done} {item.name} ({item.version}) → {item.installed_path}", "green", whole=True)
    output.remark(f"To use it now: export AGENT_SKILLS={','.join(item.name_canonical for item in installed)}")
    for left in installed.left_out:
        output.remark(f"Left out {left}", "yellow")
    raise typer.Exit(outcome.PARTIAL if installed.left_out else outcome.OK)


def update(
    names: ManyInstalled = None,
    *,
    ref: Annotated[str | None, typer.Option(help="Branch, tag or full commit to go to.")] = None,
    overwrite_edits: Annotated[
        bool, typer.Option("--overwrite-edits", help="Replace files you edited; yours stay for rollback.")
    ] = False,
    max_files: MaxFiles = MAX_FILES,
    max_bytes: MaxBytes = MAX_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    json: Json = False,
) -> None:
    """Bring skills up to date, after showing what changes."""
    from skillkit.install.tree import TreeLimits
    from skillkit.install.views import installed_view

    results: list[dict[str, object]] = []
    codes: list[int] = []
    with installer(yes=yes, trusted=trusted, limits=TreeLimits(max_files, max_bytes)) as (opened, _):
        wanted = names or [skill.name_canonical for skill in opened.list()]
        if not wanted:
            output.remark("No skills are installed.")
        if ref and len(wanted) != 1:
            raise typer.BadParameter("--ref is for one skill; name it")
        for name in wanted:
            try:
                with naming_missing_skill(name):
                    before = opened.registry.get(name)
                after = opened.update(name, ref=ref, overwrite_edits=overwrite_edits)
            except SkillsUseError as error:
                if len(wanted) == 1:
                    raise
                output.complain(explain(error))
                codes.append(outcome.exit_code(error))
                results.append({"name": name, "error": explain(error)})
                continue
            codes.append(outcome.OK)
            changed = before.digest != after.digest
            results.append({"name": after.name, "changed": changed, **installed_view(after)})
            if not json and changed:
                output.say(f"Updated {after.name}: {before.version} → {after.version}", "green")
            elif not json and before.stored != after.stored:
                output.say(
                    f"Put the approved files of {after.name} back; yours are kept for rollback", "green"
                )
            elif not json:
                output.say(f"{after.name} is up to date ({after.version})")
    if json:
        output.print_json({"updated": results})
    raise typer.Exit(outcome.merge_exit_codes(codes))


def remove(name: Installed, yes: Yes = False, json: Json = False) -> None:
    """Remove an installed skill; it stays in the trash for 7 days."""
    from skillkit.install.views import installed_view

    with installer(yes=yes) as (opened, _), naming_missing_skill(name):
        gone = opened.remove(name)
    if json:
        output.print_json({"removed": installed_view(gone)})
    else:
        output.say(f"Removed {gone.name}. To bring it back: agent skill rollback {gone.name_canonical}")


def rollback(name: Installed, yes: Yes = False, json: Json = False) -> None:
    """Go back to the version before the last update, or take a skill out of the trash."""
    from skillkit.install.views import installed_view

    with installer(yes=yes) as (opened, _), naming_missing_skill(name):
        back = opened.rollback(name)
    if json:
        output.print_json({"restored": installed_view(back)})
    else:
        output.say(f"{back.name} is {back.version} again", "green")
        if not back.trusted:
            output.remark(f"It is not trusted. Look at it with: agent skill trust {back.name_canonical}")
