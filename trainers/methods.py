"""The catalogue of methods: what a recipe may name, with paper, formula, defaults, fidelity and bias.

Imports no torch: a method names its function, which is imported when it is used.
"""

from __future__ import annotations

import importlib
import inspect
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args, get_origin, get_type_hints

from agentrl.core.failures import UnknownName, UserError

if TYPE_CHECKING:
    from agentrl.trainers.config import Component

Fidelity: TypeAlias = Literal["reference", "paper", "reading"]
PACKAGE = "agentrl.trainers"


@dataclass(frozen=True, slots=True)
class Method:
    """One method.

    Attributes:
        name: what a recipe calls it.
        plug_in_point: `credit`, `loss`, `kl`, `aggregate` or `entropy`.
        paper: where it comes from.
        formula: in one line.
        fidelity: `reference` (reproduces worked numbers of the published code), `paper` (from the formula), `reading`
            (our reading of a description).
        bias: of the expected policy gradient.
        target: `module:function` inside the trainers.
    """

    name: str
    plug_in_point: str
    paper: str
    formula: str
    fidelity: Fidelity
    bias: str
    target: str

    def load(self) -> Callable[..., Any]:
        module, _, function = self.target.partition(":")
        return getattr(importlib.import_module(f"{PACKAGE}.{module}"), function)

    def defaults(self) -> dict[str, Any]:
        """Keyword parameters and their defaults."""
        parameters = inspect.signature(self.load()).parameters.values()
        return {p.name: p.default for p in parameters if p.kind is p.KEYWORD_ONLY}

    def choices(self) -> dict[str, tuple[str, ...]]:
        """What each keyword parameter that is a `Literal` may be."""
        function = self.load()
        named = {name: function.__annotations__[name] for name in self.defaults()}
        hints = get_type_hints(
            type("Parameters", (), {"__annotations__": named}), vars(sys.modules[function.__module__])
        )
        return {name: get_args(hint) for name, hint in hints.items() if get_origin(hint) is Literal}

    def to_dict(self) -> dict[str, Any]:
        return {
            "name": self.name,
            "paper": self.paper,
            "plug_in_point": self.plug_in_point,
            "formula": self.formula,
            "fidelity": self.fidelity,
            "bias": self.bias,
            "defaults": self.defaults(),
            "choices": {name: list(values) for name, values in self.choices().items()},
        }


METHODS: tuple[Method, ...] = (
    Method("reinforce", "credit", "Williams 1992, doi:10.1007/BF00992696", "A = R - b", "reference",
           "unbiased (b = 0); scaled by (n-1)/n (batch mean)", "credit.reinforce:reinforce"),
    Method("rloo", "credit", "arXiv:2402.14740", "A_i = R_i - mean of the others", "reference", "unbiased",
           "credit.rloo:rloo"),
    Method("grpo", "credit", "arXiv:2402.03300", "A_i = (R_i - mean) / (std + eps)", "reference",
           "biased: tasks weighted by 1/std", "credit.grpo:grpo"),
    Method("dr_grpo", "credit", "arXiv:2503.20783", "A_i = R_i - mean", "reference", "scaled by (n-1)/n",
           "credit.dr_grpo:dr_grpo"),
    Method("gigpo", "credit", "arXiv:2505.10978", "A = A_E + omega A_S, A_S among equal state keys", "reference",
           "scaled per state; biased with exclude_own=false where situations repeat", "credit.gigpo:gigpo"),
    Method("turn_return", "credit", "Sutton et al. 1999 (policy gradient theorem), reward to go",
           "G_k = r_k + gamma G_{k+1}, minus the others at this depth", "reference",
           "unbiased (gamma = 1) where episodes are equally long; else scaled per depth",
           "credit.turn_return:turn_return"),
    Method("clip", "loss", "arXiv:1707.06347; arXiv:2503.14476", "-min(r A, clip(r, 1-eps_low, 1+eps_high) A)",
           "reference", "first step unbiased; later steps trust-region biased", "loss.clip:clip"),
    Method("reinforce_loss", "loss", "Williams 1992, doi:10.1007/BF00992696", "-A log pi", "reference", "unbiased on-policy",
           "loss.reinforce:reinforce"),
    Method("k1", "kl", "Schulman 2020, Approximating KL divergence", "log pi - log ref", "reference",
           "as a loss: expected gradient 0; in the reward: reverse KL", "kl:k1"),
    Method("k2", "kl", "Schulman 2020, Approximating KL divergence", "(log pi - log ref)^2 / 2", "reference",
           "as a loss: reverse KL", "kl:k2"),
    Method("k3", "kl", "Schulman 2020, Approximating KL divergence", "ref/pi - 1 - log(ref/pi)", "reference",
           "as a loss: forward KL", "kl:k3"),
    Method("token_mean", "aggregate", "arXiv:2503.14476", "sum over tokens / global number of tokens", "reference",
           "long episodes weigh more", "aggregate:token_mean"),
    Method("sequence_mean", "aggregate", "arXiv:2402.03300", "mean over episodes of the mean over tokens", "reference",
           "tokens of long episodes weigh less", "aggregate:sequence_mean"),
    Method("sequence_sum", "aggregate", "arXiv:2503.20783", "mean over episodes of the sum over tokens", "reference",
           "unbiased", "aggregate:sequence_sum"),
    Method("turn_mean", "aggregate", "arXiv:2512.17008", "mean over turns of the mean over tokens", "reference",
           "tokens of long turns weigh less", "aggregate:turn_mean"),
    Method("constant", "aggregate", "arXiv:2503.20783", "sum over tokens / (episodes x length)", "reference", "unbiased",
           "aggregate:constant"),
    Method("entropy_bonus", "entropy", "Williams & Peng 1991, doi:10.1080/09540099108946587", "- coef * mean of H",
           "reference", "towards entropy, by design", "entropy:bonus"),
)  # fmt: skip


def all_methods() -> list[Method]:
    """Every method, by plug-in point and name."""
    return sorted(METHODS, key=lambda method: (method.plug_in_point, method.name))


def find_method(name: str) -> Method:
    """The method called `name`.

    Raises:
        UnknownName: with the nearest.
    """
    for method in METHODS:
        if method.name == name:
            return method
    raise UnknownName("method", name, [method.name for method in METHODS])


def get_method(point: str, name: str) -> Method:
    """The method called `name` at a plug-in point.

    Raises:
        UnknownName: with the nearest of that point.
    """
    known = {method.name: method for method in METHODS if method.plug_in_point == point}
    if name not in known:
        raise UnknownName(f"{point} method", name, known)
    return known[name]


def component(point: str, chosen: Component) -> Callable[..., Any]:
    """The function that a recipe's component names, with its parameters bound."""
    return partial(check_component(point, chosen).load(), **chosen.params)


def check_component(point: str, chosen: Component) -> Method:
    """The method that a recipe's component names, if its parameters fit.

    Raises:
        UnknownName: an unknown method, parameter or choice, with the nearest.
        UserError: a parameter of the wrong type.
    """
    method = get_method(point, chosen.name)
    defaults, choices = method.defaults(), method.choices()
    for name, value in chosen.params.items():
        if name not in defaults:
            raise UnknownName(f"parameter of {chosen.name}", name, defaults)
        if isinstance(value, str) and name in choices and value not in choices[name]:
            raise UnknownName(f"{name} of {chosen.name}", value, choices[name])
        default = defaults[name]
        number = isinstance(default, int | float) and not isinstance(default, bool)
        fits = (
            isinstance(value, int | float) and not isinstance(value, bool)
            if number
            else isinstance(value, type(default))
        )
        if not fits:
            raise UserError(f"parameter {name} of {chosen.name} must be like {default!r}, not {value!r}")
    return method
