"""The command line. `main` is the only way out: exit code 0 = holds, 1 = falls short, 2 = could not run."""

from agentrl.cli.app import main

__all__ = ["main"]
