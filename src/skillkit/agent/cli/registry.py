"""`agent registry`: a server that existing skill clients install from."""

import contextlib
import getpass
import logging
import socket
from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import urlsplit

import typer

from skillkit.agent.cli import outcome, output
from skillkit.agent.cli.families import Family, Result, add_options, group
from skillkit.agent.cli.options import examples
from skillkit.core.disk import agent_home
from skillkit.core.exceptions import SkillsUseError
from skillkit.core.extras import pip_install
from skillkit.core.text import count_of, escape_hidden
from skillkit.registry.access import OPERATOR, PATH, Caller, Purpose, Visibility
from skillkit.registry.accounts import Accounts, RateLimits
from skillkit.registry.blobs import open_blobs
from skillkit.registry.exceptions import MissingError
from skillkit.registry.moving import export as write_export
from skillkit.registry.moving import import_export, import_source, is_export, remove_orphans
from skillkit.registry.moving import verify as check_digests
from skillkit.registry.publishing import HOLDS, Publisher
from skillkit.registry.sqlite import POSTGRESQL, open_database
from skillkit.registry.store import Registry

app = group("registry", "Run a private skill registry for existing clients.")
owner_app = group("owner", "Manage owners: the names that skills are published under.")
token_app = group("token", "Manage tokens: who may read, publish and review.")
review_app = group("review", "Review held versions.")
app.add_typer(owner_app)
app.add_typer(token_app)
app.add_typer(review_app)

DEFAULT_PORT = 8790
DatabaseFile = Annotated[
    str,
    typer.Option(
        "--database",
        metavar="FILE|URL",
        help="A SQLite file or postgresql://…; unless given, ~/.agent/registry/registry.sqlite.",
    ),
]
BlobsFolder = Annotated[
    str,
    typer.Option(
        "--blobs",
        metavar="FOLDER|URL",
        help="A folder or s3://…, gs://…, az://…; unless given, the folder blobs beside the SQLite file.",
    ),
]
Title = Annotated[str, typer.Argument(metavar="OWNER/SKILL@VERSION")]
Reason = Annotated[str, typer.Option("--reason", help="Shown to publishers and readers.")]


@contextlib.contextmanager
def _opened(database: str, blobs: str, visibility: Visibility | None = None) -> Iterator[Registry]:
    place = database or str(agent_home() / "registry" / "registry.sqlite")
    beside = agent_home() / "registry" / "x" if place.startswith(POSTGRESQL) else Path(place)
    try:
        opened = open_database(place)
        kept = open_blobs(blobs or beside.with_name("blobs"))
    except ImportError as error:
        extra = "registry-postgres" if error.name == "psycopg" else "registry-objects"
        raise SkillsUseError(f"The registry needs {error.name}: {pip_install(extra)}") from error
    try:
        yield Registry(opened, kept, visibility)
    finally:
        opened.close()


def _command(group: Family, name: str, *lines: str) -> Callable[[Callable[..., Any]], object]:
    """Add a command that gets the registry its options name; `lines` are its examples."""

    def decorate(function: Callable[..., Any]) -> object:
        def command(*, database: DatabaseFile = "", blobs: BlobsFolder = "", **given: Any) -> Any:
            with _opened(database, blobs) as registry:
                return function(registry=registry, **given)

        options = add_options(function, command, replaced="registry")
        return group.command(name, epilog=examples(*lines))(options)

    return decorate


def _operator() -> Caller:
    return replace(OPERATOR, user=getpass.getuser())


@app.command(
    epilog=examples(
        "agent registry serve",
        "agent registry serve --private --base-url https://skills.example.com --proxy 127.0.0.1",
    )
)
def serve(
    database: DatabaseFile = "",
    blobs: BlobsFolder = "",
    *,
    host: Annotated[str, typer.Option(help="The address to listen at.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port; 0 takes a free one.")] = DEFAULT_PORT,
    base_url: Annotated[str, typer.Option(help="The URL that clients use, if it differs.")] = "",
    private: Annotated[bool, typer.Option("--private", help="Every read needs a token.")] = False,
    hold: Annotated[
        str,
        typer.Option(
            help="Hold for review: new (an owner's first version), grown (more capabilities), none."
        ),
    ] = ",".join(HOLDS),
    self_review: Annotated[
        bool, typer.Option("--self-review", help="Publishers may approve their own versions.")
    ] = False,
    reads: Annotated[int, typer.Option(min=1, help="Reads a minute per token or address.")] = 600,
    uploads: Annotated[int, typer.Option(min=1, help="Uploads a minute per token or address.")] = 20,
    user_header: Annotated[
        str, typer.Option(help="The header in which the reverse proxy names the user.")
    ] = "",
    proxy: Annotated[list[str] | None, typer.Option(help="The address of a trusted reverse proxy.")] = None,
    tls_cert: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The certificate chain.")
    ] = None,
    tls_key: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="The private key.")
    ] = None,
) -> None:
    """Serve the registry."""
    try:
        import uvicorn

        from skillkit.registry.app import create_app
        from skillkit.registry.server import Server, ServerSettings
    except ImportError as error:
        output.complain(f"The registry needs its extra ({error}). Install it with: {pip_install('registry')}")
        raise typer.Exit(outcome.ERROR) from None
    held = tuple(word for word in hold.split(",") if word != "none")
    if set(held) - set(HOLDS):
        raise typer.BadParameter(f"takes {', '.join(HOLDS)} or none", param_hint="'--hold'")
    if (tls_cert is None) != (tls_key is None):
        raise typer.BadParameter("--tls-cert and --tls-key go together", param_hint="'--tls-cert'")
    if user_header and not proxy:
        raise typer.BadParameter("needs --proxy, whose header is trusted", param_hint="'--user-header'")
    listening = _listen(host, port)
    number = listening.getsockname()[1]
    scheme = "https" if tls_cert else "http"
    local = {f"{name}:{number}" for name in {host, "127.0.0.1", "localhost"}}
    address = base_url.rstrip("/") or f"{scheme}://{'127.0.0.1' if host == '0.0.0.0' else host}:{number}"
    if urlsplit(address).path or urlsplit(address).scheme not in ("http", "https"):
        raise typer.BadParameter("must be http(s)://HOST without a path", param_hint="'--base-url'")
    with _opened(database, blobs, Visibility(private)) as registry:
        settings = ServerSettings(
            address,
            frozenset(local),
            held,
            self_review,
            RateLimits(reads, uploads),
            user_header.lower(),
            frozenset(proxy or ()),
        )
        config = uvicorn.Config(
            create_app(Server(registry, settings)),
            log_level="warning",
            access_log=False,  # addresses may hold a secret path
            server_header=False,
            proxy_headers=False,
            ssl_certfile=tls_cert,
            ssl_keyfile=tls_key,
            timeout_graceful_shutdown=10,
        )
        logging.basicConfig(level=logging.WARNING)  # an internal error is told to nobody but the operator
        output.say(address, whole=True)
        output.remark("Serving; press Ctrl-C to stop.")
        with outcome.hanging_up_terminates():
            uvicorn.Server(config).run(sockets=[listening])


def _listen(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # asyncio sets TCP_NODELAY only where the protocol is named; without it every answer waits 40 ms.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
    except OSError as error:
        output.complain(f"{host}:{port} cannot be used: {error.strerror}. Choose another with --port.")
        raise typer.Exit(outcome.ERROR) from None
    listening.listen(1024)
    return listening


@_command(owner_app, "add", "agent registry owner add acme", "agent registry owner add lab --private")
def add_owner(
    registry: Registry,
    name: Annotated[str, typer.Argument(help="Cannot be renamed or reused later.")],
    private: Annotated[bool, typer.Option("--private", help="Every read needs a token.")] = False,
) -> None:
    """Create an owner."""
    registry.add_owner(name, _operator(), private=private)
    output.say(f"{name} can publish once it has a token:", whole=True)
    output.remark(f"agent registry token add USER --owner {name} --scope publish")


@_command(owner_app, "list", "agent registry owner list --json")
def list_owners(registry: Registry) -> Result:
    """List owners."""
    found = [{"name": row["name"], "private": bool(row["private"])} for row in registry.owners()]

    def show() -> None:
        for each in found:
            output.say(f"{each['name']}{'  private' if each['private'] else ''}")

    return Result({"owners": found}, show)


@_command(
    token_app,
    "add",
    "agent registry token add ada --owner acme --scope publish --scope read --days 90",
    "agent registry token add reviewers --scope review",
    "agent registry token add npx --scope path        (an address for clients that send no token)",
)
def add_token(
    registry: Registry,
    user: Annotated[str, typer.Argument(help="The user, as events name them.")],
    scope: Annotated[list[str], typer.Option(help="read, publish, review or path; may be repeated.")],
    owner: Annotated[str, typer.Option(help="Only for this owner; created if missing.")] = "",
    *,
    days: Annotated[float | None, typer.Option(min=0, help="Days until it expires.")] = None,
) -> None:
    """Create a token; it is shown once."""
    secret = Accounts(registry).add_token(_operator(), user, scope, owner, days=days)
    output.say(f"/s/{secret}" if PATH in scope else secret, whole=True)
    if PATH in scope:
        output.remark("Put this after the server's address: npx skills add https://HOST/s/…/OWNER/SKILL")


@_command(token_app, "list", "agent registry token list")
def list_tokens(registry: Registry) -> Result:
    """List tokens, without their secrets."""
    found = [dict(row) for row in Accounts(registry).tokens(_operator())]
    rows = [
        (row["id"], row["user"], row["scopes"], row["owner"] or "all", "revoked" if row["revoked"] else "")
        for row in found
    ]
    columns = ("Id", "User", "Scopes", "Owner", "State")
    return Result({"tokens": found}, lambda: output.table(columns, rows, flexible="User"))


@_command(token_app, "revoke", "agent registry token revoke 3")
def revoke_token(registry: Registry, number: Annotated[int, typer.Argument(metavar="ID")]) -> None:
    """Revoke a token."""
    try:
        Accounts(registry).revoke(_operator(), number)
    except MissingError:
        raise SkillsUseError(f"No token {number}. All tokens: agent registry token list") from None
    output.say(f"Token {number} is revoked.")


@_command(review_app, "list", "agent registry review list")
def list_held(registry: Registry) -> Result:
    """List held versions and why they are held."""
    found = [
        {"version": f"{skill.title}@{version.number}", "by": version.publisher, "reason": version.reason}
        for skill, version in registry.held(_operator())
    ]
    rows = [tuple(each.values()) for each in found]
    columns, otherwise = ("Version", "By", "Held because"), "Nothing is waiting for review."
    return Result(
        {"held": found}, lambda: output.listing(columns, rows, flexible=columns[-1], otherwise=otherwise)
    )


@_command(review_app, "approve", "agent registry review approve acme/pdf-forms@1.0.0")
def approve(
    registry: Registry,
    version: Title,
    self_review: Annotated[bool, typer.Option("--self-review", help="Also your own versions.")] = False,
) -> None:
    """Publish a held version."""
    _change(registry, version, "approve", self_review=self_review)


@_command(review_app, "refuse", "agent registry review refuse acme/pdf-forms@1.0.0 --reason 'sends data'")
def refuse(registry: Registry, version: Title, reason: Reason) -> None:
    """Refuse a held version; its number cannot be used again."""
    _change(registry, version, "refuse", reason)


@_command(
    app, "yank", "agent registry yank acme/pdf-forms@1.0.0", "agent registry yank acme/pdf-forms@1.0.0 --undo"
)
def yank(
    registry: Registry,
    version: Title,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="List it again.")] = False,
) -> None:
    """Remove a version from every list; pins still get it."""
    _change(registry, version, "unyank" if undo else "yank", reason)


@_command(app, "block", "agent registry block acme/pdf-forms@1.0.0 --reason 'steals keys'")
def block(
    registry: Registry,
    version: Title,
    reason: Reason = "",
    undo: Annotated[bool, typer.Option("--undo", help="Publish it again.")] = False,
) -> None:
    """Stop serving a version."""
    _change(registry, version, "unblock" if undo else "block", reason)


def _change(
    registry: Registry, title: str, action: str, reason: str = "", *, self_review: bool = False
) -> None:
    place, at, number = title.partition("@")
    owner, slash, name = place.partition("/")
    if not (at and slash and number):
        raise SkillsUseError(f"'{escape_hidden(title)}' is not a version: write OWNER/SKILL@VERSION")
    try:
        skill = registry.skill(_operator(), name, owner, Purpose.FETCH)
        changed = registry.change(_operator(), skill, number, action, reason, self_review=self_review)
    except MissingError:
        raise SkillsUseError(f"{escape_hidden(title)} not found in {registry.database.place}") from None
    output.say(f"{skill.title}@{changed.number} is {changed.state.value}.", whole=True)


@_command(
    app, "import", "agent registry import owner/repo --owner acme", "agent registry import backup.registry"
)
def import_(
    registry: Registry,
    source: Annotated[str, typer.Argument(help="A source of `agent skill add`, or a file from export.")],
    owner: Annotated[str, typer.Option(help="The owner to publish as.")] = "",
    skill: Annotated[
        list[str] | None, typer.Option("--skill", "-s", help="Import only this skill; may be repeated.")
    ] = None,
    *,
    ref: Annotated[str | None, typer.Option(help="Branch, tag or full commit.")] = None,
) -> None:
    """Import skills from a source, held like uploads, or a whole export."""
    if Path(source).is_file() and is_export(Path(source)):
        rows, count = import_export(registry, Path(source))
        output.say(f"Imported {count_of(rows, 'row')} and {count_of(count, 'archive')}.")
        return
    if not owner:
        raise typer.BadParameter("is required to import skills", param_hint="'--owner'")
    done, left_out = import_source(Publisher(registry), owner, source, skills=tuple(skill or ()), ref=ref)
    for each in done:
        output.say(
            f"{each.title}  {each.version.state.value}  {escape_hidden(each.version.reason)}", whole=True
        )
    for name, reason in left_out:
        output.warn(f"{escape_hidden(name)} was skipped: {escape_hidden(reason)}")
    raise typer.Exit(outcome.PARTIAL if left_out else outcome.OK)


@_command(
    app,
    "export",
    "agent registry export backup.registry",
    "agent registry export mirror.registry --since 2026-11-01",
)
def export(
    registry: Registry,
    file: Annotated[Path, typer.Argument(dir_okay=False)],
    *,
    since: Annotated[
        datetime | None,
        typer.Option(help="For a mirror: no tokens and events, and archives from this time (UTC) on."),
    ] = None,
) -> None:
    """Export all rows and archives to one file, also while serving."""
    begun = None if since is None else since.replace(tzinfo=UTC).timestamp()
    rows, count = write_export(registry, file, begun)
    output.say(
        f"Wrote {count_of(rows, 'row')} and {count_of(count, 'archive')} to {escape_hidden(str(file))}",
        whole=True,
    )


@_command(app, "verify", "agent registry verify")
def verify(
    registry: Registry,
    orphans: Annotated[
        bool, typer.Option("--remove-orphans", help="Delete archives that no version references.")
    ] = False,
) -> None:
    """Verify the digest of every archive and file."""
    if orphans:
        output.remark(f"Removed {count_of(remove_orphans(registry), 'unreferenced archive')}.")
    problems = 0
    for problem in check_digests(registry):
        problems += 1
        output.complain(escape_hidden(problem))
    if problems:
        raise typer.Exit(outcome.ERROR)
    output.say("Every archive and file matches its digest.")


@_command(app, "status", "agent registry status --json")
def status(registry: Registry) -> Result:
    """Show the contents of the registry."""
    found: dict[str, object] = {
        "database": registry.database.place,
        "blobs": registry.blobs.place,
    }
    for table in ("owner", "skill", "token"):
        counted = registry.database.row(f"SELECT COUNT(*) AS count FROM {table}")
        found[f"{table}s"] = counted["count"] if counted else 0
    states = registry.database.rows("SELECT state, COUNT(*) AS count FROM version GROUP BY state")
    versions = {row["state"]: row["count"] for row in states}
    counts = ", ".join(f"{count} {state}" for state, count in versions.items()) or "0"
    facts = [(name.capitalize(), value) for name, value in {**found, "versions": counts}.items()]
    return Result({**found, "versions": versions}, lambda: output.facts(facts))
