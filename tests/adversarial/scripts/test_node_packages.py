"""Packages of Node.js, by the real npm from a registry on loopback: nothing of them runs unconfined."""

import base64
import hashlib
import io
import json
import shutil
import tarfile

import pytest
from file_server import FileServer
from wheels import fresh

from skillkit.core.digest_memo import tree_digests
from skillkit.install.consents import ConsentFile, ConsentKind, add_parts, npm_consent
from skillkit.scripts import DependencyError, Grants
from skillkit.scripts.node_packages import check_lock, locked_names, node_projects, node_projects_of

__all__ = ["fresh"]
pytestmark = [
    pytest.mark.skipif(shutil.which("npm") is None, reason="npm is not installed"),
    pytest.mark.this_machine,  # packages are accepted where the user is
]


class Registry:
    """Packages on a server of ours, each of which would leave a trace if its scripts ran."""

    def __init__(self, server, trace):
        self.server, self.trace = server, trace

    def publish(self, name, code, requires=None, version="1.0.0"):
        scripts = dict.fromkeys(("preinstall", "install", "postinstall", "prepare"), f"touch {self.trace}")
        manifest = {"name": name, "version": version, "scripts": scripts, "dependencies": requires or {}}
        data = io.BytesIO()
        with tarfile.open(fileobj=data, mode="w:gz") as archive:
            for path, text in (("package.json", json.dumps(manifest)), ("index.js", code)):
                info = tarfile.TarInfo(f"package/{path}")
                info.size = len(text.encode())
                archive.addfile(info, io.BytesIO(text.encode()))
        content = data.getvalue()
        address = f"/{name}/-/{name}-{version}.tgz"
        self.server.files[address] = content
        integrity = f"sha512-{base64.b64encode(hashlib.sha512(content).digest()).decode()}"
        dist = {"tarball": f"{self.server.url}{address}", "integrity": integrity}
        about = {"versions": {version: {**manifest, "dist": dist}}, "dist-tags": {"latest": version}}
        self.server.files[f"/{name}"] = json.dumps({"name": name, **about}).encode()


@pytest.fixture
def registry(tmp_path, monkeypatch):
    with FileServer() as server:
        monkeypatch.setenv("npm_config_registry", server.url)
        monkeypatch.setenv("npm_config_fetch_retries", "0")
        monkeypatch.setenv("HOME", str(tmp_path))
        made = Registry(server, tmp_path / "trace")
        made.publish("inner", "module.exports = 'inner'")
        made.publish("outer", "module.exports = 'outer of ' + require('inner')", {"inner": "^1.0.0"})
        yield made
        assert not made.trace.exists()


def package(base, dependencies, folder="", **more):
    (base / folder / "package.json").write_text(json.dumps({"dependencies": dependencies, **more}))


def accept(workshop, skill="demo"):
    """What the program does when the user says yes."""
    tools = workshop.tools()
    found = tools._skills.get_skill(skill)
    projects = node_projects_of(found)
    locks = {project.folder: tools._runner.node.lock(project) for project in projects}
    digest = tree_digests.with_links(found.base_dir).digest
    consents = ConsentFile(workshop.folder / ".agent")
    wanted = [each for project in projects for each in project.requirements]
    consents.grant(npm_consent(skill, digest, wanted, locks))
    return digest, consents


def test_accepted_packages_are_there_for_that_digest_and_no_other(fresh, registry):
    base = fresh.skill(
        tell_mjs="import outer from 'outer'; console.log(outer)", old_cjs="console.log(require('outer'))"
    )
    package(base, {"outer": "^1.0.0"}, scripts={"preinstall": f"touch {registry.trace}"})
    refused = fresh.tools(sandbox="bwrap").script_run("demo", "tell", json=False)
    assert refused["cause"] == "missing_package"
    assert "imports 'outer', a package of Node.js" in refused["message"]
    digest, consents = accept(fresh)
    granted = add_parts(Grants(), digest, consents)
    assert locked_names(granted.node_packages) == ["inner@1.0.0", "outer@1.0.0"]
    assert registry.server.url not in granted.node_packages
    tools = fresh.tools(granted, sandbox="bwrap")
    for script in ("tell", "old"):
        answer = tools.script_run("demo", script, json=False)
        assert answer["result"] == "outer of inner\n", answer
    (base / "scripts" / "tell.mjs").write_text("import outer from 'outer'")
    assert add_parts(Grants(), tree_digests.with_links(base).digest, consents) == Grants()
    consents.revoke(where=lambda each: each.kind is ConsentKind.NPM)
    assert add_parts(Grants(), digest, consents) == Grants()


def test_a_warm_run_needs_neither_npm_nor_the_registry(fresh, registry, monkeypatch):
    package(fresh.skill(tell_js="console.log(require('outer'))"), {"outer": "1.0.0"})
    granted = add_parts(Grants(), *accept(fresh))
    assert fresh.tools(granted, sandbox="bwrap").script_run("demo", "tell", json=False)["success"]
    registry.server.files.clear()
    monkeypatch.setattr("skillkit.scripts.node_environments.find_program", lambda *_, **__: None)
    assert fresh.tools(granted, sandbox="bwrap").script_run("demo", "tell", json=False)["success"]


def test_a_package_that_changed_after_it_was_accepted_is_refused(fresh, registry):
    package(fresh.skill(tell_js="console.log(require('outer'))"), {"outer": "1.0.0"})
    granted = add_parts(Grants(), *accept(fresh))
    shutil.rmtree(fresh.home / "environments" / "npm-cache")
    registry.publish("outer", "module.exports = 'another'")
    answer = fresh.tools(granted, sandbox="bwrap").script_run("demo", "tell", json=False)
    assert answer["error"] == "dependency_failed"
    assert "EINTEGRITY" in answer["message"]


@pytest.mark.parametrize(
    "versions",
    [
        *("git+ssh://git@example.com/x.git", "github:a/b", "a/b", "file:../..", "link:/etc", "npm:outer@1"),
        *("http://127.0.0.1:1/x.tgz", "workspace:*", "--registry=http://127.0.0.1:1", "1.0.0 --x /etc"),
    ],
)
def test_only_names_and_versions_of_the_users_own_registry_are_accepted(fresh, registry, versions):
    package(fresh.skill(tell_js=""), {"outer": versions})
    with pytest.raises(DependencyError):
        accept(fresh)


@pytest.mark.parametrize(
    "versions",
    [
        "git+https://127.0.0.1:1/x.git",
        "file:/etc",
        "http://127.0.0.1:1/x.tgz",
        "{server}/inner/-/inner-1.0.0.tgz",
    ],
)
def test_a_package_that_sends_elsewhere_is_refused(fresh, registry, versions):
    registry.publish("sly", "", {"inner": versions.format(server=registry.server.url)})
    package(fresh.skill(tell_js=""), {"sly": "*"})
    with pytest.raises(DependencyError):
        accept(fresh)


def test_the_lock_of_an_author_chooses_versions_but_no_places(fresh, registry):
    registry.publish("inner", "module.exports = 'newer'", version="1.0.1")
    base = fresh.skill(tell_js="console.log(require('inner'))")
    package(base, {"inner": "^1.0.0"})
    evil = {"version": "1.0.1", "resolved": "http://127.0.0.1:1/evil.tgz"}
    lock = {
        "lockfileVersion": 3,
        "packages": {"": {"dependencies": {"inner": "^1.0.0"}}, "node_modules/inner": evil},
    }
    (base / "package-lock.json").write_text(json.dumps(lock))
    granted = add_parts(Grants(), *accept(fresh))
    assert "127.0.0.1" not in granted.node_packages
    assert fresh.tools(granted, sandbox="bwrap").script_run("demo", "tell", json=False)["result"] == "newer\n"


@pytest.mark.parametrize(
    "entry",
    [
        {"version": "1.0.0"},
        {"version": "1.0.0", "integrity": "sha512-x"},
        {"version": "1.0.0", "integrity": f"sha512-{'A' * 86}==", "resolved": "https://example.com/x.tgz"},
        {"link": True, "resolved": "../..", "integrity": f"sha512-{'A' * 86}=="},
    ],
)
def test_a_lock_without_integrity_or_with_a_place_is_refused(entry):
    with pytest.raises(DependencyError):
        check_lock({"packages": {"": {}, "node_modules/x": entry}})
    with pytest.raises(DependencyError):
        check_lock({"packages": {"": {}, "../x": {"integrity": f"sha512-{'A' * 86}=="}}})


def test_packages_cannot_be_written_and_those_of_the_project_are_not_loaded(fresh, registry):
    base = fresh.skill(
        name="project/skills/demo",
        tell_js="""
        const fs = require('fs');
        try { fs.writeFileSync('/node_modules/outer/x', 'x') } catch (error) { console.log(error.code) }
        console.log(require('outer'));
        const name = 'theirs';
        try { console.log(require(name)) } catch (error) { console.log(error.code) }
        """,
    )
    (base / "SKILL.md").write_text("---\nname: demo\ndescription: Does demo\n---\n")
    package(base, {"outer": "*"})
    project = fresh.folder / "project"
    for name in ("outer", "theirs"):
        (project / "node_modules" / name).mkdir(parents=True)
        (project / "node_modules" / name / "index.js").write_text("module.exports = 'of the project'")
    digest, consents = accept(fresh)
    granted = add_parts(Grants(project=project), digest, consents)
    answer = fresh.tools(granted, sandbox="bwrap").script_run("demo", "tell", json=False)
    assert answer["result"].split() == ["EROFS", "outer", "of", "inner", "MODULE_NOT_FOUND"], answer


def test_where_nothing_can_be_mounted_the_reason_is_said(fresh, registry, confining):
    package(fresh.skill(tell_js="console.log(require('outer'))"), {"outer": "*"})
    granted = add_parts(Grants(), *accept(fresh))
    answer = fresh.tools(granted, sandbox=confining).script_run("demo", "tell", json=False)
    if confining == "bwrap":
        assert answer["success"]
    else:
        assert answer["error"] == "dependency_failed"
        assert "install bubblewrap" in answer["message"]


def test_imports_that_no_package_json_names_are_proposed_by_their_own_names():
    files = {
        "scripts/a.mjs": b"""
import fs from "node:fs"; import path from 'path';
import {
  one,
} from "one/sub.js";
import "./b.js"; const x = require('@two/three/four'); // import 'comment'
// import nothing from "commented";
await import("five"); await import(name);
""",
        "scripts/b.js": b"export { y } from 'six'\nimport type { T } from '../types'",
        "types.ts": b"import z from 'seven'",
        "scripts/alone.js": b"console.log('import me from \\'nowhere\\'')",
        "package.json": b'{"name": "one", "dependencies": {"six": "^6"}}',
    }
    (project,) = node_projects(files, ["scripts/a.mjs", "scripts/alone.js"])
    assert project.dependencies == {"six": "^6", "@two/three": "*", "five": "*", "seven": "*"}
    assert project.undeclared == ("@two/three", "five", "seven")


@pytest.mark.parametrize(
    ("content", "taken", "elsewhere"),
    [
        (b"{", {}, 0),
        (b"[]", {}, 0),
        (b'{"dependencies": ["outer"]}', {}, 0),
        (b'{"dependencies": {"outer": 1, "../x": "1", "ok": "1 || >=2"}}', {"ok": "1 || >=2"}, 2),
        (b'{"devDependencies": {"outer": "1"}}', {}, 0),
        (b'{"dependencies": ' + b'{"a":' * 3000, {}, 0),
    ],
)
def test_what_is_no_package_json_asks_for_nothing(content, taken, elsewhere):
    found = node_projects({"package.json": content, "scripts/a.js": b""}, ["scripts/a.js"])
    assert {name: each for project in found for name, each in project.dependencies.items()} == taken
    assert sum(len(project.elsewhere) for project in found) == elsewhere
