"""`agent skill …`: one file for each family of commands."""

from skillkit.agent.cli.families import FamilyGroup, group


class SkillCommands(FamilyGroup):
    """What `agent skill` can do."""

    families = {  # noqa: RUF012 -- read-only by its type
        f"{__name__}.listing": ("list", "ls"),
        f"{__name__}.details": ("info",),
        f"{__name__}.finding": ("search", "find", "match"),
        f"{__name__}.measuring": ("cost",),
        f"{__name__}.testing": ("test",),
        f"{__name__}.installing": ("add", "update", "remove", "install", "uninstall", "rollback"),
        f"{__name__}.checking": ("verify", "outdated", "sync"),
        f"{__name__}.placing": ("where", "adopt"),
        f"{__name__}.trusting": ("trust", "enable", "disable"),
        f"{__name__}.sources": ("source",),
        f"{__name__}.running": ("run",),
        f"{__name__}.packages": ("packages",),
        f"{__name__}.usage": ("usage",),
        f"{__name__}.authoring": ("create", "validate"),
        f"{__name__}.schema": ("schema",),
        f"{__name__}.publishing": ("publish",),
    }


app = group("skill", "Find, install, check and write skills.", cls=SkillCommands)
