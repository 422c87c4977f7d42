"""What the user said yes to: for exact bytes, in the user's own file, and never more than was named."""

import json
from dataclasses import fields
from pathlib import Path

import pytest

from skillkit.agent.approvals import Approvals, Decision, ScriptQuestion
from skillkit.core.authority import DefaultAuthority, Requester, asking_for
from skillkit.core.digest_memo import tree_digests
from skillkit.core.grants import Grants
from skillkit.core.models import SecretRequest
from skillkit.install.consents import Consent, ConsentFile, ConsentKind, add_parts, project_consent
from skillkit.install.team_policy import TeamAuthority
from skillkit.scripts import ScriptTools

LOCK = "requests==2.32.0 \\\n    --hash=sha256:00\n"
NPM = json.dumps({"": {"packages": {"": {}, "node_modules/left-pad": {"version": "1.3.0"}}}})


@pytest.fixture
def home(workshop):
    return workshop.folder / ".agent"


def scripts(workshop, home, **policy):
    """The calls as the program makes them: approvals in the user's file, a team's policy around them."""
    manager = workshop.manager()
    approvals = Approvals(DefaultAuthority(), ConsentFile(home))
    if policy:
        home.mkdir(exist_ok=True)
        (home / "policy.json").write_text(json.dumps({"version": 1, **policy}))
        (home / "policy.json").chmod(0o600)
    authority = TeamAuthority(approvals, home, system=home / "none")
    return ScriptTools(manager, workshop.tools()._runner, authority), approvals


def approve(workshop, home, *kinds, skill="demo"):
    base = workshop.folder / skill
    digest = tree_digests.with_links(base).digest
    ConsentFile(home).grant(Consent(ConsentKind.RUN, digest, skill), *(kind(digest) for kind in kinds))
    return digest


def test_the_question_names_every_part_that_a_grant_can_have():
    grants = Grants(
        env=("HOME_KEY",),
        hosts=("api.example.com",),
        private_hosts=("office:8443",),
        secrets=(SecretRequest("API_KEY", ("api.example.com",)),),
        read_paths=(Path("/data/read"),),
        write_paths=(Path("/data/write"),),
        project=Path("/work/project"),
        packages=LOCK,
        node_packages=NPM,
    )
    question = ScriptQuestion(None, "run", (), "sha256:0", grants, (Path("/home/me/report.pdf"),))
    said = "\n".join(question.parts)
    for part in (
        *("HOME_KEY", "api.example.com", "office:8443", "API_KEY", "/data/read", "/data/write"),
        *("/work/project", "requests", "left-pad@1.3.0", "/home/me/report.pdf"),
    ):
        assert part in said
    # A field that is added to Grants has to be named to the user, or is said here to be none of his concern.
    named = {"env", "hosts", "private_hosts", "secrets", "read_paths", "write_paths", "project", "packages"}
    silent = {
        "run",
        "reason",
        "withheld_env",
        "hidden",
        "unsandboxed",
        "source_builds",
        "other_sources",
        "limits",
    }
    assert {field.name for field in fields(Grants)} == named | silent | {"network", "node_packages", "limits"}
    assert "the whole network" in ScriptQuestion(None, "run", (), "", Grants(network=True)).parts[0]


@pytest.mark.parametrize(
    "change",
    [
        lambda base: (base / "scripts" / "tell.py").write_text("print('other')"),
        lambda base: (base / "scripts" / "tell.py").chmod(0o755),
        lambda base: (base / "scripts" / "json.py").write_text("print('other')"),
        lambda base: (base / "link").symlink_to("/etc/passwd"),
        lambda base: (base / "SKILL.md").write_text(
            "---\nname: demo\ndescription: Does demo\npermissions:\n  network: true\n---\n"
        ),
    ],
)
def test_any_other_byte_mode_or_link_is_a_new_question(workshop, home, change):
    base = workshop.skill(tell_py="print('approved')")
    approve(workshop, home, lambda digest: Consent(ConsentKind.HOST, digest, "demo", "a.example.com"))
    tools, _ = scripts(workshop, home)
    assert tools.script_run("demo", "tell", json=False)["result"] == "approved\n"
    change(base)
    tools, approvals = scripts(workshop, home)
    refused = tools.script_run("demo", "tell", json=False)
    assert refused["error"] == "permission_denied"
    assert "agent config approve demo" in refused["message"]
    digest = tree_digests.with_links(base).digest
    assert add_parts(Grants(), digest, approvals.consents) == Grants()


def test_a_script_can_write_neither_consents_nor_the_policy_nor_secrets(workshop, home, confining):
    workshop.skill(
        tell_py=f"""
        import os
        for name in ("consents.json", "policy.json", "secrets.json", "x"):
            for path in (os.path.join({str(home)!r}, name), os.path.expanduser("~/.agent/" + name)):
                try:
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    open(path, "w").write("forged")
                except OSError:
                    pass
        print("tried")
        """
    )
    approve(workshop, home)
    before = {path: path.read_bytes() for path in home.iterdir() if path.is_file()}
    tools = ScriptTools(
        workshop.manager(),
        workshop.tools(sandbox=confining)._runner,
        Approvals(DefaultAuthority(), ConsentFile(home)),
    )
    assert tools.script_run("demo", "tell", json=False)["result"] == "tried\n"
    assert {path: path.read_bytes() for path in home.iterdir() if path.is_file()} == before


def test_consents_that_a_skill_or_a_project_brings_along_count_for_nothing(workshop, home, monkeypatch):
    base = workshop.skill(tell_py="print('ran')")
    digest = tree_digests.with_links(base).digest
    forged = {"version": 1, "consents": [{"kind": "run", "digest": digest, "skill": "demo"}]}
    project = workshop.folder / "project"
    for folder in (project / ".agent", project, workshop.folder / ".claude"):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "consents.json").write_text(json.dumps(forged))
    monkeypatch.chdir(project)
    tools, _ = scripts(workshop, home)
    assert tools.script_run("demo", "tell", json=False)["error"] == "permission_denied"


def test_a_yes_for_one_conversation_or_digest_is_none_for_another(workshop, home):
    workshop.skill(tell_py="print('ran')")
    workshop.skill("other", tell_py="print('ran')")
    other = approve(
        workshop,
        home,
        lambda digest: Consent(ConsentKind.PACKAGES, digest, "demo", detail=LOCK),
        skill="other",
    )
    tools, approvals = scripts(workshop, home)
    skill = workshop.manager().get_skill("demo")
    digest = tree_digests.with_links(skill.base_dir).digest
    assert digest != other
    assert approvals.offered(skill, digest).packages == ""
    with asking_for(Requester("agent", "one")):
        approvals.decide(ScriptQuestion(skill, "tell", (), digest), Decision.SESSION)
        assert tools.script_run("demo", "tell", json=False)["success"]
    with asking_for(Requester("agent", "two")):
        assert not tools.script_run("demo", "tell", json=False)["success"]


def test_the_policy_of_a_team_outranks_every_yes(workshop, home, monkeypatch):
    header = "permissions:\n  hosts: [a.example.com, b.example.com]"
    workshop.skill(header=header, tell_py="print('ran')")
    approve(workshop, home, lambda digest: Consent(ConsentKind.HOST, digest, "demo", "c.example.com"))
    tools, _ = scripts(workshop, home)
    given = tools.script_run("demo", "tell", json=False)["meta"]["grants"]["hosts"]
    assert sorted(given) == ["a.example.com", "b.example.com", "c.example.com"]
    tools, _ = scripts(workshop, home, deny=[{"host": "*.example.com"}])
    assert tools.script_run("demo", "tell", json=False)["meta"]["grants"]["hosts"] == []
    tools, _ = scripts(workshop, home, allow=[{"host": "b.example.com"}])
    assert tools.script_run("demo", "tell", json=False)["meta"]["grants"]["hosts"] == ["b.example.com"]
    tools, _ = scripts(workshop, home, deny=[{"skill": "DEMO"}])
    assert tools.script_run("demo", "tell", json=False)["error"] == "permission_denied"
    (home / "policy.json").chmod(0o666)
    tools = scripts(workshop, home)[0]
    assert tools.script_run("demo", "tell", json=False)["error"] == "permission_denied"


def test_a_project_is_read_only_from_within_it_and_hides_what_the_user_listed(workshop, home, monkeypatch):
    workshop.skill(
        tell_py="""
        import os, sys
        def read(name):
            try:
                return open(os.path.join(sys.argv[1], name)).read()
            except OSError as error:
                return type(error).__name__
        print([read(name) for name in ("plan.txt", "salaries.csv", ".env", ".git/config")])
        """
    )
    project = workshop.folder / "project"
    (project / ".git").mkdir(parents=True)
    for name in ("plan.txt", "salaries.csv", ".env", ".git/config"):
        (project / name).write_text(name)
    approve(workshop, home, lambda digest: project_consent("demo", digest, project, ["salaries.*"]))
    monkeypatch.chdir(project)
    read = scripts(workshop, home)[0].script_run("demo", "tell", [str(project)], json=False)
    assert read["result"].count("PermissionError") == 3, read
    assert "'plan.txt'" in read["result"]
    monkeypatch.chdir(workshop.folder)
    elsewhere = scripts(workshop, home)[0].script_run("demo", "tell", [str(project)], json=False)
    assert elsewhere["result"].count("Error") == 4
    assert "project" not in elsewhere["meta"]["grants"]


def test_a_project_that_was_replaced_since_the_yes_is_not_shown(workshop, home, monkeypatch):
    workshop.skill(tell_py="import os, sys\nprint(os.listdir(sys.argv[1]))")
    project, private = workshop.folder / "project", workshop.folder / "private"
    for folder in (project, private):
        folder.mkdir()
        (folder / f"in-{folder.name}").write_text("x")
    approve(workshop, home, lambda digest: project_consent("demo", digest, project, []))
    monkeypatch.chdir(project)
    tools = scripts(workshop, home)[0]
    assert "in-project" in tools.script_run("demo", "tell", [str(project)], json=False)["result"]
    project.rename(workshop.folder / "moved")
    project.symlink_to(private)
    monkeypatch.chdir(project)
    answer = scripts(workshop, home)[0].script_run("demo", "tell", [str(project)], json=False)
    assert not answer["success"]
    assert "in-private" not in json.dumps(answer)


@pytest.mark.parametrize(
    "argument", ["../private/key.txt", "a/../../private/key.txt", "link.txt", "./link.txt"]
)
def test_no_argument_leads_out_of_the_project(workshop, home, monkeypatch, argument):
    workshop.skill(tell_py="import sys\nprint(open(sys.argv[1]).read())")
    project, private = workshop.folder / "project", workshop.folder / "private"
    for folder in (project, private):
        folder.mkdir()
    (private / "key.txt").write_text("private bytes")
    (project / "link.txt").symlink_to(private / "key.txt")
    approve(workshop, home, lambda digest: project_consent("demo", digest, project, []))
    monkeypatch.chdir(project)
    answer = scripts(workshop, home)[0].script_run("demo", "tell", [argument], json=False)
    assert answer["error"] == "execution_failed"
    assert "private bytes" not in json.dumps(answer)


def test_what_a_model_names_alone_grants_no_folder(workshop, home, monkeypatch):
    workshop.skill(tell_py="import sys\nprint(open(sys.argv[1]).read())")
    project = workshop.folder / "project"
    project.mkdir()
    (project / "plan.txt").write_text("the plan")
    digest = approve(workshop, home)
    monkeypatch.chdir(project)
    tools, approvals = scripts(workshop, home)
    skill = workshop.manager().get_skill("demo")
    question = approvals.question(skill, "tell", ["./plan.txt"], digest, folders=True)
    assert question.project == project
    answer = tools.script_run("demo", "tell", ["./plan.txt"], json=False)
    assert answer["error"] == "execution_failed"
    assert answer["cause"] == "unseen_file"
    with asking_for(Requester("agent", "one")):
        approvals.decide(question, Decision.SESSION)
        assert tools.script_run("demo", "tell", ["./plan.txt"], json=False)["result"] == "the plan\n"
    with asking_for(Requester("agent", "two")):
        assert not tools.script_run("demo", "tell", ["./plan.txt"], json=False)["success"]
