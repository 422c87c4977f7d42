"""The environment a person's shell would give the program, and nothing of the test run's own."""

import os


def clean_environment(home: object, **more: str) -> dict[str, str]:
    """HOME and PATH alone; coverage may watch."""
    watching = {name: value for name, value in os.environ.items() if name.startswith("COVERAGE_")}
    return {"HOME": str(home), "PATH": os.environ["PATH"]} | watching | more
