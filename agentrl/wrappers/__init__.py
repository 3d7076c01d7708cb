"""Wrappers: the same environment with another limit, another view, another way to act, another reward.

By name wherever constructor arguments are taken, `agentrl.make("Search-v0", wrap=[{"name": "turn_limit", "turns": 5}])`, so
that training, evaluation and checks take them too; or by hand, `TurnLimit(env, turns=5)`. The first is the innermost.
"""
