"""The command line: one module a command, no logic. A command's module is imported only when it runs."""
