"""The tools that the agent always has."""

from collections.abc import Sequence

from skillkit.disclosure.tools import Tool

_GREETINGS = {
    "en": ("english", "Hello, {}!"),
    "es": ("spanish", "¡Hola, {}!"),
    "fr": ("french", "Bonjour, {} !"),
    "de": ("german", "Hallo, {}!"),
    "it": ("italian", "Ciao, {}!"),
    "pt": ("portuguese", "Olá, {}!"),
}
_NAMES = {name: code for code, (name, _) in _GREETINGS.items()}

Payload = dict[str, object]


class HelloTools:
    """Says hello: what the agent can do without any skill."""

    async def hello_world(self, name: str = "World") -> Payload:
        """Say hello."""
        return _said(f"Hello, {name.strip() or 'World'}! ◉‿◉")

    async def greet_user(self, name: str, language: str = "en") -> Payload:
        """Greet a person in a language."""
        wanted = language.strip().lower()
        code = _NAMES.get(wanted, wanted.replace("_", "-").partition("-")[0])
        if code not in _GREETINGS:
            known = ", ".join(_GREETINGS)
            message = f"No greeting in {language!r}. Languages: {known}"
            return {"success": False, "error": "unsupported_language", "message": message}
        return _said(_GREETINGS[code][1].replace("{}", name.strip() or "friend"))

    def tools(self) -> Sequence[Tool]:
        name = {"type": "string"}
        language = {"type": "string", "description": "A code such as fr, or an English name"}
        return (
            Tool("hello_world", "Say hello.", _schema({"name": name}), self.hello_world),
            Tool(
                "greet_user",
                "Greet a person in a language.",
                _schema({"name": name, "language": language}, "name"),
                self.greet_user,
            ),
        )


def _said(text: str) -> Payload:
    return {"success": True, "result": text, "message": ""}


def _schema(properties: dict[str, dict[str, str]], *required: str) -> dict[str, object]:
    return {
        "type": "object",
        "properties": properties,
        "required": list(required),
        "additionalProperties": False,
    }
