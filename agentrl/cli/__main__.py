"""`python -m agentrl.cli`: the command line without the script."""

from agentrl.cli.app import main

main()
