"""Rebuilds the flag tables in `rules/engines/` from introspections of the engines' own parsers.

    python -m servelint.data.flags ENGINE INTROSPECTION.json [OUTPUT.json]

A new version of an engine is a new introspection, and nothing else; what an introspection cannot tell is named by hand
in the engine's module here.
"""
