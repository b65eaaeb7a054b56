"""`python -m servelint`."""

from servelint.cli.main import run

if __name__ == "__main__":
    run()
