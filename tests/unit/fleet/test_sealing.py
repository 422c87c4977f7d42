"""Sealed documents: read and made by holders of a key only, each used once, by the worker it is for."""

import dataclasses
import time

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.sealing import FleetKeys, Label, RequestGuard, SealError, TenantKey, add_key

LABEL = Label(run="r1", tenant="acme", digest="sha256:0")
SENT = dataclasses.replace(LABEL, worker="w1")
SECRET = b'{"environment": {"KEY": "hunter2"}}'


@pytest.fixture
def path(tmp_path):
    add_key(tmp_path / "keys")
    return tmp_path / "keys"


def test_what_was_sealed_is_opened_and_is_not_readable_in_between(path):
    sealed = FleetKeys.read(path).seal(LABEL, SECRET)
    assert b"hunter2" not in sealed
    label, content = FleetKeys.read(path).open(sealed)
    assert content == SECRET
    assert dataclasses.replace(label, issued=0.0, id="") == LABEL


@pytest.mark.parametrize("word", ["r1", "sha256:0", "request"])
def test_no_word_of_the_label_can_be_changed(path, word):
    keys = FleetKeys.read(path)
    sealed = keys.seal(LABEL, SECRET)
    with pytest.raises(SealError, match="altered"):
        keys.open(sealed.replace(word.encode(), b"x" * len(word), 1))


@pytest.mark.parametrize("fields", [{"keep": "x"}, {"run": 7}, {"digest": []}])
def test_a_label_of_other_types_is_refused_whoever_sealed_it(path, fields):
    keys = FleetKeys.read(path)
    with pytest.raises(SealError):
        keys.open(keys.seal(dataclasses.replace(LABEL, **fields), SECRET))


def test_no_byte_can_be_changed_and_none_left_out(path):
    keys = FleetKeys.read(path)
    sealed = keys.seal(LABEL, SECRET)
    for position in range(len(sealed)):
        with pytest.raises(SealError):
            keys.open(sealed[:position] + bytes([sealed[position] ^ 1]) + sealed[position + 1 :])
    for size in (0, 3, 10, len(sealed) - 1):
        with pytest.raises(SealError):
            keys.open(sealed[:size])


def sealed_for(keys, **fields):
    return keys.seal(dataclasses.replace(SENT, **fields), SECRET)


def test_a_request_is_admitted_once_and_only_where_it_is_for(path):
    keys = FleetKeys.read(path)
    guard = RequestGuard(keys, "w1")
    sealed = sealed_for(keys)
    assert guard.admit(sealed)[1] == SECRET
    for wrong, said in (
        (sealed, "used before"),
        (sealed_for(keys, worker="w2"), "another worker"),
        (sealed_for(keys, kind="result"), "another worker"),
        (keys.seal(LABEL, SECRET), "another worker"),
    ):
        with pytest.raises(SealError, match=said):
            guard.admit(wrong)


def test_a_barred_request_is_never_admitted(path):
    keys = FleetKeys.read(path)
    guard, sealed = RequestGuard(keys, "w1"), sealed_for(keys, id="barred")
    guard.bar("barred")
    with pytest.raises(SealError, match="used before"):
        guard.admit(sealed)


def test_an_old_request_is_refused_while_the_memory_of_used_ones_ends(path):
    keys = FleetKeys.read(path)
    now = [time.time()]
    guard, first = RequestGuard(keys, "w1", lambda: now[0]), sealed_for(keys)
    guard.admit(first)
    for late in (3601, 3600, 3600):
        now[0] += late
        with pytest.raises(SealError, match="older than 3600 s"):
            guard.admit(first)
        guard.bar(f"other-{now[0]}")
    assert keys.open(first)[0].id not in guard._seen


def test_a_tenants_key_opens_and_proves_nothing_of_another_tenant(path):
    keys = FleetKeys.read(path)
    mine, other = keys.tenant("mine"), keys.tenant("other")
    sealed = other.seal(Label("r", "mine", "d"), SECRET)
    with pytest.raises(SealError, match="another key"):
        mine.open(sealed)
    assert keys.open(sealed)[0].tenant == "other"
    forged = TenantKey("other", mine.name, mine.secret)
    with pytest.raises(SealError, match="altered"):
        keys.open(forged.seal(Label("r", "other", "d"), SECRET))
    assert keys.tenant_of(mine.token) == "mine"
    assert [keys.tenant_of(token) for token in (forged.token, mine.text, "", "a:b:c")] == [None] * 4


def test_keys_rotate_without_a_moment_at_which_nothing_can_be_opened(path):
    before = FleetKeys.read(path)
    old = before.seal(LABEL, SECRET)
    add_key(path)
    both = FleetKeys.read(path)
    assert both.open(old)[1] == SECRET
    new = both.seal(LABEL, SECRET)
    with pytest.raises(SealError, match="unknown or revoked"):
        before.open(new)
    path.write_text(path.read_text().splitlines()[0])
    after = FleetKeys.read(path)
    assert after.open(new)[1] == SECRET
    with pytest.raises(SealError, match="unknown or revoked key"):
        after.open(old)


def test_a_missing_an_open_and_a_wrong_key_file_are_told_apart(path):
    with pytest.raises(ConfigurationError, match="agent fleet key"):
        FleetKeys.read(path.with_name("absent"))
    path.chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        FleetKeys.read(path)
    path.chmod(0o600)
    path.write_text("word\n")
    with pytest.raises(ConfigurationError, match="line 1: not 'NAME:64"):
        FleetKeys.read(path)
    path.write_text("")
    with pytest.raises(ConfigurationError, match="at least one key"):
        FleetKeys.read(path)


def test_a_document_of_a_clock_that_is_ahead_is_remembered_as_long_as_it_is_valid(path):
    keys = FleetKeys.read(path)
    first, second = sealed_for(keys), sealed_for(keys)
    issued = keys.open(first)[0].issued
    now = [issued - 3590]
    guard = RequestGuard(keys, "w1", lambda: now[0])
    guard.admit(first)
    now[0] = issued + 3590
    guard.admit(second)  # forgets what is too old
    with pytest.raises(SealError, match="used before"):
        guard.admit(first)
