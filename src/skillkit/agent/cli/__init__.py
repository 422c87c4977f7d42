"""The command line: what `agent` does when it is typed."""

import sys


def main() -> None:
    """Run the program and leave with its exit code."""
    try:
        import rich  # noqa: F401
        import typer  # noqa: F401
    except ImportError as error:
        sys.stderr.write(
            f"The agent program needs {error.name}, which is not installed. "
            "Install it with: pip install 'skillkit[agent]'\n"
        )
        sys.exit(1)
    from skillkit.agent.cli.outcome import run

    sys.exit(run(sys.argv[1:]))
