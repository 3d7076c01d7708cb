"""Recipes: what a training run is, as strict data.

A recipe is a TOML file of these sections; `extends` names the recipe(s) below it, later layers win key by
key, `--set a.b=value` is the last layer. An unknown key is an error that names the nearest known one.
The resolved recipe is stored with the run.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from agentrl.core.failures import UnknownName, UserError
from agentrl.inference.engine import Sampling
from agentrl.trainers.aggregate import token_weights
from agentrl.trainers.methods import check_component

COMPONENTS = ("credit", "loss", "aggregate")
RECIPES = Path(__file__).parent / "recipes"


class Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=False, validate_default=True)


class Component(BaseModel):
    """A named method and its parameters: `{name = "gigpo", omega = 1.0}`. Parameters are checked against the
    method's own defaults (`agentrl methods NAME`)."""

    model_config = ConfigDict(extra="allow", frozen=True)
    name: str

    @property
    def params(self) -> dict[str, Any]:
        return dict(self.model_extra or {})


class ModelSection(Section):
    name: str = "tiny-search"
    """A shipped policy, a model folder, or a hub name."""
    device: Literal["auto", "cpu", "cuda"] = "auto"
    dtype: Literal["auto", "float32", "bfloat16"] = "auto"
    gradient_checkpointing: bool = False
    lora_rank: int = Field(0, ge=0)
    """0 trains all weights; above 0, a LoRA adapter of this rank (needs the extra `lora`)."""
    max_context: int = Field(0, ge=0)
    """Most tokens of prompt and completion; 0 takes the model's own limit."""
    threads: int = Field(0, ge=0)
    """CPU threads for torch; 0 leaves torch's choice. Stored with the run: sums depend on it."""


class EnvSection(Section):
    id: str = "agentrl/Search-v0"
    kwargs: dict[str, Any] = {}
    split: str = "train"
    tasks: int = Field(0, ge=0)
    """How many different training tasks (seeds 0..tasks-1, shuffled each epoch); 0 never repeats a seed."""


class SamplingSection(Section):
    temperature: float = Field(1.0, gt=0)
    """Above 0: a policy that never varies learns nothing."""
    top_k: int = Field(0, ge=0)
    top_p: float = Field(1.0, gt=0, le=1)
    min_p: float = Field(0.0, ge=0, lt=1)
    max_tokens: int = Field(256, ge=1)

    def sampling(self) -> Sampling:
        return Sampling(**self.model_dump())


class RolloutSection(Section):
    tasks_per_step: int = Field(16, ge=1)
    group_size: int = Field(8, ge=1)
    concurrency: int = Field(128, ge=1)
    max_turns: int = Field(0, ge=0)
    """Turn limit on top of the environment's own; 0 for none."""
    history: int = Field(0, ge=0)
    """How many of the last turns the model is shown beside the first prompt; 0 for all."""
    retries: int = Field(2, ge=0)
    min_group: int = Field(2, ge=1)
    step_seconds: float = Field(60.0, gt=0)
    generate_seconds: float = Field(600.0, gt=0)
    deterministic: bool = False
    """Call the model only when every live episode waits for it: batches then depend on the tasks alone."""
    sampling: SamplingSection = SamplingSection()


class KLSection(Section):
    name: Literal["k1", "k2", "k3"] = "k3"
    coef: float = Field(0.0, ge=0)
    place: Literal["loss", "reward"] = "loss"


class OptimSection(Section):
    lr: float = Field(1e-6, gt=0)
    betas: tuple[float, float] = (0.9, 0.95)
    eps: float = Field(1e-8, gt=0)
    weight_decay: float = Field(0.0, ge=0)
    warmup_steps: int = Field(0, ge=0)
    grad_clip: float = Field(1.0, ge=0)
    """Largest gradient norm; 0 does not clip."""
    epochs: int = Field(1, ge=1)
    minibatches: int = Field(1, ge=1)
    tokens_per_microbatch: int = Field(16384, ge=1)
    old_logprobs: Literal["behaviour", "recompute"] = "behaviour"


class EvalSection(Section):
    episodes: int = Field(300, ge=0)
    """Held-out episodes before and after training; 0 for none."""
    every: int = Field(0, ge=0)
    split: str = "test"
    concurrency: int = Field(256, ge=1)
    temperature: float = Field(1.0, ge=0)


class CheckpointSection(Section):
    every: int = Field(10, ge=1)
    """Steps between checkpoints. Rollouts are stored every step, so that a resumed run replays the updates
    since the last checkpoint instead of sampling again."""
    keep: int = Field(2, ge=1)


class Recipe(Section):
    """Everything that decides a run."""

    name: str = "run"
    summary: str = ""
    seed: int = 0
    steps: int = Field(100, ge=1)
    model: ModelSection = ModelSection()
    env: EnvSection = EnvSection()
    rollout: RolloutSection = RolloutSection()
    credit: Component = Component(name="grpo")
    loss: Component = Component(name="clip")
    aggregate: Component = Component(name="token_mean")
    kl: KLSection = KLSection()
    entropy_coef: float = 0.0
    optim: OptimSection = OptimSection()
    eval: EvalSection = EvalSection()
    checkpoint: CheckpointSection = CheckpointSection()


def load_recipe(name: str, overrides: Iterable[str] = ()) -> Recipe:
    """The recipe called `name` (shipped) or at a path, with `a.b=value` overrides.

    Raises:
        UnknownName: an unknown recipe or key, with the nearest known ones.
        UserError: a file that is not TOML, a value that does not fit.
    """
    layer = read_layer(name)
    changes = [parse_override(text) for text in overrides]
    for path, value in changes:
        if path == "extends":
            layer = {**layer, "extends": value}
    data = flatten_layers(layer, (name,))
    for path, value in changes:
        if path != "extends":
            put(data, path, value)
    return build(data)


def build(data: Mapping[str, Any]) -> Recipe:
    """A validated recipe from plain data.

    Raises:
        UnknownName, UserError: one clear sentence for the first thing that is wrong.
    """
    try:
        recipe = Recipe.model_validate(dict(data))
    except ValidationError as error:
        raise explain(error) from None
    for point in COMPONENTS:
        check_component(point, getattr(recipe, point))
    token_weights(recipe.aggregate.name, (), **recipe.aggregate.params)  # says what it needs
    return recipe


def parse_override(text: str) -> tuple[str, Any]:
    """`("credit.name", "gigpo")` from `credit.name=gigpo`; values are TOML, bare words are strings."""
    key, equals, raw = text.partition("=")
    if not equals or not key.strip():
        raise UserError(f"--set takes key=value, not {text!r}")
    return key.strip(), parse_value(raw)


def parse_value(raw: str) -> Any:
    """A TOML value; also numbers as people write them (`.5`, `1e5`); anything else is a string."""
    try:
        return tomllib.loads(f"value = {raw}")["value"]
    except tomllib.TOMLDecodeError:
        number = re.fullmatch(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", raw)
        return float(raw) if number else raw


def read_layer(name: str) -> dict[str, Any]:
    path = Path(name) if name.endswith(".toml") else RECIPES / f"{name.replace('-', '_')}.toml"
    if not path.is_file():
        if name.endswith(".toml"):
            raise UserError(f"no recipe file at {name}")
        raise UnknownName("recipe", name, recipe_names())
    try:
        return tomllib.loads(path.read_text())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise UserError(f"{path} is not valid TOML: {error}") from None


def recipe_names() -> list[str]:
    """Names of the shipped recipes."""
    return sorted(path.stem.replace("_", "-") for path in RECIPES.glob("*.toml"))


def flatten_layers(layer: Mapping[str, Any], seen: tuple[str, ...]) -> dict[str, Any]:
    """Merge a layer over everything it extends."""
    below = layer.get("extends", ())
    merged: dict[str, Any] = {}
    for parent in (below,) if isinstance(below, str) else below:
        if parent in seen:
            raise UserError(f"recipes extend each other in a circle: {' -> '.join((*seen, parent))}")
        merged = merge(merged, flatten_layers(read_layer(parent), (*seen, parent)))
    return merge(merged, {key: value for key, value in layer.items() if key != "extends"})


def merge(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """`above` over `below`, table by table; a component with another name replaces the whole component."""
    out = dict(below)
    for key, value in above.items():
        old = out.get(key)
        if isinstance(old, Mapping) and isinstance(value, Mapping):
            renamed = key in COMPONENTS and value.get("name", old.get("name")) != old.get("name")
            out[key] = value if renamed else merge(old, value)
        else:
            out[key] = value
    return out


def put(data: dict[str, Any], path: str, value: Any) -> None:
    """Set `a.b.c` in nested tables; naming another component drops the parameters of the old one."""
    keys = path.split(".")
    at = data
    for key in keys[:-1]:
        inner = at.get(key, {})
        if not isinstance(inner, dict):
            raise UserError(f"--set {path}: {key} is not a table")
        at[key] = dict(inner)
        at = at[key]
    if keys[-1] == "name" and len(keys) == 2 and keys[0] in COMPONENTS and at.get("name") != value:
        at.clear()
    at[keys[-1]] = value


def explain(error: ValidationError) -> UserError:
    """One sentence for the first problem of a recipe."""
    first = error.errors(include_url=False)[0]
    location = [str(part) for part in first["loc"]]
    path = ".".join(location)
    if first["type"] == "extra_forbidden":
        section = section_at(location[:-1])
        known = section.model_fields if section else Recipe.model_fields
        return UnknownName("recipe key", path, [".".join((*location[:-1], key)) for key in known])
    return UserError(
        f"recipe key {path}: {first['msg'][0].lower()}{first['msg'][1:]} (got {first['input']!r:.60})"
    )


def section_at(keys: Iterable[str]) -> type[BaseModel] | None:
    at: type[BaseModel] = Recipe
    for key in keys:
        field = at.model_fields.get(key)
        if (
            field is None
            or not isinstance(field.annotation, type)
            or not issubclass(field.annotation, BaseModel)
        ):
            return None
        at = field.annotation
    return at


def to_toml(recipe: Recipe) -> str:
    """The resolved recipe as a file that `load_recipe` reads back to the same."""
    data = recipe.model_dump(mode="json")
    lines = [f"{key} = {toml_value(value)}" for key, value in data.items() if not isinstance(value, dict)]
    for key, value in data.items():
        if isinstance(value, dict):
            lines += [
                "",
                f"[{key}]",
                *(f"{toml_key(name)} = {toml_value(item)}" for name, item in value.items()),
            ]
    return "\n".join(lines) + "\n"


def toml_value(value: Any) -> str:
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{toml_key(key)} = {toml_value(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(toml_value(item) for item in value) + "]"
    # Every JSON scalar but null is a TOML scalar, and a recipe holds no null.
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")


def toml_key(key: str) -> str:
    return key if re.fullmatch(r"[A-Za-z0-9_-]+", key) else json.dumps(key, ensure_ascii=False)
