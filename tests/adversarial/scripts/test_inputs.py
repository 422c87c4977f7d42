"""The user's files reach a script only by name, read-only, and without what a project folder hides."""

import os
import shutil
from pathlib import Path

import pytest

from skillkit.core.disk import agent_home
from skillkit.scripts import Grants

READ = """
    import os, pathlib, sys
    for path in sys.argv[1:]:
        path = pathlib.Path(path)
        print(path.name, path.read_text())
"""


@pytest.fixture
def files(workshop):
    """A folder of the user's, outside all skills."""
    folder = workshop.folder / "home"
    folder.mkdir(mode=0o755)
    (folder / "data.csv").write_text("1,2")
    (folder / "private.txt").write_text("canary")
    return folder


def test_an_input_is_read_by_its_name_and_by_the_path_that_the_user_knows(workshop, backend, files):
    workshop.skill("demo", read_py=READ)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    path = files / "data.csv"
    for argument in ("/input/table.csv", str(path)):
        answer = tools.script_run("demo", "read", [argument], json=False, inputs={"table.csv": path})
        assert answer["result"] == "table.csv 1,2\n", answer
    assert answer["meta"]["grants"]["inputs"] == {"table.csv": str(path)}


def test_nothing_beside_an_input_is_seen_and_the_input_cannot_be_written(workshop, confining, files):
    workshop.skill(
        "demo",
        try_py=f"""
        import os
        there = os.environ["SKILL_INPUT_DIR"] + "/data.csv"
        for path in ("{files}/private.txt", os.path.dirname(os.path.realpath(there)) + "/private.txt"):
            try:
                print(open(path).read())
            except OSError:
                print("no")
        for mode in ("w", "a", "r+"):
            try:
                open(there, mode)
                print("written")
            except OSError:
                print("no")
        """,
    )
    answer = workshop.tools(sandbox=confining).script_run(
        "demo", "try", json=False, inputs={"data.csv": files / "data.csv"}
    )
    assert answer["result"].split() == ["no"] * 5
    assert (files / "data.csv").read_text() == "1,2"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs scripts as somebody else")
def test_as_root_a_file_that_only_root_may_read_is_handed_over_all_the_same(workshop, files):
    (files / "data.csv").chmod(0o600)
    workshop.skill("demo", read_py=READ)
    answer = workshop.tools(sandbox="bwrap").script_run(
        "demo", "read", ["/input/a"], json=False, inputs={"a": files / "data.csv"}
    )
    assert answer["result"] == "a 1,2\n"


@pytest.mark.parametrize("name", ["", "..", "a/b", "/etc", "a\nb", "x" * 200, "a\u202eb"])
def test_an_input_cannot_be_given_a_name_that_leads_elsewhere(workshop, files, name):
    workshop.skill("demo", read_py=READ)
    answer = workshop.tools().script_run("demo", "read", inputs={name: files / "data.csv"})
    assert answer["error"] == "invalid_arguments"


@pytest.mark.parametrize("path", ["missing", "pipe"])
def test_an_input_that_is_no_file_is_refused(workshop, files, path):
    os.mkfifo(files / "pipe")
    workshop.skill("demo", read_py=READ)
    answer = workshop.tools().script_run("demo", "read", inputs={"a": files / path})
    assert answer["error"] == "invalid_arguments"
    assert path in answer["message"]


def test_an_input_that_is_replaced_by_a_link_after_it_was_named_is_not_followed(workshop, backend, files):
    """The path is real when it is named; a link in its place when it is opened ends the run."""
    workshop.skill("demo", read_py=READ)
    tools = workshop.tools(Grants(unsandboxed=True), sandbox=backend)
    path = files / "data.csv"
    runner = workshop.runners[-1]
    run = runner.run

    def swapped(request):
        path.unlink()
        path.symlink_to(files / "private.txt")
        return run(request)

    runner.run = swapped
    answer = tools.script_run("demo", "read", ["/input/a"], json=False, inputs={"a": path})
    assert answer["error"] == "permission_denied"
    assert "canary" not in str(answer)


@pytest.fixture
def project(workshop):
    folder = workshop.folder / "project"
    shown = ["main.py", "src/app.py", ".git/HEAD", "docs/key.md"]
    hidden = [
        ".env",
        ".env.production",
        "src/.ENV",
        "deploy/server.pem",
        "deploy/id_ed25519",
        ".git/config",
        "vendor/lib/.git/config",
        ".ssh/known_hosts",
        "notes/private.txt",
    ]
    for name in (*shown, *hidden):
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("shown" if name in shown else "canary")
    (folder / "settings").symlink_to(".env")
    (folder / "linked.pem").symlink_to("deploy/plain-name")
    (folder / "deploy" / "plain-name").write_text("canary")
    return folder


WALK = """
    import os, sys
    for folder, _, names in os.walk(sys.argv[1]):
        for name in names:
            path = os.path.join(folder, name)
            try:
                print(os.path.relpath(path, sys.argv[1]), open(path).read())
            except OSError:
                pass
            try:
                open(path, "a")
                print("written")
            except OSError:
                pass
"""


def test_a_project_is_read_without_its_keys_and_never_written(workshop, project):
    workshop.skill("demo", walk_py=WALK)
    grants = Grants(project=project)
    grants = Grants(project=project, hidden=(*grants.hidden, "notes"))
    answer = workshop.tools(grants, sandbox="bwrap").script_run("demo", "walk", [str(project)], json=False)
    seen = dict(line.split(" ", 1) for line in answer["result"].splitlines())
    assert seen == dict.fromkeys(("main.py", "src/app.py", ".git/HEAD", "docs/key.md"), "shown"), answer
    assert answer["meta"]["grants"]["project"] == str(project)


@pytest.mark.this_machine
@pytest.mark.parametrize("sandbox", ["landlock", "none"])
def test_where_nothing_can_be_hidden_a_project_is_refused(workshop, project, sandbox):
    workshop.skill("demo", walk_py=WALK)
    answer = workshop.tools(Grants(project=project, unsandboxed=True), sandbox=sandbox).script_run(
        "demo", "walk"
    )
    assert answer["error"] == "permission_denied"
    assert "cannot hide the keys" in answer["message"]


@pytest.mark.parametrize("folder", ["/", "home", "state"])
def test_a_folder_that_holds_the_users_home_is_no_project(workshop, folder):
    where = {"/": Path("/"), "home": Path.home(), "state": agent_home()}[folder]
    where.mkdir(parents=True, exist_ok=True)
    workshop.skill("demo", walk_py=WALK)
    answer = workshop.tools(Grants(project=where), sandbox="bwrap").script_run("demo", "walk")
    assert answer["error"] == "permission_denied"
    shutil.rmtree(agent_home(), ignore_errors=True)
