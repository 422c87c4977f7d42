"""Format a provider's error as one line: the problem, the provider's message, a remedy."""

import html
import json
import re
from collections.abc import Iterator
from typing import Any

from skillkit.agent.exceptions import AgentError, ProviderError
from skillkit.agent.models.provider import ChatProvider
from skillkit.journal.sensitive import redacted

_MAX_SAID = 400
_TOO_LONG = "context_length_exceeded"
_NO_QUOTA = "insufficient_quota"
_DAILY = "PerDay"
"""Part of the id of a Gemini quota that does not recover by waiting."""
_STATUS_OF_KIND = {
    "overloaded_error": 529,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "api_error": 500,
    "server_error": 500,
}
"""Error types that services send inside a stream, mapped to the equivalent HTTP status."""
_MARKUP = re.compile(r"<(style|script)\b.*?</\1\s*>|<[^>]*>", re.IGNORECASE | re.DOTALL)
_CHECK_KEY = "refused the key. Check the variable that holds it: agent config show"


def friendly(error: BaseException, provider: ChatProvider) -> AgentError:
    """Convert a provider's exception to an error for the user."""
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, AgentError):
            return link
    said = redacted(" ".join(_own_words(chain).split()))[:_MAX_SAID]
    text = _by_status(status_of(error), said, provider, quota=is_out_of_quota(error)) or _by_kind(
        chain, said, provider
    )
    return ProviderError(f"The provider '{provider.name}' {text}")


def _by_status(status: int | None, said: str, provider: ChatProvider, *, quota: bool) -> str | None:
    it_says = f"It says: {said}"
    match status:
        case 400 if "api key" in said.lower():  # Gemini's wording
            return _CHECK_KEY
        case 401 | 403:
            return f"{_CHECK_KEY}. {it_says}"
        case 404 if "model" in said.lower():
            return f"does not know the model '{provider.model}'. Choose another: --model NAME. {it_says}"
        case 404:
            at = provider.shown_address and f", or there is no such service{provider.shown_address}"
            return f"does not know the model '{provider.model}'{at}. Choose another: --model NAME. {it_says}"
        case 402 | 429 if quota:
            return f"reports that the quota is exhausted. Choose another: --provider NAME. {it_says}"
        case 429:
            return f"limits the request rate. Wait, or choose another: --provider NAME. {it_says}"
        case 413:
            return _too_long(it_says)
        case 400 | 422 if _TOO_LONG in said:
            return _too_long(it_says)
        case 400 | 422:
            return f"refused the request: {said}"
        case int(code) if code >= 500:
            return f"failed with status {code}. Try again later. {it_says}"
        case _:
            return None


def _too_long(it_says: str) -> str:
    return (
        "reports that the conversation exceeds its context window. Shorten it with /compact, start a new "
        f"one with /clear, or choose a model with a larger window: --model NAME. {it_says}"
    )


def _by_kind(chain: list[BaseException], said: str, provider: ChatProvider) -> str:
    if is_silent(chain[0]):
        longer = f"agent config set {provider.name}.timeout SECONDS"
        return f"sent nothing for {provider.timeout:g} s. Try again, or wait longer: {longer}"
    if any(_is_kind(link, "RemoteProtocolError", "ReadError", "IncompleteRead") for link in chain):
        return "lost the connection before the response was complete. Try again"
    if is_unreachable(chain[0]):
        at = provider.shown_address
        return f"cannot be reached{at}. Check the network, or work without it: --provider local"
    if isinstance(chain[-1], TypeError | AttributeError | LookupError | ValueError):
        return f"sent an invalid response: {said or type(chain[-1]).__name__}"
    return f"failed: {said or type(chain[0]).__name__}"


def status_of(error: BaseException) -> int | None:
    """Return the HTTP status of an exception or one of its causes.

    An error after the start of a response is part of the stream, whose own status is success.
    """
    for link in _chain(error):
        codes = [getattr(link, name, None) for name in ("status_code", "code")]
        for code in (*codes, _status_in(getattr(link, "body", None))):
            if isinstance(code, int) and 400 <= code < 600:
                return code
    return None


def _status_in(body: Any) -> int | None:
    match body:
        case {"error": {**inner}}:
            return _status_in(inner)
        case {"code": int(code)}:
            return code
        case {"code": str(kind)} | {"type": str(kind)} if kind in _STATUS_OF_KIND:
            return _STATUS_OF_KIND[kind]
        case {"type": str(kind)}:
            return _STATUS_OF_KIND.get(kind)
        case _:
            return None


def is_out_of_quota(error: BaseException) -> bool:
    """Return whether a quota is exhausted, so that waiting does not help."""
    chain = list(_chain(error))
    daily = any(_DAILY in json.dumps(getattr(link, "details", None), default=str) for link in chain)
    return status_of(error) == 402 or daily or _NO_QUOTA in _own_words(chain)


def is_silent(error: BaseException) -> bool:
    """Return whether a service was reached and then sent nothing until the timeout."""
    return any(_is_kind(link, "ReadTimeout") for link in _chain(error))


def is_unreachable(error: BaseException) -> bool:
    """Return whether the connection failed."""
    return not is_silent(error) and any(
        isinstance(link, ConnectionError | TimeoutError) or _is_kind(link, "Connect", "Timeout")
        for link in _chain(error)
    )


def _own_words(chain: list[BaseException]) -> str:
    """Return the service's message, or the client library's if there is none."""
    bodies = [getattr(link, name, None) for link in chain for name in ("body", "details")]
    for read in (_message, _other_words):
        for body in bodies:
            if said := read(body):
                return said
    for link in chain:
        message = getattr(link, "message", None)
        if isinstance(message, str) and message and status_of(link) is not None:
            return message
    return str(chain[-1])


def _message(body: Any) -> str:
    match body:
        case {"error": {**inner}}:
            return _message(inner)
        case {"message": str(text)} | {"error": str(text)}:
            code = body.get("code")
            return f"{text} ({code})" if isinstance(code, str) and code not in text else text
        case _:
            return ""


def _other_words(body: Any) -> str:
    """Return the text of a body without a message in the usual place."""
    match body:
        case {"detail": [*problems]}:
            return "; ".join(_problem(problem) for problem in problems)
        case {"detail": str(text)} | {"title": str(text)}:
            return text
        case dict() | list() if body:
            return json.dumps(body, ensure_ascii=False)
        case str(text):  # as sent by proxies, mostly an HTML page
            return html.unescape(_MARKUP.sub(" ", text))
        case _:
            return ""


def _problem(problem: Any) -> str:
    """Format one error of a service that validates requests field by field."""
    match problem:
        case {"loc": [*place], "msg": str(text)}:
            return f"{'.'.join(map(str, place))}: {text}"
        case {"msg": str(text)} | str(text):
            return text
        case _:
            return json.dumps(problem, ensure_ascii=False)


def _chain(error: BaseException) -> Iterator[BaseException]:
    link: BaseException | None = error
    seen: set[int] = set()
    while link is not None and id(link) not in seen:
        seen.add(id(link))
        yield link
        link = link.__cause__ or link.__context__


def _is_kind(error: BaseException, *parts: str) -> bool:
    """Return whether an exception's class name contains one of `parts`: HTTP clients differ by provider,
    their names do not."""
    names = [kind.__name__ for kind in type(error).__mro__]
    return any(part in name for part in parts for name in names)
