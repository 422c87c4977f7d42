"""The Python packages of a skill's scripts that declare none: packages."""

from typing import TYPE_CHECKING, Annotated

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.options import Found, Json, Yes, examples
from skillkit.agent.cli.overview import enabled_skills, get_loaded_skill
from skillkit.agent.journal import open_journal
from skillkit.core.digest_memo import tree_digests
from skillkit.core.text import escape_hidden
from skillkit.install.consents import ConsentFile
from skillkit.install.granted_parts import packages_consent
from skillkit.scripts.distributions import normalised
from skillkit.scripts.inline_metadata import InlineMetadata, InlineMetadataError
from skillkit.scripts.needed_packages import KNOWN, SAME_NAME, packages_of
from skillkit.scripts.runner import LocalRunner

if TYPE_CHECKING:
    from skillkit.scripts.needed_packages import NeededPackage


def register(app: typer.Typer) -> None:
    app.command(
        "packages",
        short_help="Accept or correct the Python packages of a skill's scripts.",
        epilog=examples(
            "agent skill packages pdf",
            "agent skill packages pdf --with 'pypdf<6' --without cv2",
            "agent skill packages pdf --yes --before 2026-01-31",
        ),
    )(packages)


def packages(  # noqa: PLR0917 -- the options of a command
    name: Found,
    with_: Annotated[
        list[str] | None,
        typer.Option("--with", metavar="REQUIREMENT", help="Take this, in place of what has the same name."),
    ] = None,
    without: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Leave out this module or package.")
    ] = None,
    before: Annotated[
        str, typer.Option(metavar="DATE", help="Take no release that is newer than this day.")
    ] = "",
    yes: Yes = False,
    json: Json = False,
) -> None:
    """Accept or correct the packages that a skill's scripts import and do not declare, for its exact bytes.

    They are locked by version and hash, and only ready-made wheels are taken: nothing is built, and nothing
    is ever installed by a guess.
    """

    skill = get_loaded_skill(enabled_skills(), name)
    needed = packages_of(skill)
    chosen = _chosen(needed, with_ or [], without or [])
    if not json:
        _show(needed)
    if not chosen and not json:
        output.say("There is nothing to accept.")
    if not chosen or not (yes or _confirmed(chosen, json=json)):
        if json:
            output.print_json({"needed": [_view(each) for each in needed], "accepted": None})
        raise typer.Exit(outcome.OK)
    digest = tree_digests.with_links(skill.base_dir).digest
    lock = _accept(skill.canonical_name, digest, chosen, before)
    if json:
        output.print_json({"needed": [_view(each) for each in needed], "accepted": chosen, "lock": lock})
    else:
        count = sum(1 for line in lock.splitlines() if "==" in line)
        output.say(
            f"Scripts of {escape_hidden(skill.name)} get {output.count(count, 'package')}, locked by hash."
        )
        output.remark(f"To take it back: agent config revoke {skill.canonical_name} --kind packages")


def _accept(skill: str, digest: str, requirements: list[str], before: str) -> str:
    runner = LocalRunner()
    try:
        metadata = InlineMetadata.of(requirements, before)
        lock = runner.environments.lock(skill, metadata)
    except InlineMetadataError as error:
        raise typer.BadParameter(str(error), param_hint="'--with'") from error
    finally:
        runner.close()
    ConsentFile(journal=open_journal()).grant(packages_consent(skill, digest, requirements, lock))
    return lock


def _chosen(needed: "list[NeededPackage]", added: list[str], left_out: list[str]) -> list[str]:
    skipped = {normalised(name) for name in (*left_out, *added)}
    kept = [
        each.requirement
        for each in needed
        if each.requirement is not None
        and not skipped & {normalised(each.requirement), normalised(each.module)}
    ]
    return [*dict.fromkeys((*kept, *added))]


def _show(needed: "list[NeededPackage]") -> None:
    rows = [
        (
            escape_hidden(each.module),
            escape_hidden(each.requirement or "?"),
            _reason(each),
            escape_hidden(", ".join(each.scripts)),
        )
        for each in needed
    ]
    if rows:
        output.table(("Import", "Package", "Because", "Scripts"), rows, flexible="Scripts")
    if any(each.requirement is None for each in needed):
        output.remark("For those marked ? name the package yourself: --with REQUIREMENT", "yellow")


def _reason(each: "NeededPackage") -> str:
    words = {KNOWN: "known", SAME_NAME: "a guess: the same name", "": "nobody knows"}
    because = words.get(each.source, f"named in {escape_hidden(each.source)}")
    return f"{because}, optional" if each.optional else because


def _confirmed(chosen: list[str], *, json: bool) -> bool:
    import sys

    listed = escape_hidden(", ".join(chosen))
    if json or not sys.stdin.isatty():
        output.remark(f"Nothing was changed. To accept {listed}: pass --yes")
        return False
    return typer.confirm(f"Give the scripts {listed}?", err=True)


def _view(each: "NeededPackage") -> dict[str, object]:
    return {
        "module": each.module,
        "package": each.requirement,
        "because": each.source or None,
        "optional": each.optional,
        "scripts": list(each.scripts),
    }
