"""A wheel of somebody else adds a provider, a sandbox and a kind of source; each is used by its name."""

import json
import os
import site
import subprocess
import sys
import venv
from pathlib import Path

import pytest
from openai_server import OpenAIServer, Say
from program import clean_environment

PROJECT = """\
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"

[project]
name = "agent-extras"
version = "1.0"

[project.entry-points."skillkit.providers"]
parrot = "agent_extras:ParrotProvider"

[project.entry-points."skillkit.sandboxes"]
polite = "agent_extras:PoliteBubblewrap"

[project.entry-points."skillkit.sources"]
drawer = "agent_extras:DrawerSource"
"""
MODULE = '''
import os
from dataclasses import dataclass, replace
from pathlib import Path
from typing import ClassVar

from skillkit.agent.models.openai import completions_client
from skillkit.agent.models.provider import ChatProvider
from skillkit.install.sources.folder import FolderSource
from skillkit.scripts.sandbox.bubblewrap import Bubblewrap


class ParrotProvider(ChatProvider):
    name: ClassVar[str] = "parrot"
    key: ClassVar[str | None] = "PARROT_API_KEY"

    @property
    def model(self):
        return self.settings.model or "parrot-1"

    def problem(self):
        return self.missing_key()

    def client(self):
        return completions_client(self.model, api_key=self.api_key, base_url=os.environ["PARROT_URL"])


class PoliteBubblewrap(Bubblewrap):
    """Bubblewrap at low priority."""

    name = "polite"

    def start(self, confinement, work):
        return super().start(replace(confinement, command=("nice", *confinement.command)), work)


class DrawerSource(FolderSource):
    """Folders of one drawer, by name."""

    kind = "drawer"
    form = "drawer:NAME"

    @classmethod
    def parse(cls, text):
        if not text.startswith("drawer:"):
            return None
        return cls(Path(os.environ["DRAWER"], text.removeprefix("drawer:")))
'''
SCRIPT = "import json, os\nprint(json.dumps({'priority': os.getpriority(os.PRIO_PROCESS, 0)}))\n"


@pytest.fixture(scope="module")
def python(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fresh environment on top of this one, with the wheel installed in it."""
    folder = tmp_path_factory.mktemp("wheel")
    package = folder / "agent-extras"
    (package / "agent_extras").mkdir(parents=True)
    (package / "pyproject.toml").write_text(PROJECT)
    (package / "agent_extras" / "__init__.py").write_text(MODULE)
    environment = folder / "fresh"
    venv.create(environment, with_pip=False)
    made = environment / "bin" / "python"
    [here] = [path for path in site.getsitepackages() if path.startswith(sys.prefix)][:1]
    [there] = environment.glob("lib/python*/site-packages")
    (there / "below.pth").write_text(f"import site; site.addsitedir({here!r})\n")
    pip = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check"]
    build = ["wheel", "--no-deps", "--no-index", "--no-build-isolation", "-w", str(folder), str(package)]
    subprocess.run([*pip, *build], check=True)
    [wheel] = folder.glob("*.whl")
    install = ["install", "--no-deps", "--no-index", "--target", str(there), str(wheel)]
    subprocess.run([*pip, *install], check=True)
    return made


@pytest.mark.slow
def test_each_of_the_three_is_used_by_its_name(
    python: Path, server: OpenAIServer, write_skill, tmp_path: Path
) -> None:
    folder = write_skill("pencil", "Run draw.", description="Draws lines", into=tmp_path / "drawer")
    (folder / "scripts").mkdir()
    (folder / "scripts" / "draw.py").write_text(SCRIPT)
    variables = clean_environment(
        tmp_path,
        AGENT_HOME=str(tmp_path / "home"),
        DRAWER=str(tmp_path / "drawer"),
        PARROT_API_KEY="k-0123456789",
        PARROT_URL=server.url,
        SKILLKIT_SANDBOX="polite",
    )

    def agent(*arguments: str) -> str:
        command = [str(python), "-c", "from skillkit.agent.cli import main; main()", *arguments]
        done = subprocess.run(
            command, env=variables, cwd=tmp_path, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    agent("skill", "add", "drawer:pencil", "--trusted")
    record = json.loads((tmp_path / "home" / "skills" / "registry.json").read_text())["skills"]["pencil"]
    assert record["source"]["kind"] == "drawer"

    server.replies = [Say("Polly wants a cracker.")]
    assert agent("-p", "hello") == "Polly wants a cracker.\n"  # found by its key
    assert agent("--provider", "parrot", "-p", "hello") == "OK\n"
    assert [request.body["model"] for request in server.requests] == ["parrot-1"] * 2

    ran = json.loads(agent("skill", "run", "--json", "pencil", "draw"))
    assert ran["result"]["priority"] > os.getpriority(os.PRIO_PROCESS, 0), ran
