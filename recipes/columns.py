"""The conformance suite in other environments: lowest and newest versions, and peers too heavy for `dev`.

python3 dev.py columns lowest [EXTRA …]   each framework's lowest version, in an environment of its own
python3 dev.py columns newest [EXTRA …]   the newest that there is
python3 dev.py columns peers [NAME …]     other libraries that read and serve skills
python3 dev.py columns build              newest: the column of the weekday, and of each changed integration
"""

import os
import subprocess
import sys
import tempfile
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COLUMNS = {
    "langchain": "langchain",
    "pydantic-ai": "pydantic_ai",
    "openai-agents": "openai_agents",
    "anthropic": "anthropic",
    "agent-framework": "agent_framework",
    "mcp": "mcp",
}
"""Extra, and the driver of its column."""
TESTS = "tests/integration/integrations"
SUITE = f"{TESTS}/test_conformance.py"
WORKSPACES = f"{TESTS}/test_workspaces.py"
RECIPES = f"{TESTS}/test_recipes.py"
PEERS: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "fastmcp": ("fastmcp", "mcp", (f"{TESTS}/test_mcp_client.py",)),
    "adk": ("google-adk", "adk", (SUITE, f"{TESTS}/test_adk.py", WORKSPACES)),
    "deepagents": ("deepagents", "deepagents", (WORKSPACES,)),
    "strands": ("strands-agents", "", (RECIPES,)),
    "dspy": ("dspy", "", (RECIPES,)),
    "llama-index": ("llama-index-core", "", (RECIPES,)),
    "smolagents": ("smolagents", "", (RECIPES,)),
    "crewai": ("crewai", "", (RECIPES,)),
}
"""Name, with the package, the extra of ours that goes with it, and the tests that use it."""
TOOLS = ("pytest>=8.3", "pytest-asyncio>=0.25", "uvicorn>=0.40", "hypothesis>=6.100")


def main(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in ("lowest", "newest", "peers", "build"):
        print(__doc__)
        return 2
    kind, chosen = arguments[0], arguments[1:]
    if kind == "build":
        kind, chosen = "newest", of_build(date.today().weekday(), changed_files())
    known = PEERS if kind == "peers" else COLUMNS
    unknown = [name for name in chosen if name not in known]
    if unknown:
        print(f"There is no {unknown[0]!r}: {', '.join(known)}")
        return 2
    outcomes = {}
    for name in chosen or known:
        with tempfile.TemporaryDirectory(prefix=f"skillkit-{name}-") as folder:
            outcomes[name] = peer(Path(folder), name) if kind == "peers" else column(Path(folder), name, kind)
    for name, outcome in outcomes.items():
        print(f"{name:16} {outcome}")
    return 0 if all(outcome.endswith("passed") for outcome in outcomes.values()) else 1


def of_build(weekday: int, changed: list[str]) -> list[str]:
    """The column of a weekday, and those of the integrations that a build changed."""
    folder = "src/skillkit/integrations/"
    touched = [
        name
        for name, driver in COLUMNS.items()
        if any(path.removeprefix(folder).startswith(driver) for path in changed if path.startswith(folder))
    ]
    return [*dict.fromkeys(([*COLUMNS][weekday % len(COLUMNS)], *touched))]


def changed_files() -> list[str]:
    """What the newest commit changed; nothing where git cannot say."""
    command = ["git", "diff", "--name-only", "HEAD~1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    return done.stdout.splitlines()


def column(folder: Path, extra: str, kind: str) -> str:
    """Run the column of one framework; return its version and what came of it."""
    resolution = ["--resolution", "lowest-direct"] if kind == "lowest" else []
    # One of the promises is about skills of an MCP server.
    python = environment(folder, [*resolution, "-e", f"{ROOT}[{extra},mcp]"])
    return f"{version(python, extra)} {suite(python, SUITE, driver=COLUMNS[extra])}"


def peer(folder: Path, name: str) -> str:
    """Run the tests of one peer; return its version and what came of it."""
    package, extra, tests = PEERS[name]
    python = environment(folder, [package, "-e", f"{ROOT}[{extra}]" if extra else str(ROOT)])
    return f"{version(python, package)} {suite(python, *tests, driver='adk' if name == 'adk' else 'plain')}"


def environment(folder: Path, packages: list[str]) -> Path:
    """Make a fresh environment with `packages` and what the suite needs; return its interpreter."""
    uv = Path(sys.executable).with_name("uv")
    python = folder / "bin" / "python"
    subprocess.run([uv, "venv", "-q", "--python", sys.executable, folder], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *packages], check=True)
    subprocess.run([uv, "pip", "install", "-q", "--python", python, *TOOLS], check=True)
    return python


def version(python: Path, extra: str) -> str:
    """Return the version of the package behind an extra or name."""
    package = {"agent-framework": "agent-framework-core", "pydantic-ai": "pydantic-ai-slim"}.get(extra, extra)
    code = f"from importlib.metadata import version; print(version({package!r}))"
    return subprocess.run([python, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def suite(python: Path, *tests: str, driver: str) -> str:
    """Run `tests` in an environment; warnings of other versions are not ours to fail for."""
    options = ["-q", "-o", "addopts=--import-mode=importlib", "-o", "filterwarnings=default", "-W", "ignore"]
    chosen = {**os.environ, "SKILLKIT_COLUMNS": driver}
    done = subprocess.run([python, "-m", "pytest", *options, *tests], cwd=ROOT, env=chosen, check=False)
    return "passed" if done.returncode == 0 else f"failed (pytest: {done.returncode})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
