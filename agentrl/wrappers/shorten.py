"""Long observations, shortened: so many tokens or characters a message, with a mark where something is missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeAlias, get_args

from agentrl.core.env import ToolEnv
from agentrl.core.failures import MissingExtra, UserError
from agentrl.core.messages import Message, Observation
from agentrl.wrappers.base import Played, Shown, Wrapper

Keep: TypeAlias = Literal["head", "tail", "both"]
Spans: TypeAlias = Callable[[str], Sequence[tuple[int, int]]]
"""Where the tokens of a text are, as (begin, end) of characters."""


class Shorten(Wrapper):
    """Cuts what the environment shows (system messages apart) to so many tokens or characters a message.

    Args:
        tokens: the most tokens, by `tokenizer`.
        tokenizer: a folder with a `tokenizer.json`, that file, or a function from a text to the (begin, end) of its tokens.
        characters: instead of `tokens`: the most characters.
        keep: which part stays: the `head`, the `tail`, or half of each.

    Raises:
        UserError: not one of `tokens` and `characters`, no tokenizer, or no such file.
        MissingExtra: a tokenizer's file without the package `tokenizers`.
    """

    def __init__(
        self,
        env: ToolEnv,
        *,
        tokens: int | None = None,
        tokenizer: str | Path | Spans | None = None,
        characters: int | None = None,
        keep: Keep = "both",
    ) -> None:
        super().__init__(env)
        if (tokens is None) == (characters is None):
            raise UserError(
                "shorten: give the most tokens (and a tokenizer) or the most characters, not both"
            )
        most = tokens if tokens is not None else characters
        if isinstance(most, bool) or not isinstance(most, int) or most < 1:
            raise UserError(f"shorten: the limit must be a whole number of at least 1, got {most!r:.40}")
        if keep not in get_args(Keep):
            raise UserError(f"shorten: keep must be {', '.join(get_args(Keep))}, not {keep!r:.40}")
        self.most, self.keep = most, keep
        self.unit = "characters" if tokens is None else "tokens"
        self._spans = characters_of if tokens is None else spans_by(tokenizer)

    def begun(self, observation: Observation, info: dict[str, Any]) -> Shown:
        return self._short(observation), info

    def played(
        self, observation: Observation, reward: float, terminated: bool, truncated: bool, info: dict[str, Any]
    ) -> Played:
        return self._short(observation), reward, terminated, truncated, info

    def _short(self, observation: Observation) -> Observation:
        return tuple(
            message if message.role == "system" else self._shortened(message) for message in observation
        )

    def _shortened(self, message: Message) -> Message:
        if len(message.content) <= self.most:  # a token is at least one character, but for odd scripts
            return message
        return replace(
            message, content=shortened(message.content, self.most, self.keep, self._spans, self.unit)
        )


def shortened(text: str, most: int, keep: Keep, spans: Spans, unit: str) -> str:
    """The text, or `most` of its tokens and a mark that says how many are missing."""
    pieces = spans(text)
    left = len(pieces) - most
    if left <= 0:
        return text
    mark = f"[... {left} {unit} left out ...]"
    head = {"head": most, "tail": 0, "both": (most + 1) // 2}[keep]
    tail = most - head
    first = text[: pieces[head - 1][1]] if head else ""
    last = text[pieces[len(pieces) - tail][0] :] if tail else ""
    return f"{first}{mark}{last}"


def characters_of(text: str) -> Sequence[tuple[int, int]]:
    return [(at, at + 1) for at in range(len(text))]


def spans_by(tokenizer: str | Path | Spans | None) -> Spans:
    if callable(tokenizer):
        return tokenizer
    if tokenizer is None:
        raise UserError(
            "shorten: tokens are counted by a tokenizer: name its folder, or give characters instead"
        )
    path = Path(tokenizer)
    file = path / "tokenizer.json" if path.is_dir() else path
    if not file.is_file():
        raise UserError(f"shorten: no tokenizer.json at {path}")
    try:
        from tokenizers import Tokenizer
    except ModuleNotFoundError:
        raise MissingExtra("train", "counting tokens") from None
    try:
        known = Tokenizer.from_file(str(file))
    except Exception as error:  # the library raises bare exceptions
        raise UserError(f"shorten: {file} is no tokenizer: {error}") from error
    return lambda text: known.encode(text, add_special_tokens=False).offsets
