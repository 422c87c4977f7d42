"""Cases that run a script: the item of `evals/scripts.json`, read and written."""

from collections.abc import Mapping

from skillkit.evaluation.cases import ScriptCall
from skillkit.evaluation.formats.document import mapping_of, text_of, texts_of

_EXIT_KEYS = ("exit_code", "exitCode", "expected_exit_code", "expected_exit", "expect_exit", "returncode")
_PRINTED_KEYS = ("stdout", "stdout_contains", "expected_stdout")


def identity_of(item: Mapping[str, object], number: int) -> str:
    """What a case is called in a report: as its author says, or by its place in the list."""
    named = (item.get(key) for key in ("id", "case_id", "test_id", "name"))
    return next((str(name) for name in named if name not in (None, "")), "") or str(number)


def script_call(item: Mapping[str, object]) -> ScriptCall | None:
    """The script that an item names, and what it expects; None where it is no item of this kind."""
    script = text_of(item, "script")
    if not script or any(text_of(item, key) for key in ("prompt", "query", "question")):
        return None
    arguments = item.get("args", item.get("arguments", []))
    expected = mapping_of(item.get("expect")) or item
    code = next((expected[key] for key in _EXIT_KEYS if key in expected), None)
    printed = next((expected[key] for key in _PRINTED_KEYS if key in expected), None)
    schema = expected.get("schema")
    return ScriptCall(
        script,
        tuple(arguments.split()) if isinstance(arguments, str) else texts_of(arguments),
        code if isinstance(code, int) and not isinstance(code, bool) else None,
        texts_of(printed),
        expected.get("json"),
        mapping_of(schema) if isinstance(schema, Mapping) else None,
        mapping_of(expected.get("produces")),
    )


def not_judged(item: Mapping[str, object]) -> list[str]:
    """What an item expects of a script that nobody looks at."""
    return [key for key in {**item, **mapping_of(item.get("expect"))} if "stderr" in key]
