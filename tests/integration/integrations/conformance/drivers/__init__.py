"""A driver for each integration, and for each way of using it."""

from conformance.drivers.agent_framework import AgentFrameworkDriver, AgentFrameworkStreamingDriver
from conformance.drivers.anthropic import (
    AnthropicBlockingDriver,
    AnthropicDriver,
    AnthropicManualDriver,
    AnthropicStreamingDriver,
)
from conformance.drivers.langchain import (
    LangChainBlockingDriver,
    LangChainDriver,
    LangChainStreamingDriver,
)
from conformance.drivers.mcp import LegacyMCPDriver, MCPDriver
from conformance.drivers.openai_agents import (
    OpenAIAgentsBlockingDriver,
    OpenAIAgentsDriver,
    OpenAIAgentsStreamingDriver,
)
from conformance.drivers.plain import PlainDriver
from conformance.drivers.program import ProgramDriver
from conformance.drivers.pydantic_ai import (
    PydanticAIBlockingDriver,
    PydanticAIDriver,
    PydanticAIStreamingDriver,
)
from conformance.script import Driver

DRIVERS: tuple[type[Driver], ...] = (
    PlainDriver,
    AnthropicDriver,
    AnthropicBlockingDriver,
    AnthropicManualDriver,
    AnthropicStreamingDriver,
    OpenAIAgentsDriver,
    OpenAIAgentsBlockingDriver,
    OpenAIAgentsStreamingDriver,
    PydanticAIDriver,
    PydanticAIBlockingDriver,
    PydanticAIStreamingDriver,
    LangChainDriver,
    LangChainBlockingDriver,
    LangChainStreamingDriver,
    AgentFrameworkDriver,
    AgentFrameworkStreamingDriver,
    MCPDriver,
    LegacyMCPDriver,
    ProgramDriver,
)
