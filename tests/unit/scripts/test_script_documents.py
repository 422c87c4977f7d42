"""Requests and results as JSON and as pickles: what went in comes out, and nothing else does."""

import json
import pickle
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from skillkit.core.grants import Limits
from skillkit.scripts import Captured, Outcome, ScriptRequest, ScriptResult
from skillkit.scripts.documents import (
    DocumentError,
    request_from_json,
    request_to_json,
    result_from_json,
    result_to_json,
)
from skillkit.scripts.inputs import InputFile
from skillkit.scripts.models import OutputFile
from skillkit.scripts.network.attempts import Attempt
from skillkit.scripts.network.secrets import Secret

TEXT = st.text(max_size=20)
TEXTS = st.lists(TEXT, max_size=3).map(tuple)
PATHS = st.lists(st.sampled_from([Path("/mnt/shared"), Path("/data/a b")]), max_size=2).map(tuple)
BYTES = st.binary(max_size=40)
BASE = Path("/somewhere/only/here")
REQUESTS = st.builds(
    ScriptRequest,
    skill=TEXT,
    base_dir=st.just(BASE),
    digest=TEXT,
    script=TEXT,
    arguments=TEXTS,
    version=st.none() | TEXT,
    limits=st.builds(Limits, timeout=st.floats(0, 1e6), output=st.integers(0, 1 << 40)),
    environment=st.dictionaries(TEXT, TEXT, max_size=3),
    network=st.booleans(),
    hosts=TEXTS,
    private_hosts=TEXTS,
    read_paths=PATHS,
    write_paths=PATHS,
    inputs=st.lists(st.builds(InputFile, name=TEXT, path=st.just(Path("/data/a b"))), max_size=2).map(tuple),
    project=st.none() | st.just(Path("/mnt/project")),
    hidden=TEXTS,
    packages=TEXT,
    secrets=st.lists(st.builds(Secret, name=TEXT, hosts=TEXTS, header=TEXT, value=TEXT), max_size=2).map(
        tuple
    ),
    requires_python=TEXT,
    unsandboxed=st.booleans(),
    source_builds=st.booleans(),
    other_sources=st.booleans(),
    retry_safe=st.booleans(),
)
CAPTURED = st.builds(Captured, head=BYTES, tail=BYTES, total=st.integers(0, 1 << 40))
ATTEMPTS = st.builds(Attempt, host=TEXT, port=st.none() | st.integers(0, 65535), allowed=st.booleans())
RESULTS = st.builds(
    ScriptResult,
    outcome=st.sampled_from(Outcome),
    backend=TEXT,
    exit_code=st.none() | st.integers(0, 255),
    stdout=CAPTURED,
    stderr=CAPTURED,
    duration_ms=st.floats(0, 1e9),
    message=TEXT,
    network=st.lists(ATTEMPTS, max_size=2).map(tuple),
    files=st.lists(
        st.builds(OutputFile, name=TEXT, media_type=TEXT, digest=TEXT, content=BYTES), max_size=2
    ).map(tuple),
    files_left_out=TEXTS,
)


@settings(max_examples=settings.default.max_examples // 2)
@given(REQUESTS)
def test_a_request_survives_its_json_and_its_pickle(request):
    document = request_to_json(request)
    assert request_from_json(document, BASE) == request
    assert pickle.loads(pickle.dumps(request)) == request
    assert str(BASE) not in document.decode()


@settings(max_examples=settings.default.max_examples // 2)
@given(RESULTS)
def test_a_result_survives_its_json_and_its_pickle(result):
    assert result_from_json(result_to_json(result)) == result
    assert pickle.loads(pickle.dumps(result)) == result


def test_a_request_of_defaults_is_plain_data():
    request = ScriptRequest("demo", BASE, "sha256:0", "scripts/x.py", arguments=("\udcff",))
    assert request_from_json(request_to_json(request), BASE) == request
    assert pickle.loads(pickle.dumps(request)) == request
    data = json.loads(request_to_json(request))
    assert data["format"] == "skillkit.script-request/1"
    assert "base_dir" not in data


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"format": "skillkit.script-request/2"}, "this skillkit reads version 1"),
        ({"format": "skillkit.script-result/1"}, "unexpected value in the field 'format'"),
        ({"read_everything": True}, "Unknown field 'read_everything'"),
        ({"base_dir": "/"}, "Unknown field 'base_dir'"),
        ({"network": 1}, "The field 'network'"),
        ({"network": "true"}, "The field 'network'"),
        ({"arguments": ["a", 1]}, r"The field 'arguments\[1\]'"),
        ({"environment": {"A": None}}, r"The field 'environment\.A'"),
        ({"limits": {"timeout": True}}, r"The field 'limits\.timeout'"),
        ({"limits": {"seconds": 1}}, r"Unknown field 'limits\.seconds'"),
        ({"limits": 3}, "'limits.' is not an object"),
    ],
)
def test_a_document_that_says_something_else_is_refused(change, said):
    data = json.loads(request_to_json(ScriptRequest("demo", BASE, "sha256:0", "scripts/x.py")))
    with pytest.raises(DocumentError, match=said):
        request_from_json(json.dumps({**data, **change}).encode(), BASE)


@pytest.mark.parametrize("document", [b"", b"[]", b"\xff", b"[" * 100_000, b'{"format": 1}'])
def test_bytes_that_are_no_document_are_refused(document):
    with pytest.raises(DocumentError, match="Not a skillkit"):
        result_from_json(document)


def test_a_missing_field_without_a_default_is_named():
    data = json.loads(result_to_json(ScriptResult(Outcome.EXITED, "bwrap")))
    del data["outcome"]
    with pytest.raises(DocumentError, match="'outcome' is missing"):
        result_from_json(json.dumps(data).encode())
