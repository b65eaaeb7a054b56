"""The file system as servelint meets it: hostile, large, and not always readable."""
