"""Syntax only: each reader gives spans on every value, and a small editor. Knows nothing of what values mean."""
