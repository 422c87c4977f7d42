"""One hierarchy of errors; each says what is wrong, where, and what to do about it."""

from skillkit.core.diagnostics import Diagnostic


class SkillsUseError(Exception):
    """Any error that skillkit raises on purpose."""

    error_code = "skills-use"
    """The word for the error in `--json` output; it stays when the class is renamed."""

    def __init_subclass__(cls, *, code: str | None = None, **options: object) -> None:
        super().__init_subclass__(**options)
        if code is not None:
            cls.error_code = code


class SkillParsingError(SkillsUseError, code="skill-parsing"):
    """A SKILL.md cannot be used as it is written."""

    diagnostics: tuple[Diagnostic, ...] = ()
    """All diagnostics of the file, the reason for the error last."""


class InvalidYAMLError(SkillParsingError, code="invalid-yaml"):
    """The header is not valid YAML, or one that skillkit refuses."""

    def __init__(self, message: str, line: int | None = None, column: int | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.column = column


class RefusedYAMLError(InvalidYAMLError, code="refused-yaml"):
    """The header uses a part of YAML that skillkit refuses, such as an anchor or a tag."""


class MissingRequiredFieldError(SkillParsingError, code="missing-required-field"):
    """`name` or `description` is missing, empty or not text."""

    def __init__(self, message: str, field_name: str | None = None) -> None:
        super().__init__(message)
        self.field_name = field_name


class InvalidFrontmatterError(SkillParsingError, code="invalid-frontmatter"):
    """There is no header, it does not end, or it is not a mapping."""


class SkillNotFoundError(SkillsUseError, code="skill-not-found"):
    """No loaded skill has that name."""


class SkillInvocationError(SkillsUseError, code="skill-invocation"):
    """A skill was found but could not be rendered."""


class ArgumentProcessingError(SkillInvocationError, code="argument-processing"):
    """The arguments cannot be put into the instructions."""


class ContentLoadError(SkillInvocationError, code="content-load"):
    """SKILL.md or a resource cannot be read."""


class ChangedContentError(ContentLoadError, code="changed-content"):
    """A file differs from the one that was checked."""


class SkillSecurityError(SkillsUseError, code="skill-security"):
    """Something unsafe was refused."""


class SuspiciousInputError(SkillSecurityError, code="suspicious-input"):
    """Input that no honest caller sends."""


class SizeLimitExceededError(SkillSecurityError, code="size-limit-exceeded"):
    """Input or a file is larger than its limit."""


class PathSecurityError(SkillSecurityError, code="path-security"):
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


class ConfigurationError(SkillsUseError, code="configuration"):
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


class AsyncStateError(SkillsUseError, code="async-state"):
    """Kept for programs that catch it: sync and async calls may be mixed since 0.5."""


class PluginError(SkillsUseError, code="plugin"):
    """A plugin folder cannot be used."""


class ManifestNotFoundError(PluginError, code="manifest-not-found"):
    """There is no `.claude-plugin/plugin.json`."""


class ManifestParseError(PluginError, code="manifest-parse"):
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


class ManifestValidationError(PluginError, code="manifest-validation"):
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


class StateFileError(SkillsUseError, code="state-file"):
    """A state file of skillkit cannot be read and must not be overwritten."""
