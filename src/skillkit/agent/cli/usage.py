"""The tokens that a conversation has taken, and what they cost where the price is known."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit.agent.settings import cost_at
from skillkit.agent.telemetry import TokenCount

if TYPE_CHECKING:
    from skillkit.agent.runtime import AgentRuntime


@dataclass(frozen=True, slots=True)
class TokenTotals:
    """The tokens that a conversation has cost in this program."""

    requests: int
    tokens: TokenCount
    """Of all requests together."""
    cost: float | None
    """What they cost, each at the price of the provider that was asked; None where one has no price."""

    @classmethod
    def of(cls, runtime: "AgentRuntime") -> "TokenTotals":
        steps = [(step.tokens, step.price) for step in runtime.trace.steps if step.tokens is not None]
        counts = [count for count, _ in steps]
        costs = [cost_at(price, count.total, count.output) for count, price in steps]
        costs = costs or [cost_at(runtime.provider.settings.price, 0, 0)]
        known = [cost for cost in costs if cost is not None]
        parts = ("system", "skills", "tools", "messages", "total", "output")
        summed = {part: sum(getattr(count, part) for count in counts) for part in parts}
        estimated = any(count.estimated for count in counts)
        cost = sum(known) if len(known) == len(costs) else None
        return cls(len(counts), TokenCount(**summed, estimated=estimated), cost)

    @property
    def total(self) -> int:
        return self.tokens.total + self.tokens.output

    def __str__(self) -> str:
        tokens = self.tokens
        about = "about " if tokens.estimated else ""
        requests = "1 model request" if self.requests == 1 else f"{self.requests} model requests"
        return (
            f"{requests}, {about}{tokens.total:,} tokens read, {tokens.output:,} written\n"
            f"of those read, estimated: system {tokens.system:,}, skills {tokens.skills:,}, "
            f"tools {tokens.tools:,}, messages {tokens.messages:,}"
        )
