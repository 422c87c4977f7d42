"""Tools for an agent without skills."""

from skillkit.toolsets import AgentToolset

_GREETINGS = {
    "en": ("english", "Hello, {}!"),
    "es": ("spanish", "¡Hola, {}!"),
    "fr": ("french", "Bonjour, {} !"),
    "de": ("german", "Hallo, {}!"),
    "it": ("italian", "Ciao, {}!"),
    "pt": ("portuguese", "Olá, {}!"),
}
_NAMES = {name: code for code, (name, _) in _GREETINGS.items()}


class HelloTools(AgentToolset):
    """Greets; offered only if no skill is active when the conversation starts."""

    def greet_user(self, name: str = "friend", language: str = "en") -> dict[str, object]:
        """Greet somebody: hello, hi, bonjour, hallo, hola, ciao, olá, welcome.

        Args:
            name: Who is greeted.
            language: A code such as fr, or an English name.
        """
        wanted = language.strip().lower()
        code = _NAMES.get(wanted, wanted.replace("_", "-").partition("-")[0])
        if code not in _GREETINGS:
            message = f"No greeting in {language!r}. Languages: {', '.join(_GREETINGS)}"
            return {"success": False, "error": "unsupported_language", "message": message}
        return _said(_GREETINGS[code][1].replace("{}", name.strip() or "friend"))

    def hello_world(self) -> dict[str, object]:
        """Hello, World!"""
        return _said("Hello, World! ◉‿◉")


def _said(text: str) -> dict[str, object]:
    return {"success": True, "result": text, "message": f"Said: {text}"}
