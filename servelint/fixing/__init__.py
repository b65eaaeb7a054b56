"""Chooses, orders, applies, re-reads, proves and writes repairs. Knows no rule."""
