"""Benchmarks: one module each, run by `agentrl bench NAME`, against a baseline in the same run."""
