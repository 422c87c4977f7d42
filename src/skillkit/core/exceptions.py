"""One hierarchy of errors; each says what is wrong, where, and what to do about it."""

from skillkit.core.diagnostics import Diagnostic


class SkillsUseError(Exception):
    """Any error that skillkit raises on purpose."""


class SkillParsingError(SkillsUseError):
    """A SKILL.md cannot be used as it is written."""

    diagnostics: tuple[Diagnostic, ...] = ()
    """All diagnostics of the file, the reason for the error last."""


class InvalidYAMLError(SkillParsingError):
    """The header is not valid YAML, or one that skillkit refuses."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class RefusedYAMLError(InvalidYAMLError):
    """The header uses a part of YAML that skillkit refuses, such as an anchor or a tag."""


class MissingRequiredFieldError(SkillParsingError):
    """`name` or `description` is missing, empty or not text."""

    def __init__(self, message: str, field_name: str | None = None) -> None:
        super().__init__(message)
        self.field_name = field_name


class InvalidFrontmatterError(SkillParsingError):
    """There is no header, it does not end, or it is not a mapping."""


class SkillNotFoundError(SkillsUseError):
    """No loaded skill has that name."""


class SkillInvocationError(SkillsUseError):
    """A skill was found but could not be rendered."""


class ArgumentProcessingError(SkillInvocationError):
    """The arguments cannot be put into the instructions."""


class ContentLoadError(SkillInvocationError):
    """SKILL.md or a resource cannot be read."""


class ChangedContentError(ContentLoadError):
    """A file differs from the one that was checked."""


class SkillSecurityError(SkillsUseError):
    """Something unsafe was refused."""


class SuspiciousInputError(SkillSecurityError):
    """Input that no honest caller sends."""


class SizeLimitExceededError(SkillSecurityError):
    """Input or a file is larger than its limit."""


class PathSecurityError(SkillSecurityError):
    """A path would leave its skill's folder."""

    def __init__(
        self,
        message: str,
        requested_path: str | None = None,
        base_directory: str | None = None,
    ) -> None:
        super().__init__(message)
        self.requested_path = requested_path
        self.base_directory = base_directory


class ConfigurationError(SkillsUseError):
    """The manager was given a folder that does not exist, or an argument it cannot use."""

    def __init__(
        self,
        message: str,
        parameter_name: str | None = None,
        invalid_path: str | None = None,
    ) -> None:
        super().__init__(message)
        self.parameter_name = parameter_name
        self.invalid_path = invalid_path


class AsyncStateError(SkillsUseError):
    """Kept for programs that catch it: sync and async calls may be mixed since 0.5."""


class PluginError(SkillsUseError):
    """A plugin folder cannot be used."""


class ManifestNotFoundError(PluginError):
    """There is no `.claude-plugin/plugin.json`."""


class ManifestParseError(PluginError):
    """plugin.json is too large, not UTF-8 or not JSON."""

    def __init__(
        self,
        message: str,
        manifest_path: str | None = None,
        parse_error: Exception | None = None,
    ) -> None:
        super().__init__(message)
        self.manifest_path = manifest_path
        self.parse_error = parse_error


class ManifestValidationError(PluginError):
    """A field of plugin.json is missing or has a value that cannot be used."""

    def __init__(
        self,
        message: str,
        field_name: str | None = None,
        invalid_value: str | None = None,
    ) -> None:
        super().__init__(message)
        self.field_name = field_name
        self.invalid_value = invalid_value


class StateFileError(SkillsUseError):
    """A state file of skillkit cannot be read and must not be overwritten."""
