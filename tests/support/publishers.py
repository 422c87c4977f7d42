"""Somebody who publishes a skill, once for each kind of source: real servers and programs, on loopback."""

import base64
import functools
import hashlib
import io
import json
import shutil
import tarfile
import threading
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import NamedTuple

from file_server import FileServer
from skill_repositories import Repository

from skillkit.install.publishing import publish as publish_site

Files = Mapping[str, str]
"""The files of a skill by their path in it."""


class Publisher(NamedTuple):
    """What users write to get the skill, how a new version comes out, and what clients need to reach it."""

    source: str
    publish: Callable[[str, Files], object]
    """Takes a version and the files of the skill `pdf`."""
    environment: Mapping[str, str] = {}


def write_files(folder: Path, files: Files) -> None:
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)


def zipped(files: Files) -> bytes:
    data = io.BytesIO()
    with zipfile.ZipFile(data, "w") as archive:
        for path, text in files.items():
            archive.writestr(path, text)
    return data.getvalue()


def tarred(files: Files) -> bytes:
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        for path, text in files.items():
            info = tarfile.TarInfo(path)
            info.size = len(text.encode())
            archive.addfile(info, io.BytesIO(text.encode()))
    return data.getvalue()


def release_on_npm(server: FileServer, version: str, files: Files, scripts: Files | None = None) -> None:
    """Publish a version of the package `my-skills` in a registry; it is the latest."""
    manifest = json.dumps({"name": "my-skills", "version": version, "scripts": dict(scripts or {})})
    inside = {f"package/{path}": text for path, text in {"package.json": manifest, **files}.items()}
    data = tarred(inside)
    path = f"/my-skills/-/my-skills-{version}.tgz"
    server.files[path] = data
    integrity = f"sha512-{base64.b64encode(hashlib.sha512(data).digest()).decode()}"
    known = json.loads(server.files.get("/my-skills", b'{"versions": {}}'))["versions"]
    dist = {"tarball": f"{server.url}{path}", "integrity": integrity}
    known[version] = {"name": "my-skills", "version": version, "dist": dist}
    packument = {"name": "my-skills", "dist-tags": {"latest": version}, "versions": known}
    server.files["/my-skills"] = json.dumps(packument).encode()


def npm_environment(server: FileServer, cache: Path) -> dict[str, str]:
    return {
        "npm_config_registry": server.url,
        "npm_config_cache": str(cache),
        "npm_config_update_notifier": "false",
        "npm_config_fetch_retries": "0",
        "npm_config_prefer_online": "true",
    }


def release_on_pypi(server: FileServer, version: str, files: Files) -> None:
    """Publish a wheel of the package `my-skills` in an index; importing it would be an error."""
    info = f"my_skills-{version}.dist-info"
    about = {
        "my_skills/__init__.py": "raise SystemExit('imported')",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: my-skills\nVersion: {version}\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/RECORD": "",
    }
    name = f"my_skills-{version}-py3-none-any.whl"
    server.content_type = "text/html"
    server.files[f"/files/{name}"] = zipped(about | {f"my_skills/{key}": text for key, text in files.items()})
    wheels = [path for path in server.files if path.endswith(".whl")]
    links = "".join(f'<a href="{server.url}{path}">{path.rpartition("/")[2]}</a>' for path in wheels)
    server.files["/simple/my-skills/"] = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()


def pypi_environment(server: FileServer) -> dict[str, str]:
    return {
        "PIP_INDEX_URL": f"{server.url}/simple/",
        "PIP_CONFIG_FILE": "/dev/null",
        "PIP_NO_CACHE_DIR": "1",
        "PIP_RETRIES": "0",
    }


def release_on_clawhub(server: FileServer, version: str, files: Files) -> None:
    """A registry with one skill of the owner `ada`, in the words of ClawHub's protocol."""
    latest = {"version": version, "createdAt": 1, "changelog": ""}
    skill = {"slug": "pdf", "displayName": "pdf", "summary": "", "stats": {}, "createdAt": 1, "updatedAt": 1}
    skill["tags"] = {"latest": version}
    answer = {"skill": skill, "latestVersion": latest, "owner": {"handle": "ada"}, "moderation": None}
    one = {"version": latest, "skill": {"slug": "pdf", "displayName": "pdf"}}
    for owner in ("", "?ownerHandle=ada"):
        server.files[f"/api/v1/skills/pdf{owner}"] = json.dumps(answer).encode()
        server.files[f"/api/v1/skills/pdf/versions/{version}{owner}"] = json.dumps(one).encode()
    for asked in (
        f"slug=pdf&version={version}",
        f"slug=pdf&ownerHandle=ada&version={version}",
        f"slug=pdf&version={version}&ownerHandle=ada",
    ):
        server.files[f"/api/v1/download?{asked}"] = zipped(files)


@contextmanager
def serve_folder(folder: Path) -> Iterator[str]:
    """The address of a plain web server for a folder."""
    handler = functools.partial(SimpleHTTPRequestHandler, directory=str(folder))
    handler.log_message = lambda *_: None  # type: ignore[attr-defined]
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()
        thread.join()


def _inside(files: Files, folder: str = "skills/pdf") -> dict[str, str]:
    return {f"{folder}/{path}": text for path, text in files.items()}


def _rewrite(folder: Path, files: Files) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    write_files(folder, files)


@contextmanager
def git(place: Path) -> Iterator[Publisher]:
    repository = Repository(place / "skills.git")
    yield Publisher(repository.url, lambda _, files: repository.commit(_inside(files)))


@contextmanager
def folder(place: Path) -> Iterator[Publisher]:
    (place / "mine").mkdir(parents=True)
    yield Publisher(f"{place}/mine", lambda _, files: _rewrite(place / "mine", _inside(files)))


@contextmanager
def archive_file(place: Path) -> Iterator[Publisher]:
    place.mkdir()
    (place / "skills.tar.gz").write_bytes(b"")
    yield Publisher(
        f"{place}/skills.tar.gz",
        lambda _, files: (place / "skills.tar.gz").write_bytes(tarred(_inside(files, "top/pdf"))),
    )


@contextmanager
def archive_address(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:
        yield Publisher(
            f"{server.url}/skills.zip",
            lambda _, files: server.files.update({"/skills.zip": zipped(_inside(files, "top/pdf"))}),
        )


@contextmanager
def site(place: Path) -> Iterator[Publisher]:
    (place / "public").mkdir(parents=True)

    def publish(_: str, files: Files) -> None:
        _rewrite(place / "skills", _inside(files, "pdf"))
        publish_site(place / "skills", place / "public")

    with serve_folder(place / "public") as address:
        yield Publisher(address, publish)


@contextmanager
def older_site(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:

        def publish(_: str, files: Files) -> None:
            index = {"skills": [{"name": "pdf", "description": "What pdf does.", "files": list(files)}]}
            server.files["/.well-known/skills/index.json"] = json.dumps(index).encode()
            for path, text in files.items():
                server.files[f"/.well-known/skills/pdf/{path}"] = text.encode()

        yield Publisher(server.url, publish)


def _market(source: object) -> dict[str, str]:
    plugins = [{"name": "office", "source": source}]
    manifest = {"name": "market", "owner": {"name": "Ada"}, "plugins": plugins}
    return {".claude-plugin/marketplace.json": json.dumps(manifest)}


@contextmanager
def marketplace(place: Path) -> Iterator[Publisher]:
    repository = Repository(place / "market.git")

    def publish(_: str, files: Files) -> None:
        repository.commit(_market("./plugins/office") | _inside(files, "plugins/office/skills/pdf"))

    yield Publisher(f"marketplace:{repository.url}", publish)


@contextmanager
def plugin_elsewhere(place: Path) -> Iterator[Publisher]:
    market, plugin = Repository(place / "market.git"), Repository(place / "plugin.git")
    market.commit(_market({"source": "url", "url": plugin.url}))
    yield Publisher(f"office@marketplace:{market.url}", lambda _, files: plugin.commit(_inside(files)))


@contextmanager
def npm(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:
        yield Publisher(
            "npm:my-skills",
            lambda version, files: release_on_npm(server, version, _inside(files)),
            npm_environment(server, place / "npm-cache"),
        )


@contextmanager
def pypi(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:
        yield Publisher(
            "pypi:my-skills",
            lambda version, files: release_on_pypi(server, version, _inside(files)),
            pypi_environment(server),
        )


@contextmanager
def clawhub(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:
        yield Publisher(
            "clawhub:ada/pdf",
            lambda version, files: release_on_clawhub(server, version, files),
            {"CLAWHUB_REGISTRY": server.url},
        )


@contextmanager
def apm(place: Path) -> Iterator[Publisher]:
    with FileServer() as server:
        listed: list[dict[str, str]] = []
        versions = "/v1/packages/ada/pdf/versions"

        def publish(version: str, files: Files) -> None:
            archive = tarred(files)
            listed.append({"version": version, "digest": f"sha256:{hashlib.sha256(archive).hexdigest()}"})
            server.files[f"{versions}/{version}/download"] = archive
            server.files[versions] = json.dumps({"versions": listed}).encode()

        yield Publisher(f"apm:ada/pdf#{server.url}", publish)


@contextmanager
def mcp(place: Path) -> Iterator[Publisher]:
    import uvicorn

    from skillkit import SkillManager
    from skillkit.integrations.mcp import SkillServer
    from skillkit.integrations.mcp.http import http_app

    (place / "served").mkdir(parents=True)
    manager = SkillManager(project_skill_dir=place / "served", anthropic_config_dir="")

    def publish(_: str, files: Files) -> None:
        _rewrite(place / "served" / "pdf", files)
        manager.refresh()

    listening = uvicorn.Server(uvicorn.Config(http_app(SkillServer(manager)), port=0, log_level="error"))
    thread = threading.Thread(target=listening.run, daemon=True)
    thread.start()
    while not listening.started:  # uvicorn has no event for it
        thread.join(0.01)
    port = listening.servers[0].sockets[0].getsockname()[1]
    yield Publisher(f"mcp:http://127.0.0.1:{port}/mcp", publish)
    listening.should_exit = True
    thread.join()


PUBLISHERS = {
    publisher.__name__: publisher
    for publisher in (
        *(git, folder, archive_file, archive_address, site, older_site, marketplace, plugin_elsewhere),
        *(npm, pypi, clawhub, apm, mcp),
    )
}
