"""`python -m skillkit.scripts gc [--days N]` removes unused environments, `sandbox` tests each sandbox."""

import argparse
import os
import sys

from skillkit.core.disk import agent_home
from skillkit.scripts.environments import EnvironmentStore
from skillkit.scripts.runner import environment_folders
from skillkit.scripts.selection import SandboxSelection


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m skillkit.scripts", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    collect = commands.add_parser("gc", help="remove environments that no script has used for a while")
    collect.add_argument("--days", type=float, default=30, help="how long unused (default: 30)")
    commands.add_parser("sandbox", help="test every sandbox on this machine")
    options = parser.parse_args(arguments)
    if options.command == "gc":
        seconds = options.days * 86_400
        removed = [
            path
            for folder in environment_folders()
            if os.access(folder, os.W_OK)
            for path in EnvironmentStore(folder).collect(seconds)
        ]
        sys.stdout.write(f"Removed {len(removed)} environment{'s' * (len(removed) != 1)}\n")
        return 0
    report = SandboxSelection(agent_home() / "cache").report()
    for name, reason in report.items():
        sys.stdout.write(f"{name}: {reason or 'holds'}\n")
    return 0 if "" in report.values() else 1


if __name__ == "__main__":
    sys.exit(main())
