"""The environments that ship. `register_all` runs when Gymnasium is imported (see `agentrl.core.plugin`)."""

from agentrl.core.catalogue import register

PACKAGE = "agentrl.envs"


def register_all() -> None:
    """Register every shipped environment; cheap (nothing is imported) and idempotent."""
    register(
        "agentrl/Search-v0",
        f"{PACKAGE}.search.env:SearchEnv",
        summary="Answer questions of one to three hops over articles about countries, with a search engine.",
    )
