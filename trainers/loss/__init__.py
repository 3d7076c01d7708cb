"""Policy losses: pure functions from log-probabilities and advantages to one loss per token. One a module."""
