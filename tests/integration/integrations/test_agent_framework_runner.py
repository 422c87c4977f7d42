"""Agent Framework's own skills, their scripts run by ours."""

import pytest
from agent_framework import FileSkill, FileSkillScript, SkillFrontmatter
from agent_framework_runner import SandboxedScriptRunner

from skillkit.core.authority import DefaultAuthority
from skillkit.core.grants import Grants
from skillkit.scripts import LocalRunner


@pytest.fixture
def skill(tmp_path):
    tmp_path.chmod(0o755)
    base = tmp_path / "demo"
    (base / "scripts").mkdir(parents=True)
    (base / "SKILL.md").write_text("---\nname: demo\ndescription: Shows\n---\n")
    (base / "scripts" / "tell.py").write_text("import sys; print(sys.argv[1:])")
    (base / "scripts" / "fail.py").write_text("import sys; sys.exit('no luck')")
    return base


@pytest.fixture
def runner(tmp_path):
    local = LocalRunner(tmp_path / "home")
    yield local
    local.close()


async def run(base, script, args, runner, authority=None):
    own = FileSkill(
        frontmatter=SkillFrontmatter(name="demo", description="Shows"), content="", path=str(base)
    )
    path = str(base / "scripts" / script)
    file = FileSkillScript(
        name=script, full_path=path, skill_dir=str(base), runner=SandboxedScriptRunner(runner, authority)
    )
    return await file.run(own, args)


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["a", "b c"], "['a', 'b c']\n"),
        ({"city": "Oslo", "all": True, "none": False}, "['--city', 'Oslo', '--all']\n"),
        (None, "[]\n"),
    ],
)
async def test_a_script_runs_in_the_sandbox(skill, runner, args, said):
    answer = await run(skill, "tell.py", args, runner)
    assert (answer["success"], answer["result"]) == (True, said), answer
    assert answer["meta"]["backend"] in ("bwrap", "landlock")


async def test_what_goes_wrong_is_an_answer(skill, runner):
    failed = await run(skill, "fail.py", [], runner)
    assert (failed["error"], "no luck" in failed["message"]) == ("execution_failed", True)

    class Nobody(DefaultAuthority):
        def grants(self, skill, digest, requester):
            return Grants(run=False, reason="not approved")

    refused = await run(skill, "tell.py", [], runner, Nobody())
    assert (refused["error"], refused["message"]) == ("permission_denied", "not approved")
