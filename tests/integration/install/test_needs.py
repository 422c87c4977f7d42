"""Skills that need each other: told to use in the text or declared, they come together and are remembered."""

from pathlib import Path

import pytest
from installing import Person
from skill_repositories import Repository, skill_text

from skillkit.core.manager import SkillManager
from skillkit.install.installer import SkillInstaller
from skillkit.install.needs import inferred_needs


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("Use the `test-first` skill.", True),
        ("1. Always run `/test-first` before the fix.", True),
        ("REQUIRED SUB-SKILL: use `test-first`.", True),
        ("If it is missing, invoke `tools:test-first` first.", True),
        ("**Invoke `Skill(tools:test-first)`** -- then go on", True),
        ("When all steps pass, automatically proceed to\n`test-first` now - do not ask.", True),
        ("This skill depends on [test-first](../test-first/SKILL.md).", True),
        ("## Skill Stack\n\n- `test-first` when the fix needs coverage", True),
        ("## Related Skills\n\n- Use the `test-first` skill.", False),
        ("## When to use\n\n- For tests use `test-first` instead.", False),
        ("For tests, use `test-first`.", False),
        ("Do not use the `test-first` skill.", False),
        ("**Never:**\n\n- Invoke `test-first` from this skill", False),
        ("Load the `test-first` skill for more about that.", False),
        ("See `test-first`.", False),
        ("Install what is required by the `/test-first` workflow.", False),
        ("```\nUse the `test-first` skill.\n```", False),
        ("Use test-first-runner to go on.", False),
        ("Use `test-first` when the user has one failing test.", False),
        ("- Does NOT write tests (delegates to test-first)", False),
        ("| No tests yet | Use test-first first |", False),
        ("> A) Run /test-first first — then come back", False),
        ('Say: "All done. Run `/test-first`."', False),
        ("Run `/test-first` to write what is missing.", False),
        ("Run `test-first login` and go on.", False),
        ("Run `test-first` first if needed.", False),
        ("This skill composes `test-first` and the linter.", True),
        ("1. Review the diff via the `test-first` skill.", True),
        ('```\nTask(subagent_type="tools:test-first")\n```', True),
        ('Then call Skill(skill: "tools:test-first").', True),
        ("## スキルスタック\n\n- `test-first` を使用", True),
        ("If the tests are missing, run `test-first` first.", True),
        ("If the failure is not understood by then, use `test-first`.", False),
        ("If the design is open, run `test-first`.", False),
        ("Use `test-first`.", False),
        ('```\nrender(\n    data=recipe,\n    skill="test-first",\n)\n```', False),
        ('```\nSkill(\n  skill: "tools:test-first",\n)\n```', True),
        ("Changes require `test-first`-backed proof.", False),
        ("> - Tests are not written here. Run `/test-first` in the project.", False),
        ("This depends on test-first:runner for its tests.", False),
        ("Run /test-first:runner now.", False),
        ("**No tests yet?**\n\n- Invoke `test-first`.", False),
        ("- Nothing is there:\n\n  > No tests yet. Run `/test-first` first.", False),
        ("> **Prerequisites:** Run `test-first` first.", True),
        ("- Fields with tests (via the `test-first` skill).", False),
        ('```\n## Agents (optional)\nTask(subagent_type="test-first")\n```', False),
        ('If there are none, report: "No tests found. Run test-first first." and stop.', False),
        ("ERROR with `No tests yet. Run /test-first first.` and stop.", False),
        ("- refuse and suggest:\n  - Commit first, or\n  - Use the `test-first` skill", False),
        ("1. Choose:\n   - one\n2. Use the `test-first` skill.", True),
        ("Example: the user says a test fails:\n\n- First: dispatch to `test-first`", False),
        ("## Scope boundaries\n\n- Run `test-first` before a rewrite.", False),
        ("Use `test-first` first when the plan is open.", False),
        ("Choose by what the step requires - see `test-first`.", False),
        ("The plan is ready for work via the `test-first` skill.", False),
        ("Load `test-first` for the full discipline.", False),
        ("Load `test-first` for guidance.", False),
        ('On selection: Option 1 is `Skill(skill: "test-first")`.', False),
        ("- **Old code** — has no tests. Use the `test-first` skill.", False),
        ("Follow test-first best practices.", False),
        ("A change requires explicit approval, `test-first` for the code.", False),
        ("Requires bash and the `test-first` skill.", True),
        ("Write each test per the `test-first` skill.", True),
        ("Use `test-first` only when a refactor has risk.", False),
        ("Suggest using the `test-first` skill.", False),
        ("Tell the user to run `test-first` first.", False),
        ("Note: For tests, run `test-first` first.", False),
        ("Are there no tests yet? Use the `test-first` skill.", False),
        ("- Requires `test-first` on PATH", False),
        ("Missing required tests route to `test-first`.", False),
        ("`runner` (which delegates to `test-first`) does that.", False),
        ("Plan with `/plan` → `/test-first` → `/ship`.", False),
        ("## Composes With\n\n- `test-first` for tests", False),
        ("Apply the [Test-First Gate](references/gates.md).", False),
        ('- **Recommendation:** invoke it (skill: "test-first")', False),
        ("- ❌ Write tests (use test-first first)", False),
        ("The `review` stage gates on a critic, which requires the `test-first` CLI.", False),
        ("Requires `test-first` >= 0.4.9.", False),
        ("Full runs require explicit `/tools:test-first` invocation.", False),
        ("This skill requires the `test-first` skill.", True),
        ("- **Phase 3 must invoke `/tools:test-first`.** Look for it in the list of calls.", False),
        ("You must invoke `test-first` before the fix.", True),
        ("A service over several regions. Builds on [[test-first]].", False),
        ("The service depends on `test-first`.", False),
        ("- **Category** (required): the class from test-first (logic, state)", False),
        ("`plan` (or `spec`, which composes `/other` and `/test-first`) decides that itself.", False),
        ("Consumers: `redirects` (feeds what it finds to build them), `test-first` (plans).", False),
        ("Feed the results to `test-first`.", True),
        ("| `fix` | Acts on what is found. Run `/test-first` first, then go on. |", False),
        ("## Troubleshooting\n\n### No window\n\n1. Use the `test-first` skill.", False),
        ("1. Open a window\n2. Or use the test-first skill first to make one:", False),
        ("## Test Scenarios\n\n### Scenario 1: Add one\n\n- Delegates to test-first for the setup", False),
        ("## Notes\n\n- Run `/test-first` once the import is done.", False),
        ("- **Integration**: Run `test-first` once it is there.", False),
        ("Run `test-first` after the merge.", False),
        ("### Are you about to commit?\n\nInvoke the test-first skill.", False),
        ("Stop. Invoke the test-first skill (it invokes this skill by itself).", False),
        ("## Audit (if there is a page)\n\nAfter that, run `/test-first` on it.", False),
        ("**Audit** — when the user asks for one. Invoke the `test-first` skill.", False),
        ("Use the test-first skill to add tabs when there are too many panes.", False),
        ("Based on user selection:\n\n- **Test**: Invoke `/test-first`", False),
        ("### Based on the choice\n\n- **Test**: Invoke `/test-first`", False),
        ('**AskUserQuestion**: go on?\n\n- **Test**: call `Skill({ skill: "test-first" })`', False),
        ('If one is open: **Return to the start.** Use the Skill tool: `skill: "test-first"`.', False),
        ("4. If it is missing, abort with a suggestion to run `/test-first` first.", False),
        ("Blockers (candidates without tests → run `test-first` first) are named.", False),
        ("## Output format\n\n### List\n\n- [ ] Scenarios (run `/test-first` first if not done)", False),
        ("````\n```\nInvoke `test-first`.\n```\n````", False),
        ("```\n```text\nInvoke `test-first`.\n```", False),
        ("````\n```\n````\nInvoke `test-first`.", True),
        ("## Which Skill to Use When\n\n`test-first` and `other` call the same tools.", False),
        ("It composes directly with `other` and `test-first` outputs.", False),
        ('See `Skill(skill="tools:test-first")` for the whole sequence.', False),
        ('## How to Invoke\n\n```\n# one: for tests\nSkill(skill="test-first")\n```', False),
        ("- [ ] Tests are handled per the `test-first` skill, not duplicated here", False),
        ("## Collaboration\n\n- Invoke `test-first` for what was chosen.", False),
        ("### For public projects\n\nInvoke the `test-first` skill.", False),
        ("### For each change\n\nInvoke the `test-first` skill.", True),
        ("Invoke `test-first` or `other`, by scope.", False),
        ("Confirm that tests exist (or run `/test-first` first).", False),
        ("Invoke `test-first` for this option only.", False),
        ("For failures — delegate to the `test-first` skill.", False),
        ("- **Run `test-first` first** where tests are broken.", False),
        ("**`other`** — for many changes at once. Composes `test-first`.", False),
        ("Tests are named by their case (per the `test-first` skill's table).", False),
        ("1. Use `x` to find the cause\n2. Use the `test-first` skill to mend it", False),
        ("1. Say what is wrong\n2. Use the `test-first` skill to mend it", True),
        ("1. Use `x` to find the cause\n\nThen use the `test-first` skill.", True),
        ("Run the `/test-first` command (or look at the files).", False),
        ("Sign in (as the README says per the `test-first` skill).", False),
        ("**Deep dives delegate to `test-first`. This is a first look.**", False),
        ("Once that is confirmed, delegate to `test-first`.", True),
        ("- Should be usually handled via the `test-first` skill.", False),
        ("## Best Practices\n\n1. **Safety**: Invoke `test-first` before the change", False),
        ("It says how far a change reaches and whether to invoke `test-first`.", False),
        ("<example>\nApply: delegate to the test-first skill\n</example>", False),
        ('Use the Agent tool with `subagent_type: "other"` or `subagent_type: "test-first"`.', False),
        ("**If yes:**\n\n- **REQUIRED SUB-SKILL:** Use `test-first`", False),
        ("**If tests are missing:**\n\n- Invoke `test-first`", True),
        ("**Use the `test-first` skill** for names and layout.", False),
        ("Invoke `test-first` on new files only.", False),
        ("### Audit (old code only)\n\n- Invoke `test-first`", False),
        ("- For naming: invoke `test-first` first", False),
        ("## Skills Used\n\n- `test-first` — not invoked by this skill; it stops and says so", False),
        ("**Ready:** Fields of status enable runs via the `test-first` skill.", False),
        ("- Only with `--tests`: delegate to `/test-first`", False),
        ("Not for a rewrite. Invoke `test-first` before there is code.", False),
        ("Do not use this skill to design. Run `test-first` before the code exists.", False),
        ("After this skill is done, run `test-first`.", False),
        ("After the build is done, run `test-first`.", True),
        ("Invoke `test-first` for daily work once the move is complete.", False),
        ("Then proceed to `test-first` with the list.", False),
        ("Invoke `other` on it. This will:\n\n- Read the list\n- Run `/test-first` on its own", False),
        ("- The parts for reviewers → other (composes `test-first` for its forms)", False),
        ("It composes the checks from `test-first` into one chain.", False),
        ("The choices it delegates to are tried one layer in, in `test-first`.", False),
        ("Delegates to `test-first`. If somebody asks, tell them: run it.", False),
        ("Feed the lessons to `test-first`.", False),
        ("If a part is missing, direct the user to run `/test-first` first.", False),
        ("Run `test-first` first if the aim is still open.", False),
        ("Run `test-first` first if there are no tests.", True),
        ("If pages change: read them (or the base if missing) and load `test-first` before the edit.", False),
        ("What a review finds is recorded via the `test-first` skill.", False),
        ("Load `test-first` for old code; load `other` for the rest.", False),
        ("## Step 2: tests\n\nLoad `test-first` for the names.", True),
        ("## Skills to Invoke\n\nYou can use these:\n\n- `test-first`", False),
        ("## Skills to Invoke\n\nIn this order:\n\n- `test-first`", True),
        ("## Scope Constraints\n\n- Delegates to `test-first` for tests.", False),
        ("This skill delegates to the `test-first` runtime.", False),
        ("If the others have not run the `test-first` skill first, run the linter.", False),
        ("**Tests (optional, advised).** Invoke the `test-first` skill.", False),
        ("Required: the `test-first` parameter must be set.", False),
    ],
)
def test_what_a_text_tells_to_use_is_told_from_what_it_only_names(text: str, needed: bool) -> None:
    body = f"---\nname: x\ndescription: d\n---\n\n{text}\n"
    found = inferred_needs(body, ["test-first"], own="x")
    assert [need.name for need in found] == (["test-first"] if needed else [])


def test_an_agent_that_clients_bring_along_is_no_sibling_of_that_name() -> None:
    call = '---\nname: x\ndescription: d\n---\n\n```\nTask(subagent_type="Explore")\n```\n'
    assert inferred_needs(call, ["explore"]) == []
    assert inferred_needs(call.replace("Explore", "explore-code"), ["explore-code"]) != []


@pytest.mark.parametrize(
    ("text", "needed"),
    [
        ("Always call `discover` first to see what there is.", False),
        ("Run `discover` and go on.", False),
        ("Run `/discover` and go on.", True),
        ("Run the `discover` skill first.", True),
        ("Invoke `discover` for what there is.", True),
    ],
)
def test_one_word_in_code_after_call_or_run_may_be_a_function_or_a_program(text: str, needed: bool) -> None:
    found = inferred_needs(text, ["discover"])
    assert [need.name for need in found] == (["discover"] if needed else [])


@pytest.fixture
def siblings(repository: Repository) -> Repository:
    repository.commit(
        {
            "skills/fix-bug/SKILL.md": skill_text("fix-bug", "Use the `test-first` skill."),
            "skills/test-first/SKILL.md": skill_text("test-first", requires="[run-tests]"),
            "skills/run-tests/SKILL.md": skill_text("run-tests"),
            "skills/other/SKILL.md": skill_text("other", "## See also\n\n- `fix-bug`"),
        }
    )
    return repository


def test_what_a_skill_needs_comes_along_under_one_consent_with_the_reason(
    installer: SkillInstaller, siblings: Repository, person: Person
) -> None:
    installed = installer.add(siblings.url, skills=["fix-bug"])
    assert {skill.name: skill.came_for for skill in installed} == {
        "fix-bug": (),
        "test-first": ("fix-bug",),
        "run-tests": ("test-first",),
    }
    assert len({skill.revision for skill in installed}) == 1
    [asked] = person.asked
    notes = {offer.name: offer.notes for offer in asked.offers}
    assert notes["test-first"] == ("needed by 'fix-bug': “Use the `test-first` skill.”",)
    assert notes["run-tests"] == ("needed by 'test-first': its header requires it",)
    installer.remove("test-first")
    assert "needed by fix-bug" in person.last.offers[0].notes
    assert "'run-tests' came for it and nothing else needs that" in person.last.offers[0].notes


def test_what_is_there_is_not_fetched_again_and_alone_only_names_it(
    installer: SkillInstaller, siblings: Repository, person: Person
) -> None:
    installed = installer.add(siblings.url, skills=["fix-bug"], alone=True)
    assert [skill.name for skill in installed] == ["fix-bug"]
    assert person.last.offers[0].notes[0].startswith("needs 'test-first', which is not here")
    installer.add(siblings.url, skills=["run-tests"])
    assert [skill.name for skill in installer.add(siblings.url, path="skills/test-first")] == ["test-first"]
    assert installer.registry.get("fix-bug").needs == ("test-first",)


def test_an_unmet_need_keeps_a_skill_out_of_use_and_says_why(
    installer: SkillInstaller, siblings: Repository, home: Path
) -> None:
    installer.add(siblings.url, skills=["test-first"], alone=True)
    manager = SkillManager(project_skill_dir=home / "skills", anthropic_config_dir="")
    manager.discover()
    refusal = manager.refusal(manager.get_skill("test-first"))
    assert refusal is not None
    assert "the skill 'run-tests', which is not here" in refusal.reason
    installer.add(siblings.url, skills=["run-tests"])
    manager.refresh()
    assert manager.refusal(manager.get_skill("test-first")) is None
