"""Reads LLM serving manifests, says whether each deployment stops where it should, and repairs the file."""

# A literal: importlib.metadata would cost a cold start more than reading a manifest does.
__version__ = "0.1.0"
