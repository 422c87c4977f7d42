"""Script cases: read and write the items of `evals/scripts.json`."""

from collections.abc import Mapping

from skillkit.evaluation.cases import ScriptCall
from skillkit.evaluation.formats.document import mapping_of, text_of, texts_of

_EXIT_KEYS = ("exit_code", "exitCode", "expected_exit_code", "expected_exit", "expect_exit", "returncode")
_PRINTED_KEYS = ("stdout", "stdout_contains", "expected_stdout")


def identity_of(item: Mapping[str, object], otherwise: object) -> str:
    """Return the name of a case in a report: the author's, or its number in the list."""
    named = (item.get(key) for key in ("task_id", "id", "case_id", "test_id", "name"))
    return next((str(name) for name in named if name not in (None, "")), "") or str(otherwise)


def script_call(item: Mapping[str, object]) -> ScriptCall | None:
    """Return the script call and expectations of an item; None for an item of another kind."""
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
    """Return the expectations of an item that are not checked."""
    return [key for key in {**item, **mapping_of(item.get("expect"))} if "stderr" in key]
