"""`agent config …`: settings, the choice of a provider, and which skills may run scripts."""

import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from skillkit.agent.cli import output
from skillkit.agent.cli.families import Result, group
from skillkit.agent.cli.options import examples
from skillkit.agent.cli.overview import enabled_skills
from skillkit.agent.cli.skill_names import SkillName
from skillkit.agent.exceptions import SettingsError
from skillkit.agent.journal import open_journal
from skillkit.agent.models.choice import choose, provider_named
from skillkit.agent.providers import PROVIDERS, SHIPPED
from skillkit.agent.settings import Settings, SettingsFile
from skillkit.core.digest_memo import tree_digests
from skillkit.core.hosts import HostRule
from skillkit.core.names import canonical_name
from skillkit.core.text import escape_hidden
from skillkit.install.consents import Consent, ConsentFile, ConsentKind, project_consent
from skillkit.install.views import consent_view
from skillkit.scripts.inputs import check_project

app = group("config", "Manage settings, the model provider and approvals.")


@app.command()
def init(force: Annotated[bool, typer.Option("--force", help="Overwrite an existing file.")] = False) -> None:
    """Write a settings file with the defaults."""
    file = SettingsFile()
    if file.path.exists() and not force:
        raise SettingsError(f"{file.path} exists already. Replace it with: agent config init --force")
    file.save(Settings())
    output.say(f"Wrote {file.path}")


@app.command()
def show() -> Result:
    """Show the settings, and which providers could be used now."""
    file = SettingsFile()
    settings = file.load()
    used = choose(settings).name
    problems = {name: _problem(name, settings) for name in PROVIDERS}

    def show_settings() -> None:
        output.say(f"Settings in {file.path}")
        rows = []
        for name, problem in problems.items():
            model, state = settings.of(name).model or "-", problem
            if problem is None:
                ready = provider_named(name, settings)
                model, state = ready.model, f"ready{ready.shown_address}"
            rows.append((name, "used" if name == used else "", model, state))
        output.table(("Provider", "Now", "Model", "State"), rows, flexible="State")
        memory, verbose = ("on" if each else "off" for each in (settings.memory, settings.verbose))
        output.say(f"memory: {memory}, verbose: {verbose}")

    data = {"path": str(file.path), "settings": asdict(settings), "provider": used, "problems": problems}
    return Result(data, show_settings)


def _problem(name: str, settings: Settings) -> str | None:
    """Return why a provider cannot be used, also when its package cannot even be loaded."""
    try:
        return provider_named(name, settings).problem()
    except SettingsError as error:
        return str(error)


@app.command(
    "set", epilog=examples("agent config set memory off", "agent config set openai.model gpt-5-mini")
)
def set_value(
    key: Annotated[str, typer.Argument(help="provider, memory, verbose, or PROVIDER.model and the like.")],
    value: Annotated[str, typer.Argument(help="The value; '' unsets it.")],
) -> None:
    """Change one setting."""
    SettingsFile().change(key, value)
    output.say(f"{escape_hidden(key)} = {escape_hidden(value)}")


@app.command(epilog=examples("agent config provider openai --model gpt-5-mini", "agent config provider auto"))
def provider(
    name: Annotated[str, typer.Argument(help=f"{SHIPPED}, one added by a package, or auto.")],
    model: Annotated[str | None, typer.Option(help="The model to use.")] = None,
    base_url: Annotated[
        str | None, typer.Option(help="URL of another service with the same protocol.")
    ] = None,
) -> None:
    """Choose the model provider."""
    file = SettingsFile()
    settings = file.change("provider", name)
    for detail, value in (("model", model), ("base_url", base_url)):
        if value is not None:
            settings = file.change(f"{name}.{detail}", value)
    if settings.provider is None:
        output.say("The first available provider is used.")
        return
    output.say(f"Provider set to {name}.")
    problem = _problem(name, settings)
    if problem is not None:
        output.warn(problem)


@app.command()
def approve(
    name: SkillName,
    project: Annotated[
        str | None, typer.Option(metavar="FOLDER", help="Also let them read this folder, except its keys.")
    ] = None,
    hide: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="Also hide this path in that folder.")
    ] = None,
    host: Annotated[
        list[str] | None, typer.Option(metavar="HOST", help="Also let them reach this host.")
    ] = None,
) -> None:
    """Let the scripts of a skill run, exactly as it is now."""
    skill = enabled_skills().manager.get_skill(name)
    digest = tree_digests.with_links(skill.base_dir).digest
    given = [Consent(ConsentKind.RUN, digest, skill.canonical_name)]
    for text in host or ():
        try:
            allowed = str(HostRule.parse(text))
        except ValueError as error:
            raise typer.BadParameter(str(error), param_hint="'--host'") from error
        given.append(Consent(ConsentKind.HOST, digest, skill.canonical_name, place=allowed))
    if project is not None:
        folder = check_project(Path(project))
        given.append(project_consent(skill.canonical_name, digest, folder, hide or []))
    ConsentFile(notice=output.warn, journal=open_journal()).grant(*given)
    output.say(f"Scripts of {escape_hidden(skill.name)} may run as they are now.")
    for each in given[1:]:
        words = {
            ConsentKind.HOST: "reach {}",
            ConsentKind.PROJECT: "read {} while you work in it, without its keys",
        }
        output.say(f"They may {words[each.kind].format(escape_hidden(each.place))}.")
    output.remark(digest)


@app.command(
    epilog=examples(
        "agent config revoke pdf",
        "agent config revoke pdf --kind use",
        "agent config revoke pdf --kind host --place api.example.com",
        "agent config revoke pdf --kind all --digest sha256:4f…",
    )
)
def revoke(
    name: Annotated[str, typer.Argument(help="The name of a skill, as `agent config approvals` shows it.")],
    kind: Annotated[str, typer.Option(help="Kind of approval: run, use, packages …, or all.")] = "run",
    digest: Annotated[str, typer.Option(help="Only the version with this digest prefix.")] = "",
    place: Annotated[
        str, typer.Option(help="Only this host, folder or package, as `approvals` shows it under Where.")
    ] = "",
) -> None:
    """Take an approval of a skill back, or one part of it."""
    kinds = {each.value for each in ConsentKind}
    if kind not in {*kinds, "all"}:
        raise typer.BadParameter(
            f"{kind!r} is not one of {', '.join((*sorted(kinds), 'all'))}", param_hint="'--kind'"
        )

    def wanted(consent: Consent) -> bool:
        return (
            canonical_name(consent.skill) == canonical_name(name)
            and kind in (consent.kind.value, "all")
            and consent.digest.startswith(digest)
            and place in ("", consent.place)
        )

    gone = ConsentFile(notice=output.warn, journal=open_journal()).revoke(where=wanted)
    if not gone:
        output.say("No such approval.")
        return
    output.say("Approval revoked.")
    for consent in gone:
        output.remark(f"{consent.kind.value} {consent.digest}")


@app.command(epilog=examples("agent config approvals", "agent config approvals --json"))
def approvals() -> Result:
    """Show what you approved, of which skill, and when."""
    consents = ConsentFile(notice=output.warn).load()

    def show_consents() -> None:
        if not consents:
            output.remark("No approvals beyond the bundled skills.")
            return
        rows = []
        for each in consents:
            where = f"{each.server} {each.place}".strip() or "-"
            rows.append((each.skill, each.kind.value, each.digest[:19], where, each.granted_at or "-"))
        output.table(("Skill", "May", "Digest", "Where", "Granted"), rows, flexible="Where")
        latest = max(consents, key=lambda each: each.granted_at or "")
        command = ["agent", "config", "revoke", latest.skill, "--kind", latest.kind.value]
        command += ["--digest", latest.digest[:19], *(["--place", latest.place] if latest.place else [])]
        output.remark(f"To revoke the latest: {escape_hidden(shlex.join(command))}")

    return Result({"consents": [consent_view(each) for each in consents]}, show_consents)
