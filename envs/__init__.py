"""The environments that ship. `register_all` runs when Gymnasium is imported (see `agentrl.core.plugin`)."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from agentrl.core.catalogue import register

PACKAGE = "agentrl.envs"


class Shipped(NamedTuple):
    """What `register` is told; `extra` installs the modules that the environment `needs`."""

    id: str
    entry_point: str
    summary: str
    extra: str = ""
    needs: tuple[str, ...] = ()
    kwargs: Mapping[str, Any] = MappingProxyType({})


SHIPPED = (
    Shipped(
        "agentrl/Search-v0",
        "search.env:SearchEnv",
        "Answer questions of one to three hops over articles about countries, with a search engine.",
    ),
    Shipped(
        "agentrl/FrozenLake-v0",
        "gridworld.lake:FrozenLakeEnv",
        "Cross a frozen lake without falling into a hole.",
    ),
    Shipped(
        "agentrl/CliffWalking-v0",
        "gridworld.cliff:CliffWalkingEnv",
        "Walk along a cliff to the goal.",
    ),
    Shipped(
        "agentrl/Taxi-v0",
        "gridworld.taxi:TaxiEnv",
        "Fetch a passenger and bring them to their destination.",
    ),
    Shipped(
        "agentrl/Blackjack-v0",
        "gridworld.blackjack:BlackjackEnv",
        "Play one hand of blackjack against a dealer.",
    ),
    Shipped(
        "agentrl/GymText-v0",
        "gridworld.adapter:GymTextEnv",
        "Any discrete Gymnasium environment, played by one tool.",
    ),
    Shipped(
        "agentrl/ALFWorld-v0",
        "alfworld.env:ALFWorldEnv",
        "Household tasks in text on the TextWorld engine: find, clean, heat, cool, place.",
        extra="alfworld",
        needs=("alfworld", "fast_downward"),
    ),
    Shipped(
        "agentrl/ALFWorldText-v0",
        "alfworld.env:ALFWorldEnv",
        "The same household tasks, by ALFWorld's own text commands.",
        extra="alfworld",
        needs=("alfworld", "fast_downward"),
        kwargs={"actions": "text"},
    ),
    Shipped(
        "agentrl/Bash-v0",
        "bash.env:BashEnv",
        "Shell tasks over a tree of files (find, count, transform, repair), judged by the resulting state.",
    ),
    Shipped(
        "agentrl/Code-v0",
        "code.env:CodeEnv",
        "Programming tasks in a sandbox with hidden tests, judged in another sandbox.",
    ),
    Shipped(
        "agentrl/TaskFolder-v0",
        "taskfolder.env:TaskFolderEnv",
        "Public agent tasks in the Harbor and terminal-bench folder format, each in its own image.",
    ),
    Shipped(
        "agentrl/IssueTracker-v0",
        "api.tracker.env:IssueTrackerEnv",
        "Multi-step tasks in an issue tracker, by API tools.",
    ),
    Shipped(
        "agentrl/Wiki-v0",
        "api.wiki.env:WikiEnv",
        "Tasks in a wiki of pages, links and revisions, by API tools.",
    ),
    Shipped(
        "agentrl/Office-v0",
        "api.office.env:OfficeEnv",
        "Tasks with calendars, mails and contacts, by API tools.",
    ),
    Shipped(
        "agentrl/Retail-v0",
        "api.retail.env:RetailEnv",
        "Requests of customers in a back office whose policy says which to refuse, by API tools.",
    ),
    Shipped(
        "agentrl/Mcp-v0",
        "mcp.env:McpTrackerEnv",
        "The issue tracker's tasks, with the tools of an MCP server process.",
        extra="mcp",
        needs=("mcp",),
    ),
    Shipped(
        "agentrl/OpenSearch-v0",
        "search.open:CorpusSearchEnv",
        "Answer open questions over any corpus, with any search engine.",
    ),
    Shipped(
        "agentrl/SelfSearch-v0",
        "search.selfsearch:SelfSearchEnv",
        "Answer open questions by writing the passages of one's own searches.",
    ),
    Shipped(
        "agentrl/Blocksworld-v0",
        "games.blocksworld.env:BlocksworldEnv",
        "Rebuild towers of blocks with a hand that holds one block at a time.",
    ),
    Shipped(
        "agentrl/Countdown-v0",
        "games.countdown.env:CountdownEnv",
        "Reach a target from given numbers, each used at most once.",
    ),
    Shipped(
        "agentrl/Sokoban-v0",
        "games.sokoban.env:SokobanEnv",
        "Push boxes onto goals in a room; every room can be solved.",
    ),
    Shipped(
        "agentrl/Minesweeper-v0",
        "games.minesweeper.env:MinesweeperEnv",
        "Find the mines of a board that needs no guess.",
    ),
    Shipped(
        "agentrl/Nim-v0",
        "games.nim.env:NimEnv",
        "Take objects from heaps in turn with an opponent who plays well but not perfectly.",
    ),
    Shipped(
        "agentrl/Sudoku-v0",
        "games.sudoku.env:SudokuEnv",
        "Fill a grid of 4, 6 or 9 rows that has one solution.",
    ),
    Shipped(
        "agentrl/TwentyQuestions-v0",
        "games.twentyquestions.env:TwentyQuestionsEnv",
        "Find out a hidden country by questions that are answered yes or no.",
    ),
    Shipped(
        "agentrl/HiddenRule-v0",
        "games.hiddenrule.env:HiddenRuleEnv",
        "Find out a hidden order by hundreds of tests, then state it: a task of a long horizon.",
    ),
    Shipped(
        "agentrl/Hanoi-v0",
        "games.hanoi.env:HanoiEnv",
        "Bring the disks of a Tower of Hanoi from any arrangement into any other.",
    ),
    Shipped(
        "agentrl/Wordle-v0",
        "games.wordle.env:WordleEnv",
        "Guess a hidden word; every guess is told which letters are right.",
    ),
    Shipped(
        "agentrl/Mastermind-v0",
        "games.mastermind.env:MastermindEnv",
        "Find a hidden code of coloured pegs; every guess is told how many are right.",
    ),
    Shipped(
        "agentrl/Maze-v0",
        "games.maze.env:MazeEnv",
        "Find the exit of a maze, of which one sees the corridors that one stands in.",
    ),
    Shipped(
        "agentrl/MiniWoB-v0",
        "web.miniwob.env:MiniWobEnv",
        "Small tasks on real web pages (MiniWoB++), in a real Chromium.",
        extra="web",
        needs=("playwright", "miniwob"),
    ),
    Shipped(
        "agentrl/Shop-v0",
        "shop.env:ShopEnv",
        "Buy what an instruction asks for in a shop of thousands of products, as text.",
    ),
    Shipped(
        "agentrl/ShopWeb-v0",
        "shop.env_web:ShopWebEnv",
        "The same shop as web pages, in a real Chromium.",
        extra="web",
        needs=("playwright",),
    ),
)


def register_all() -> None:
    """Register every shipped environment; cheap (nothing is imported) and idempotent."""
    for shipped in SHIPPED:
        register(
            shipped.id,
            f"{PACKAGE}.{shipped.entry_point}",
            summary=shipped.summary,
            extra=shipped.extra,
            needs=shipped.needs,
            kwargs=shipped.kwargs,
        )
