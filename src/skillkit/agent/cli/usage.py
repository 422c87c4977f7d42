"""The tokens that a conversation has taken, and what they cost where the price is known."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from skillkit.agent.settings import cost_at

if TYPE_CHECKING:
    from skillkit.agent.runtime import AgentRuntime


@dataclass(frozen=True, slots=True)
class TokenTotals:
    """The tokens that a conversation has cost in this program."""

    requests: int = 0
    system: int = 0
    skills: int = 0
    tools: int = 0
    messages: int = 0
    read: int = 0
    written: int = 0
    estimated: bool = False
    cost: float | None = None
    """What they cost, each at the price of the provider that was asked; None where one has no price."""

    @classmethod
    def of(cls, runtime: "AgentRuntime") -> "TokenTotals":
        steps = [(step.tokens, step.price) for step in runtime.trace.steps if step.tokens is not None]
        counts = [count for count, _ in steps]
        costs = [cost_at(price, count.total, count.output) for count, price in steps]
        costs = costs or [cost_at(runtime.provider.settings.price, 0, 0)]
        known = [cost for cost in costs if cost is not None]
        return cls(
            requests=len(counts),
            system=sum(count.system for count in counts),
            skills=sum(count.skills for count in counts),
            tools=sum(count.tools for count in counts),
            messages=sum(count.messages for count in counts),
            read=sum(count.total for count in counts),
            written=sum(count.output for count in counts),
            estimated=any(count.estimated for count in counts),
            cost=sum(known) if len(known) == len(costs) else None,
        )

    @property
    def total(self) -> int:
        return self.read + self.written

    def __str__(self) -> str:
        about = "about " if self.estimated else ""
        requests = "1 model request" if self.requests == 1 else f"{self.requests} model requests"
        return (
            f"{requests}, {about}{self.read:,} tokens read, {self.written:,} written\n"
            f"of those read, estimated: system {self.system:,}, skills {self.skills:,}, "
            f"tools {self.tools:,}, messages {self.messages:,}"
        )
