"""Without its package an integration says which extra to install; without any, skillkit works."""

import json
import subprocess
import sys

import pytest

MODULES = {
    "adk": ("google.adk", "skillkit[adk]"),
    "adk_environment": ("google.adk", "skillkit[adk]"),
    "agent_framework": ("agent_framework", "skillkit[agent-framework]"),
    "anthropic": ("anthropic", "skillkit[anthropic]"),
    "deepagents_backend": ("deepagents", "skillkit[deepagents]"),
    "langchain": ("langchain", "skillkit[langchain]"),
    "mcp": ("mcp", "skillkit[mcp]"),
    "openai_agents": ("agents", "skillkit[openai-agents]"),
    "pydantic_ai": ("pydantic_ai", "skillkit[pydantic-ai]"),
}
PROGRAM = """
import importlib, json, sys
for package in {packages}:
    sys.modules[package] = None
messages = {{}}
for module in {modules}:
    try:
        importlib.import_module("skillkit.integrations." + module)
    except ImportError as error:
        messages[module] = str(error)
import skillkit.integrations.plain
print(json.dumps(messages))
"""


@pytest.fixture(scope="module")
def messages() -> dict[str, str]:
    packages = [package for package, _ in MODULES.values()]
    program = PROGRAM.format(packages=packages, modules=list(MODULES))
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    found: dict[str, str] = json.loads(done.stdout)
    return found


@pytest.mark.parametrize("module", MODULES)
def test_a_missing_package_names_its_extra(module: str, messages: dict[str, str]):
    assert f"pip install '{MODULES[module][1]}'" in messages[module]
