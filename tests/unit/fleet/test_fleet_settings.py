"""Addresses, policies and the choice of a runner: what is wrong is said, with the way to put it right."""

import asyncio
import json

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.cluster import FleetError, check_head, parse_address
from skillkit.fleet.engine import _frame, _read_frame
from skillkit.fleet.joining import check_machine
from skillkit.fleet.operations import metrics_text
from skillkit.fleet.policy import Policy, Share, read_policy
from skillkit.fleet.remote import RemoteRunner
from skillkit.fleet.sealing import TenantKey, add_key
from skillkit.scripts import LocalRunner
from skillkit.scripts.runners import default_runner


@pytest.mark.parametrize(
    "address", ["", "ray://", "ray://host", "http://host:6399", "ray://host:x", "ray://h:1/x"]
)
def test_an_address_that_is_none_says_how_to_get_one(address):
    with pytest.raises(ConfigurationError, match="start a head with 'ray start --head --port=6399'"):
        parse_address(address)


def test_the_address_of_a_head_is_a_host_and_a_port():
    assert parse_address("ray://10.0.0.1:6399") == ("10.0.0.1", 6399)


def test_a_head_that_nobody_answers_for_is_an_error_at_once(unused_tcp_port):
    with pytest.raises(FleetError, match="No Ray head at"):
        check_head(f"ray://127.0.0.1:{unused_tcp_port}")


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("ray://host:1", "expected https://HOST:PORT"),
        ("https://", "expected https://HOST:PORT"),
        ("http://gateway.example:1", "in clear"),
    ],
)
def test_the_address_of_a_gateway_is_checked_before_anything_is_sent(url, said):
    with pytest.raises(ConfigurationError, match=said):
        RemoteRunner(url, "a:b:" + "0" * 64)


def test_the_setting_switches_the_runner_and_sends_nothing():
    assert isinstance(default_runner({}), LocalRunner)
    assert isinstance(default_runner({"SKILLKIT_RUNNER": "local"}), LocalRunner)
    runner = default_runner({"SKILLKIT_RUNNER": "https://gateway.example:8713"})
    assert isinstance(runner, RemoteRunner)
    assert default_runner({"SKILLKIT_RUNNER": "https://gateway.example:8713"}) is runner
    for setting, said in (("docker", "neither 'local' nor an address"), ("dask://x:1", "no runner 'dask'")):
        with pytest.raises(ConfigurationError, match=said):
            default_runner({"SKILLKIT_RUNNER": setting})


def test_a_key_is_read_from_the_variable_or_a_private_file(tmp_path, monkeypatch):
    monkeypatch.setenv("AGENT_HOME", str(tmp_path))
    with pytest.raises(ConfigurationError, match="No key file at"):
        TenantKey.read()
    text = "acme:k1:" + "0" * 64
    (tmp_path / "fleet.key").write_text(text + "\n")
    (tmp_path / "fleet.key").chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        TenantKey.read()
    (tmp_path / "fleet.key").chmod(0o600)
    assert TenantKey.read().text == text
    monkeypatch.setenv("SKILLKIT_FLEET_KEY", "other:k1:" + "1" * 64)
    assert TenantKey.read().tenant == "other"
    with pytest.raises(ConfigurationError, match="agent fleet key --tenant"):
        TenantKey.parse("word")


def test_a_readable_token_of_ray_and_a_head_elsewhere_without_tls_are_refused(tmp_path, monkeypatch):
    add_key(tmp_path / "keys")
    monkeypatch.delenv("RAY_USE_TLS", raising=False)
    with pytest.raises(FleetError, match="RAY_USE_TLS=1"):
        check_machine("ray://10.0.0.1:6399", tmp_path, keys=tmp_path / "keys")
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.setenv("RAY_AUTH_TOKEN_PATH", str(tmp_path / "token"))
    (tmp_path / "token").write_text("x")
    (tmp_path / "token").chmod(0o644)
    with pytest.raises(ConfigurationError, match="chmod 600"):
        check_head("ray://127.0.0.1:1")


def test_a_policy_is_read_and_what_is_wrong_in_it_is_named(tmp_path):
    path = tmp_path / "fleet.json"
    assert read_policy(path) == Policy()
    path.write_text(json.dumps({"default": {"weight": 2}, "tenants": {"a": {"rate": 5, "running": None}}}))
    policy = read_policy(path)
    assert policy.share("other") == Share(weight=2)
    assert policy.share("a") == Share(weight=2, rate=5)
    for wrong, said in (
        ({"default": {"wait": 1}}, "Unknown field 'default.wait'"),
        ({"tenant": {}}, "Unknown field 'tenant'"),
        ({"default": {"weight": 0}}, "'weight' must be a number above 0"),
        ({"tenants": {"a": {"waiting": None}}}, "'tenants.a.waiting' has an invalid value"),
        ({"tenants": {"a": {"rate": float("inf")}}}, "'rate' must be a number above 0"),
        ({"dispatchers": 2}, "Unknown field 'dispatchers'"),
        ([], "cannot be used"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(ConfigurationError, match=said):
            read_policy(path)
    path.write_text("{")
    with pytest.raises(ConfigurationError, match="cannot be used"):
        read_policy(path)


def test_a_status_is_metrics_whatever_tenants_are_called():
    worker = {"name": "w", "host": "h", "state": "ready", "slots": 4, "running": 1, "trees": 2}
    tenant = {"waiting": 3, "running": 1, "started": 9, "refused": 0, "weight": 1.0}
    text = metrics_text({"machines": [worker], "tenants": {'a"\n': tenant}})
    assert 'skillkit_fleet_workers{state="ready"} 1' in text
    assert 'skillkit_fleet_tenant_waiting{tenant="a\\"\\n"} 3' in text
    assert 'skillkit_fleet_tenant_started_total{tenant="a\\"\\n"} 9' in text
    assert text.endswith("\n")


async def test_bytes_travel_between_gateway_and_driver():
    stream = asyncio.StreamReader()
    for message in ([1, "call", "worker", b"\0\xff" * 100_000], [2, "value", ["result", b""]], ""):
        stream.feed_data(_frame(message))
    assert await _read_frame(stream) == [1, "call", "worker", b"\0\xff" * 100_000]
    assert await _read_frame(stream) == [2, "value", ["result", b""]]
    assert await _read_frame(stream) == ""
