"""Which file is what, and where in it the servings are. Knows no rules."""
