"""Checker scripts: a script of the skill grades the files of a run by its exit code."""

from pathlib import Path

from skillkit.core.digest import tree_digest
from skillkit.core.disk import real_path
from skillkit.core.models import SkillMetadata
from skillkit.evaluation.behaviour.executor import Transcript
from skillkit.evaluation.behaviour.graders import Grade
from skillkit.evaluation.cases import CaseFile, Check
from skillkit.evaluation.workspace import workspace
from skillkit.scripts.models import Outcome, ScriptRequest
from skillkit.scripts.runners import default_runner

ANSWER = "answer.txt"
"""The file with the answer, next to the files of the run."""
_INTERPRETERS = frozenset({"python", "python3", "bash", "sh", "node"})


def run_checker(check: Check, run: Transcript, skill: SkillMetadata, suite: Path) -> Grade:
    """Run the script named by a check, in the sandbox, on a copy of the files of the run."""
    words = [word for value in check.values for word in value.split()]
    if words and Path(words[0]).name in _INTERPRETERS:
        words = words[1:]
    script = _script(words[0], skill, suite) if words else None
    if script is None:
        return Grade(check, None, "checker not found in the skill")
    files = [CaseFile(path, content=text) for path, text in {**run.files, ANSWER: run.answer}.items()]
    with workspace(files, ()) as folder:
        request = ScriptRequest(
            skill.name,
            skill.base_dir.absolute(),
            tree_digest(skill.base_dir).digest,
            script,
            tuple(word.replace("$WORK", str(folder)) for word in words[1:]) or (str(folder),),
            read_paths=(folder,),
            write_paths=(folder,),
        )
        result = default_runner().run(request)
    if result.outcome is not Outcome.EXITED:
        return Grade(check, None, f"the checker did not run: {result.message or result.outcome.value}")
    said = (result.stdout.data.strip() or result.stderr.data.strip()).decode("utf-8", "replace")[-200:]
    return Grade(check, result.exit_code == int(check.limit or 0), said or f"exit code {result.exit_code}")


def _script(word: str, skill: SkillMetadata, suite: Path) -> str | None:
    """Return the path of the checker within the skill."""
    base = real_path(skill.base_dir)
    for place in (base, suite.parent):
        path = real_path(place / word)
        if path.is_file() and path.is_relative_to(base):
            return path.relative_to(base).as_posix()
    return None
