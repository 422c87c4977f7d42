"""Without its package an integration says which extra to install; without any, skillkit works."""

import json
import shlex
import subprocess
import sys

import pytest

from skillkit.core.extras import pip_install

MODULES = {
    "adk": ("google.adk", "adk"),
    "agent_framework": ("agent_framework", "agent-framework"),
    "anthropic": ("anthropic", "anthropic"),
    "langchain": ("langchain", "langchain"),
    "mcp": ("mcp", "mcp"),
    "openai_agents": ("agents", "openai-agents"),
    "pydantic_ai": ("pydantic_ai", "pydantic-ai"),
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
    assert pip_install(MODULES[module][1]) in messages[module]


@pytest.mark.parametrize("extra", ["agent", *(extra for _, extra in MODULES.values())])
def test_an_extra_is_installed_by_the_names_of_its_packages(extra: str):
    """The name skillkit is another project's on the package index."""
    python, *pip = shlex.split(pip_install(extra))
    assert python == sys.executable
    assert pip[:3] == ["-m", "pip", "install"]
    assert pip[3:]
    assert "skillkit" not in " ".join(pip)
