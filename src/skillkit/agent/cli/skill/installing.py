"""Changing what is installed: add, update, remove, rollback."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.asking import Asker
from skillkit.agent.cli.families import Family, Result
from skillkit.agent.cli.options import (
    Full,
    Json,
    Long,
    MaxBytes,
    MaxFiles,
    NoEnable,
    Quiet,
    Trusted,
    Yes,
    examples,
)
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.progress import Progress
from skillkit.agent.cli.skill_names import Installed, ManyInstalled, SomeInstalled
from skillkit.agent.journal import open_journal
from skillkit.agent.remedies import explain
from skillkit.core.codec import encode
from skillkit.core.exceptions import SkillNotFoundError, SkillsUseError
from skillkit.core.limits import SKILL_BYTES, SKILL_FILES
from skillkit.core.text import escape_hidden
from skillkit.install.clients import InstallTargets, parse_clients
from skillkit.install.exceptions import LocalEditsError, NotInstalledError
from skillkit.install.installer import SkillInstaller
from skillkit.install.plan import UpdateResult
from skillkit.install.record import InstalledSkill
from skillkit.install.selection import change_selection
from skillkit.install.sources.layout import Skipped
from skillkit.install.tree import TreeLimits
from skillkit.install.views import installed_view, left_out_view

app = Family()


@contextmanager
def installer(
    *,
    yes: bool = False,
    trusted: bool = False,
    limits: TreeLimits | None = None,
    full: bool = False,
    quiet: bool = False,
) -> Iterator[tuple[SkillInstaller, Asker]]:
    """An installer that asks at this terminal, with progress on stderr."""
    with Progress(silent=quiet) as progress:
        asker = Asker(progress, yes=yes, trusted=trusted, full=full, quiet=quiet)
        opened = SkillInstaller(
            consent=asker.consent, progress=progress, limits=limits, journal=open_journal()
        )
        yield opened, asker
        progress.pause()
        for notice in opened.registry.notices:
            output.warn(notice)
        if opened.registry.notices:
            output.remark("To approve a skill: agent skill trust NAME")


@contextmanager
def naming_missing_skill(name: str) -> Iterator[None]:
    """Tells a skill that is there but was never installed apart from one that is not there at all."""
    try:
        yield
    except NotInstalledError as error:
        raise _named_missing(name, error) from None


def _named_missing(name: str, error: NotInstalledError) -> NotInstalledError:
    try:
        skill = enabled_skills().manager.get_skill(name)
    except SkillNotFoundError:
        return error
    if skill.source_label == "bundled":
        return NotInstalledError(
            f"Skill '{skill.name}' comes with the program and changes with it. "
            f"To switch it off: agent skill disable {skill.canonical_name}"
        )
    return NotInstalledError(
        f"Skill '{skill.name}' was not installed by `agent skill add`. "
        f"It is a folder of your own: {skill.base_dir}"
    )


@app.command("install", hidden=True)
@app.command(
    "add",
    short_help="Install skills, after showing what they can do.",
    epilog=examples(
        "agent skill add owner/repo",
        "agent skill add owner/repo --list             (what it holds, installing nothing)",
        "agent skill add owner/repo/skills/pdf@v1.2.0",
        "agent skill add https://git.example.com/team/skills.git --skill pdf --ref main",
        "agent skill add ./my-skill --name my-copy",
        "agent skill add owner/repo --skill pdf --for claude-code,codex",
        "agent skill add owner/repo --ref FULL_COMMIT --yes      (in a script)",
    ),
)
def add(
    source: Annotated[
        str,
        typer.Argument(
            help="owner/repo[/path][@ref], an https, ssh or file address, a site, an archive or ./folder.",
        ),
    ],
    *,
    ref: Annotated[str | None, typer.Option(help="Branch, tag or full commit.")] = None,
    path: Annotated[str | None, typer.Option(help="Folder in the repository.")] = None,
    skill: Annotated[
        list[str] | None, typer.Option("--skill", "-s", help="Only this skill; repeatable.")
    ] = None,
    everything: Annotated[bool, typer.Option("--all", help="Install every skill in the source.")] = False,
    name: Annotated[str | None, typer.Option(help="Install under another name.")] = None,
    alone: Annotated[
        bool, typer.Option("--alone", help="Skip skills of the source that it requires.")
    ] = False,
    also: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="SKILL", help="Also install this skill of the source; repeatable."),
    ] = None,
    clients: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="CLIENT",
            help="Also place it for these clients: comma-separated ids, or all-detected.",
        ),
    ] = None,
    project: Annotated[
        bool, typer.Option("--project", help="With --for: use this project's folders, not your own.")
    ] = False,
    copy: Annotated[
        bool, typer.Option("--copy", help="With --for: copy instead of link, so it can be committed.")
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", "-l", help="List the skills in the source without installing.")
    ] = False,
    long: Long = False,
    no_enable: NoEnable = False,
    max_files: MaxFiles = SKILL_FILES,
    max_bytes: MaxBytes = SKILL_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    full: Full = False,
    quiet: Quiet = False,
) -> Result:
    """Install skills from a repository or a folder and enable them, after showing what they can do."""
    limits = TreeLimits(max_files, max_bytes)
    if (project or copy) and not clients:
        raise typer.BadParameter("--project and --copy require --for CLIENTS")
    with installer(yes=yes, trusted=trusted, limits=limits, full=full, quiet=quiet) as (
        opened,
        asker,
    ):
        if list_only:
            return _list_source(opened, source, ref, path, long=long)
        before, here = opened.list(), Path.cwd()
        placing = (
            InstallTargets(parse_clients(clients, here), here if project else None, copy) if clients else None
        )
        installed = opened.add(
            source,
            ref=ref,
            path=path,
            skills=skill or (),
            everything=everything,
            chooser=asker.choose if asker.interactive else None,
            name=name,
            placing=placing,
            alone=alone,
            also=also or (),
        )
        places = opened.registry.load().places
        fresh = [item.name for item in installed if item not in before]
        if not no_enable:
            enable(opened, fresh)
    placed = {item.name: places.get(item.name_canonical, ()) for item in installed}

    def show() -> None:
        for item in installed:
            done = "Already there:" if item in before else "Installed"
            why = f", needed by {', '.join(item.came_for)}" if item.came_for else ""
            where = item.installed_path
            output.say(f"{done} {item.name} ({item.version}{why}) → {where}", "green", whole=True)
            for place in placed[item.name]:
                output.say(f"  {place}", whole=True)
        show_use([item.name for item in installed])
        output.left_out("Left out", installed.left_out)

    more = {"places": {name: [encode(place) for place in each] for name, each in placed.items()}}
    return changed_result("installed", installed, show, installed.left_out, **more)


def changed_result(
    what: str,
    changed: Iterable[InstalledSkill],
    show: Callable[[], object],
    left_out: Sequence[Skipped],
    **more: object,
) -> Result:
    """Return what a command did to installed skills; exit code 5 where something was left out."""
    data = {what: [installed_view(item) for item in changed], **more, "left_out": left_out_view(left_out)}
    return Result(data, show, outcome.PARTIAL if left_out else outcome.OK)


def enable(opened: SkillInstaller, names: Sequence[str]) -> None:
    """Consent enables: write skills that the user has just agreed to into the selection."""
    if names:
        change_selection(opened.registry, lambda chosen: chosen.with_names(names))


def show_use(names: Sequence[str]) -> None:
    """Say which of these are active from now on, and how to make the others so."""
    enabled = enabled_skills()
    found = [enabled.status(skill) for name in names if (skill := enabled.manager.find_skill(name))]
    if active := [status.skill.name for status in found if status.active]:
        output.remark(f"Active from now on: {escape_hidden(', '.join(active))}")
    disabled = [status.skill for status in found if status.refusal and status.refusal.code == "disabled"]
    if len(disabled) > 1:
        output.remark(f"To enable: {enabled.selection.remedy(*disabled)}")
        found = [status for status in found if status.skill not in disabled]
    for status in found:
        if status.refusal is not None:
            output.warn(status.refusal.reason)


def _list_source(
    opened: SkillInstaller, source: str, ref: str | None, path: str | None, *, long: bool
) -> Result:
    offered = opened.look(source, ref=ref, path=path)
    skills = [
        {
            "name": choice.name,
            "path": choice.path,
            "description": choice.description,
            "mended_from": choice.mended_from or None,
        }
        for choice in offered.choices
    ]

    def show() -> None:
        rows = [
            (choice.name, choice.path or ".", output.summary(choice.description, title=choice.mended_from))
            for choice in offered.choices
        ]
        if long:
            output.table(("Name", "Path", "Description"), rows, flexible="Description")
        elif rows:
            output.short_table(("Name", "Description"), [(name, about) for name, _, about in rows])
        if not rows:
            output.remark("No skills found: no folder has a SKILL.md.")
        output.left_out("Would be left out:", offered.left_out)

    return Result({"skills": skills, "left_out": left_out_view(offered.left_out)}, show)


@app.command(
    "update",
    epilog=examples(
        "agent skill update pdf",
        "agent skill update",
        "agent skill update pdf --ref v2.0.0",
        "agent skill update pdf --overwrite-edits",
    ),
)
def update(
    names: ManyInstalled = None,
    *,
    ref: Annotated[str | None, typer.Option(help="Branch, tag or full commit to update to.")] = None,
    overwrite_edits: Annotated[
        bool, typer.Option("--overwrite-edits", help="Overwrite edited files, keeping yours for rollback.")
    ] = False,
    test: Annotated[
        bool, typer.Option("--test", help="Test the new version, in the sandbox, before you are asked.")
    ] = False,
    max_files: MaxFiles = SKILL_FILES,
    max_bytes: MaxBytes = SKILL_BYTES,
    yes: Yes = False,
    trusted: Trusted = False,
    full: Full = False,
    quiet: Quiet = False,
    json: Json = False,
) -> Result:
    """Bring skills up to date, after showing what changes."""
    results: list[dict[str, object]] = []
    codes: list[int] = []
    limits = TreeLimits(max_files, max_bytes)
    with installer(yes=yes, trusted=trusted, limits=limits, full=full, quiet=quiet) as (opened, asker):
        if test:
            from skillkit.evaluation.version_tests import notes_of_tests

            opened.examine = notes_of_tests
        wanted = names or [skill.name_canonical for skill in opened.list()]
        if not wanted:
            output.remark("No skills are installed.")
        if ref and len(wanted) != 1:
            raise typer.BadParameter("--ref is for one skill; name it")
        for done in _updates(opened, asker, wanted, ref, overwrite_edits=overwrite_edits):
            error = done.error
            if isinstance(error, NotInstalledError):
                error = _named_missing(done.name, error)
            if error is not None and len(wanted) == 1:
                raise error
            codes.append(outcome.OK if error is None else outcome.exit_code(error))
            results.append(_updated_as_data(done, error))
            if error is not None:
                output.complain(explain(error))
            elif not json:
                _say_updated(done)
    return Result({"updated": results}, lambda: None, outcome.merge_exit_codes(codes))


def _updates(
    opened: SkillInstaller, asker: Asker, names: Sequence[str], ref: str | None, *, overwrite_edits: bool
) -> Iterator[UpdateResult]:
    """Update each skill; at a terminal, ask before local edits are replaced."""
    edited: list[UpdateResult] = []
    for done in opened.update_each(names, ref=ref, overwrite_edits=overwrite_edits):
        if isinstance(done.error, LocalEditsError) and asker.interactive and not asker.yes:
            edited.append(done)
        else:
            yield done
    for done in edited:
        output.warn(str(done.error))
        if asker.confirm("This will discard any local changes. Continue?"):
            yield from opened.update_each([done.name], ref=ref, overwrite_edits=True)
        else:
            yield done


def _updated_as_data(done: UpdateResult, error: SkillsUseError | None) -> dict[str, object]:
    if done.before is None or done.after is None:
        return {"name": done.name, "error": explain(error) if error else ""}
    return {
        "name": done.after.name,
        "changed": done.before.digest != done.after.digest,
        **installed_view(done.after),
    }


def _say_updated(done: UpdateResult) -> None:
    before, after = done.before, done.after
    if before is None or after is None:
        return
    if before.digest != after.digest:
        output.say(f"Updated {after.name}: {before.version} → {after.version}", "green")
    elif before.stored != after.stored:
        output.say(f"Restored the approved files of {after.name}; yours are kept for rollback", "green")
    else:
        output.say(f"{after.name} is up to date ({after.version})")


@app.command("uninstall", hidden=True)
@app.command(
    "remove",
    epilog=examples("agent skill remove pdf", "agent skill remove pdf csv", "agent skill remove pdf --yes"),
)
def remove(names: SomeInstalled, yes: Yes = False, quiet: Quiet = False, json: Json = False) -> Result:
    """Remove installed skills; they stay in the trash for 7 days."""
    gone = []
    with installer(yes=yes, quiet=quiet) as (opened, _):
        for name in names:
            with naming_missing_skill(name):
                opened.registry.get(name)
        for name in dict.fromkeys(names):
            gone.append(opened.remove(name))
            if not json:
                skill = gone[-1]
                output.say(
                    f"Removed {skill.name}. To bring it back: agent skill rollback {skill.name_canonical}"
                )
        names = [skill.name for skill in gone]
        change_selection(
            opened.registry,
            lambda chosen: chosen.without_names(names, ()) if chosen.mode == "names" else chosen,
        )
    removed = [installed_view(item) for item in gone]
    return Result({"removed": removed[0] if len(removed) == 1 else removed}, lambda: None)


@app.command(
    "rollback",
    short_help="Restore the previous version, or a removed skill.",
    epilog=examples("agent skill rollback pdf", "agent skill rollback pdf --json"),
)
def rollback(name: Installed, yes: Yes = False) -> Result:
    """Go back to the version before the last update, or take a skill out of the trash."""
    with installer(yes=yes) as (opened, _), naming_missing_skill(name):
        before = opened.list()
        back = opened.rollback(name)
        if back.name_canonical not in {skill.name_canonical for skill in before}:
            enable(opened, [back.name])

    def show() -> None:
        output.say(f"Restored {back.name} ({back.version})", "green")
        show_use([back.name])

    return Result({"restored": installed_view(back)}, show)
