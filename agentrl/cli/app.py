"""The Typer application: every command is a thin module that calls the library and prints what it says."""

from __future__ import annotations

import re
import sys
from importlib import import_module
from typing import Any

import typer

from agentrl import __version__
from agentrl.cli.output import err, out
from agentrl.core.failures import InfrastructureFailure, UserError, nearest

app = typer.Typer(
    name="agentrl",
    help="Train and evaluate language-model agents that act over many turns with tools.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)

# Typer brings its own click: the base of its complaints is reached through the name that it exports.
USAGE_ERROR: Any = next(kind for kind in typer.BadParameter.__mro__ if kind.__name__ == "ClickException")

COMMANDS = (
    "envs",
    "env",
    "play",
    "sft",
    "train",
    "evaluate",
    "methods",
    "sandbox",
    "search",
    "alfworld",
    "export",
    "bench",
    "doctor",
)
for _name in COMMANDS:
    import_module(f"agentrl.cli.{_name}").add_to(app)


@app.callback(invoke_without_command=True)
def _root(version: bool = typer.Option(False, "--version", help="Print the version.")) -> None:
    if version:
        out.print(f"agentrl {__version__}")
        raise typer.Exit


def main() -> None:
    """Run the command line and exit: 0 holds, 1 falls short, 2 could not run, 130 interrupted."""
    sys.exit(run(sys.argv[1:]))


def run(arguments: list[str]) -> int:
    """Run one command; returns its exit code. Bad input is one clear sentence on stderr."""
    try:
        result = typer.main.get_command(app).main(arguments, prog_name="agentrl", standalone_mode=False)
        return result if isinstance(result, int) else 0
    except UserError as error:
        return failed(str(error))
    except InfrastructureFailure as error:
        return failed(str(error))
    except USAGE_ERROR as error:
        if type(error).__name__ == "NoArgsIsHelpError":
            out.print(str(error), markup=False, highlight=False)
            return 2
        return failed(usage(error))
    except (KeyboardInterrupt, typer.Abort):
        err.print("interrupted", style="yellow")
        return 130
    except BrokenPipeError:
        return 0


def failed(sentence: str) -> int:
    err.print(f"error: {sentence}", style="red", markup=False, highlight=False, soft_wrap=True)
    return 2


def usage(error: Exception) -> str:
    """Click's complaint as one sentence, with the command that explains more."""
    message = str(getattr(error, "format_message", error.__str__)())
    context = getattr(error, "ctx", None)
    unknown = re.search(r"No such command '(.*)'", message)
    if unknown and context:
        close = nearest(unknown[1], context.command.commands)
        message = f"unknown command {unknown[1]!r}" + (
            f"; did you mean {' or '.join(map(repr, close))}?" if close else ""
        )
    where = f" (see `{context.command_path} --help`)" if context else ""
    return f"{message.rstrip('.')}{where}"
