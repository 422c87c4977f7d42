"""Addresses, policies and the choice of a runner: what is wrong is said, with the way to put it right."""

import json

import pytest

from skillkit.core.exceptions import ConfigurationError
from skillkit.fleet.cluster import parse_address
from skillkit.fleet.operations import metrics_text
from skillkit.fleet.policy import Policy, Share, read_policy
from skillkit.fleet.runner import RayRunner
from skillkit.scripts import LocalRunner
from skillkit.scripts.runners import default_runner


@pytest.mark.parametrize(
    "address", ["", "ray://", "ray://host", "http://host:6399", "ray://host:x", "ray://h:1/x"]
)
def test_without_an_address_it_is_said_how_to_get_one(address):
    with pytest.raises(ConfigurationError, match="start a head with 'ray start --head --port=6399'"):
        RayRunner(address)


def test_an_address_is_a_host_and_a_port():
    assert parse_address("ray://10.0.0.1:6399") == "10.0.0.1:6399"


def test_the_setting_switches_the_runner_and_starts_nothing():
    assert isinstance(default_runner({}), LocalRunner)
    assert isinstance(default_runner({"SKILLKIT_RUNNER": "local"}), LocalRunner)
    runner = default_runner({"SKILLKIT_RUNNER": "ray://127.0.0.1:6399"})
    assert isinstance(runner, RayRunner)
    assert default_runner({"SKILLKIT_RUNNER": "ray://127.0.0.1:6399"}) is runner
    for setting, said in (("docker", "neither 'local' nor an address"), ("dask://x:1", "no runner 'dask'")):
        with pytest.raises(ConfigurationError, match=said):
            default_runner({"SKILLKIT_RUNNER": setting})


def test_a_policy_is_read_and_what_is_wrong_in_it_is_named(tmp_path):
    path = tmp_path / "fleet.json"
    assert read_policy(path) == Policy()
    path.write_text(json.dumps({"default": {"weight": 2}, "tenants": {"a": {"rate": 5, "running": None}}}))
    policy = read_policy(path)
    assert policy.share("other") == Share(weight=2)
    assert policy.share("a") == Share(weight=2, rate=5)
    for wrong, said in (
        ({"default": {"wait": 1}}, "unknown field 'wait'"),
        ({"tenant": {}}, "unknown field 'tenant'"),
        ({"default": {"weight": 0}}, "'weight' is a number above 0"),
        ({"tenants": {"a": {"waiting": None}}}, "'waiting' is a number above 0"),
        ({"dispatchers": 0}, "1 to 64"),
        ([], "is wrong"),
    ):
        path.write_text(json.dumps(wrong))
        with pytest.raises(ConfigurationError, match=said):
            read_policy(path)
    path.write_text("{")
    with pytest.raises(ConfigurationError, match="Cannot read"):
        read_policy(path)


def test_a_status_is_metrics_whatever_tenants_are_called():
    worker = {"name": "w", "host": "h", "state": "ready", "slots": 4, "running": 1, "trees": 2}
    tenant = {"waiting": 3, "running": 1, "started": 9, "refused": 0, "weight": 1.0}
    text = metrics_text({"workers": [worker], "tenants": {'a"\n': tenant}})
    assert 'skillkit_fleet_workers{state="ready"} 1' in text
    assert 'skillkit_fleet_tenant_waiting{tenant="a\\"\\n"} 3' in text
    assert 'skillkit_fleet_tenant_started_total{tenant="a\\"\\n"} 9' in text
    assert text.endswith("\n")
