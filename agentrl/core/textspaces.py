"""Spaces of texts, and what all spaces for language models share.

Invariant: what a space samples it contains, and it samples from its own `np_random` alone. `schema()` is the
JSON Schema of what `to_jsonable` writes; spaces are plain data and can be compared, copied and pickled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any, TypeVar

import gymnasium
import numpy as np

from agentrl.core.failures import UserError
from agentrl.core.jsonvalues import Schema
from agentrl.core.patterns import sample_pattern
from agentrl.core.sampling import pick

T = TypeVar("T")
Seed = int | np.random.Generator | None


class TalkSpace(gymnasium.Space[T]):
    """What the spaces of this module share. A subclass says what it is made of (`_parts`), what is in it
    (`contains`), how to draw (`_draw`) and how an element looks in JSON (`schema`, `_to_json`, `_from_json`)."""

    def __init__(self, seed: Seed = None) -> None:
        super().__init__(None, None, seed)

    def _parts(self) -> dict[str, Any]:
        return {}

    def _draw(self, rng: np.random.Generator) -> T:
        raise NotImplementedError

    def schema(self) -> Schema:
        """JSON Schema of an element as `to_jsonable` writes it."""
        raise NotImplementedError

    def _to_json(self, x: T) -> Any:
        return x

    def _from_json(self, x: Any) -> T:
        return x

    @property
    def is_np_flattenable(self) -> bool:
        return False

    def sample(self, mask: Any = None, probability: Any = None) -> T:
        """A random element.

        Raises:
            UserError: a mask was given to a space that has none.
        """
        if mask is not None or probability is not None:
            raise UserError(f"{type(self).__name__} has no masks")
        return self._draw(self.np_random)

    def to_jsonable(self, sample_n: Iterable[T]) -> list[Any]:
        return [self._to_json(x) for x in sample_n]

    def from_jsonable(self, sample_n: Iterable[Any]) -> list[T]:
        return [self._from_json(x) for x in sample_n]

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other._parts() == self._parts()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({', '.join(f'{key}={value!r}' for key, value in self._parts().items())})"
        )


class TextSpace(TalkSpace[str]):
    """Texts of a bounded length, of given characters or of a given form.

    Args:
        max_length, min_length: in characters, inclusive.
        charset: the characters that may occur; any if None (samples are printable ASCII).
        pattern: a regular expression that the whole text matches.
    """

    def __init__(
        self,
        max_length: int,
        *,
        min_length: int = 0,
        charset: str | None = None,
        pattern: str | None = None,
        seed: Seed = None,
    ) -> None:
        if not 0 <= min_length <= max_length:
            raise UserError(f"a text of {min_length} to {max_length} characters: there is none")
        if charset == "" and min_length > 0:
            raise UserError("a charset needs at least one character")
        self.max_length, self.min_length, self.charset, self.pattern = (
            max_length,
            min_length,
            charset,
            pattern,
        )
        super().__init__(seed)
        if pattern is not None:
            self._matching(np.random.default_rng(0))

    def _parts(self) -> dict[str, Any]:
        names = ("max_length", "min_length", "charset", "pattern")
        return {name: getattr(self, name) for name in names if getattr(self, name) not in (None, 0)}

    def contains(self, x: Any) -> bool:
        return (
            isinstance(x, str)
            and self.min_length <= len(x) <= self.max_length
            and (self.charset is None or set(x) <= set(self.charset))
            and (self.pattern is None or re.fullmatch(self.pattern, x) is not None)
        )

    def _draw(self, rng: np.random.Generator) -> str:
        if self.pattern is not None:
            return self._matching(rng)
        chars = [chr(code) for code in range(32, 127)] if self.charset is None else sorted(set(self.charset))
        size = int(rng.integers(self.min_length, self.max_length + 1)) if chars else 0
        return "".join(pick(chars, rng) for _ in range(size))

    def _matching(self, rng: np.random.Generator) -> str:
        for _ in range(200):
            text = sample_pattern(self.pattern or "", rng)
            if self.contains(text):
                return text
        raise UserError(f"no text was found in {self!r}")

    def schema(self) -> Schema:
        out: Schema = {"type": "string", "minLength": self.min_length, "maxLength": self.max_length}
        if self.pattern is not None:
            out["pattern"] = f"^(?:{self.pattern})$"
        elif self.charset is not None:
            out["pattern"] = f"^[{re.escape(self.charset)}]*$" if self.charset else "^$"
        return out


class ChoiceSpace(TalkSpace[str]):
    """One of a few texts, in a fixed order: the commands that a game admits, the answers of a quiz."""

    def __init__(self, options: Sequence[str], seed: Seed = None) -> None:
        self.options = tuple(options)
        if not self.options or len(set(self.options)) < len(self.options):
            raise UserError(f"options must be different texts, at least one: {list(self.options)!r:.100}")
        super().__init__(seed)

    def _parts(self) -> dict[str, Any]:
        return {"options": self.options}

    def contains(self, x: Any) -> bool:
        return isinstance(x, str) and x in self.options

    def sample(self, mask: Any = None, probability: Any = None) -> str:
        """A random option.

        Args:
            mask: per option, whether it may be drawn.
            probability: per option, its probability; sums to 1.
        """
        if mask is not None and probability is not None:
            raise UserError("give a mask or probabilities, not both")
        weights = mask if mask is not None else probability
        if weights is None:
            return pick(self.options, self.np_random)
        values = np.asarray(weights, dtype=np.float64)
        if values.shape != (len(self.options),) or not (values >= 0).all() or values.sum() <= 0:
            raise UserError(f"weights must be {len(self.options)} numbers, not negative, not all 0")
        return self.options[int(self.np_random.choice(len(self.options), p=values / values.sum()))]

    def schema(self) -> Schema:
        return {"type": "string", "enum": list(self.options)}
