"""Search engines over passages: full text (tantivy, bm25s), by meaning (dense), fused, or behind HTTP.

`from agentrl.tools.retrieval.build import build_engine` makes one by name; each engine has a module of its own.
"""
