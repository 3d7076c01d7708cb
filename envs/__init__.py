"""The environments that ship. `register_all` runs when Gymnasium is imported (see `agentrl.core.plugin`)."""

from agentrl.core.catalogue import register

PACKAGE = "agentrl.envs"

SHIPPED = (
    (
        "agentrl/Search-v0",
        "search.env:SearchEnv",
        "Answer questions of one to three hops over articles about countries, with a search engine.",
    ),
    (
        "agentrl/FrozenLake-v0",
        "gridworld.lake:FrozenLakeEnv",
        "Cross a frozen lake without falling into a hole.",
    ),
    ("agentrl/CliffWalking-v0", "gridworld.cliff:CliffWalkingEnv", "Walk along a cliff to the goal."),
    ("agentrl/Taxi-v0", "gridworld.taxi:TaxiEnv", "Fetch a passenger and bring them to their destination."),
    (
        "agentrl/Blackjack-v0",
        "gridworld.blackjack:BlackjackEnv",
        "Play one hand of blackjack against a dealer.",
    ),
    (
        "agentrl/GymText-v0",
        "gridworld.adapter:GymTextEnv",
        "Any discrete Gymnasium environment, played by one tool.",
    ),
    (
        "agentrl/Bash-v0",
        "bash.env:BashEnv",
        "Shell tasks over a tree of files (find, count, transform, repair), judged by the resulting state.",
    ),
    (
        "agentrl/Code-v0",
        "code.env:CodeEnv",
        "Programming tasks in a sandbox with hidden tests, judged in another sandbox.",
    ),
    (
        "agentrl/TaskFolder-v0",
        "taskfolder.env:TaskFolderEnv",
        "Public agent tasks in the Harbor and terminal-bench folder format, each in its own image.",
    ),
    (
        "agentrl/Shop-v0",
        "shop.env:ShopEnv",
        "Buy what an instruction asks for in a shop of thousands of products, as text.",
    ),
    (
        "agentrl/ShopWeb-v0",
        "shop.env_web:ShopWebEnv",
        "The same shop as web pages, in a real Chromium.",
    ),
)


def register_all() -> None:
    """Register every shipped environment; cheap (nothing is imported) and idempotent."""
    for name, entry_point, summary in SHIPPED:
        register(name, f"{PACKAGE}.{entry_point}", summary=summary)
