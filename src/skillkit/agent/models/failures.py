"""A provider's error as one line: what is wrong and what to do."""

from collections.abc import Iterator

from skillkit.agent.exceptions import AgentError, ProviderError
from skillkit.agent.models.provider import ChatProvider
from skillkit.journal.sensitive import redacted


def friendly(error: BaseException, provider: ChatProvider) -> AgentError:
    """The error that the user reads in place of a provider's exception."""
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, AgentError):
            return link
    status = next((code for link in chain if (code := _status(link)) is not None), None)
    said = redacted(" ".join(str(chain[-1]).split()))[:300]
    where = f"The provider '{provider.name}'"
    match status:
        case 400 if "api key" in said.lower():  # how Gemini says it
            text = f"{where} refused the key. Check the variable that holds it: agent config show"
        case 401 | 403:
            text = f"{where} refused the key. Check the variable that holds it: agent config show"
        case 404:
            text = f"{where} does not know the model '{provider.model}'. Choose another: --model NAME"
        case 402 | 429:
            text = f"{where} says that the quota is used up. Wait, or choose another: --provider NAME"
        case 400 | 413 | 422:
            text = f"{where} refused the request: {said}"
        case int(code) if code >= 500:
            text = f"{where} has a problem of its own (status {code}). Try again later"
        case _ if any(_is_network(link) for link in chain):
            text = f"{where} cannot be reached. Check the network, or work without it: --provider local"
        case _:
            text = f"{where} failed: {said or type(error).__name__}"
    return ProviderError(text)


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _status(error: BaseException) -> int | None:
    for name in ("status_code", "code"):
        code = getattr(error, name, None)
        if isinstance(code, int) and 100 <= code < 600:
            return code
    return None


def _is_network(error: BaseException) -> bool:
    names = {kind.__name__ for kind in type(error).__mro__}
    return isinstance(error, ConnectionError | TimeoutError) or any(
        "Connect" in name or "Timeout" in name for name in names
    )
