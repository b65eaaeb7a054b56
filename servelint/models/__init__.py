"""Who a model is: family, role, vocabulary and terminators, from its name or from its files. Knows no engine."""
