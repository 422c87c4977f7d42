"""Limits of a run in calls, tokens and money, and a cost estimate."""

from dataclasses import dataclass

from skillkit.evaluation.behaviour.executor import Transcript

HANDFUL = 5
"""Number of paid runs from which a confirmation is required."""


class BudgetSpentError(Exception):
    """Raised when a limit is reached; finished runs are kept."""


@dataclass
class Budget:
    """Limits, and the amounts spent so far."""

    max_calls: int | None = None
    max_tokens: int | None = None
    max_cost: float | None = None
    calls: int = 0
    tokens: int = 0
    cost: float = 0.0

    def check(self) -> None:
        """Raise before a run that would exceed a limit."""
        for name, spent, most in (
            ("calls", self.calls, self.max_calls),
            ("tokens", self.tokens, self.max_tokens),
            ("USD", self.cost, self.max_cost),
        ):
            if most is not None and spent >= most:
                raise BudgetSpentError(f"the limit of {most:g} {name} is reached")

    def spend(self, transcript: Transcript) -> None:
        self.calls += transcript.requests
        self.tokens += transcript.tokens
        self.cost += transcript.cost or 0.0


@dataclass(frozen=True, slots=True)
class Estimate:
    """Estimated cost of a test, from the number of runs and the length of prompts."""

    runs: int
    """Number of runs, without recorded ones."""
    recorded: int
    tokens: int
    judged: int = 0
    """Number of judge requests."""

    def __str__(self) -> str:
        recorded = f", {self.recorded} are recorded" if self.recorded else ""
        judged = f", {self.judged} requests to a judge" if self.judged else ""
        return f"{self.runs} runs of a model{recorded}{judged}, about {self.tokens:,} tokens to read"
