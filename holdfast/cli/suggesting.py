"""Commands that say what was meant when one is misspelt, and take the American spelling."""

from typing import Any

from typer.core import TyperGroup

from .._support.lookup import nearest

__all__ = ["Commands", "spelt_as_here"]


class Commands(TyperGroup):
    """A group of commands. Typer and click would each add a suggestion of their own to the same message."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:  # click's types; newer typers have their own
        """Return the command that is named; a wrong use if there is none of this name."""
        if args and self.get_command(ctx, args[0]) is None and not args[0].startswith("-"):
            hint = nearest(args[0], self.commands)
            hint = hint[:1].upper() + hint[1:]
            ctx.fail(f"There is no command {args[0]!r}. {hint}There are: {', '.join(self.commands)}")
        return super().resolve_command(ctx, args)


def spelt_as_here(word: str) -> str:
    """Return the name of an option or command with the spelling that the options here have.

    >>> spelt_as_here("defenses")
    'defences'
    """
    return word.replace("defense", "defence")
