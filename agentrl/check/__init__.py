"""The checker: proves that an environment keeps the rules that training and evaluation rely on."""

from agentrl.check.checker import check_env
from agentrl.check.report import CheckResult, Report, render

__all__ = ["CheckResult", "Report", "check_env", "render"]
