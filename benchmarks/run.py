"""Measures servelint beside its peers, in one run, as ratios of CPU time.

    python benchmarks/run.py [--rounds N] [--only NAME]

CPU time is user plus system time of finished child processes, by the kernel's own accounting, so that it holds on a
busy machine; of each pair the two commands take turns, and the median of the ratios is what counts. Peak memory is the
largest resident set of the process.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from generate import MODELFILE, config_map, deployment, write_manifests, write_tree

_BIN = Path(sys.executable).parent
SERVELINT = str(_BIN / "servelint")
YAMLLINT = str(_BIN / "yamllint")
_READ_ALL = """
import os, sys
for folder, folders, names in os.walk(sys.argv[1]):
    for name in names:
        with open(os.path.join(folder, name), "rb") as file:
            file.read()
"""


# An installed program finds its compiled modules; where writing them is switched off, each start would compile anew.
_ENVIRONMENT = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}


def measure(command: Sequence[str]) -> tuple[float, float]:
    """CPU seconds and peak MiB of one run of a command; its output is thrown away."""
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=_ENVIRONMENT)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 1):
        raise SystemExit(f"{command[0]} ended with {process.returncode}")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def compare(name: str, bar: float, command: Sequence[str], peer: Sequence[str], rounds: int) -> bool:
    """Run the two in turn and print the ratio of their CPU times against the bar."""
    measure(command), measure(peer)
    pairs = [(measure(command), measure(peer)) for _ in range(rounds)]
    ratio = statistics.median(mine[0] / other[0] for mine, other in pairs)
    mine = statistics.median(pair[0][0] for pair in pairs)
    other = statistics.median(pair[1][0] for pair in pairs)
    memory = max(pair[0][1] for pair in pairs)
    held = ratio <= bar
    print(
        f"{name:<46} {mine:8.3f} s against {other:8.3f} s: {ratio:5.2f} "
        f"(bar {bar:.2f}, {'held' if held else 'MISSED'}), "
        f"peak {memory:.0f} MiB"
    )
    return held


def growth(name: str, commands: Sequence[Sequence[str]], rounds: int) -> bool:
    """CPU time for one, two and four times the work, less the cost of a start; linear means 1, 2, 4."""
    empty = statistics.median(measure([SERVELINT, "check", os.devnull])[0] for _ in range(rounds))
    runs = [[measure(command) for _ in range(rounds)] for command in commands]
    times = [statistics.median(time for time, _ in measured) - empty for measured in runs]
    shares = [time / times[0] for time in times]
    memory = max(peak for _, peak in runs[-1])
    held = shares[-1] <= 5.0
    print(
        f"{name:<46} {' : '.join(f'{share:.2f}' for share in shares)} "
        f"({'linear' if held else 'NOT LINEAR'}), peak {memory:.0f} MiB"
    )
    return held


def main() -> int:
    """Run the benchmarks; exit status 1 where a bar is missed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    rounds = options.rounds
    held = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        modelfile, one = folder / "Modelfile", folder / "one.yaml"
        modelfile.write_text(MODELFILE, encoding="utf-8")
        one.write_text(deployment(1), encoding="utf-8")
        os.chdir(folder)
        if options.only in ("", "cold"):
            held.append(
                compare(
                    "cold: check Modelfile / yamllint one.yaml", 1.0, [SERVELINT, "check", "Modelfile"],
                    [YAMLLINT, "one.yaml"], rounds * 3,
                )
            )  # fmt: skip
        if options.only in ("", "many"):
            write_manifests(folder / "many", 1000)
            held.append(
                compare(
                    "1,000 manifests of 60 lines / yamllint", 0.2, [SERVELINT, "check", "many"],
                    [YAMLLINT, "-d", "relaxed", "many"], max(3, rounds // 2),
                )
            )  # fmt: skip
        if options.only in ("", "tree"):
            write_tree(folder / "tree", 10_000, 0.02)
            held.append(
                compare(
                    "10,000 files, 2 % manifests / reading them", 3.0, [SERVELINT, "check", "tree"],
                    [sys.executable, "-c", _READ_ALL, "tree"], rounds,
                )
            )  # fmt: skip
        if options.only in ("", "growth"):
            for times in (1, 2, 4):
                write_manifests(folder / f"files-{times}", 200 * times)
                text = "".join(deployment(number) + config_map(number) for number in range(185 * times))
                (folder / f"size-{times}.yaml").write_text(text, encoding="utf-8")
            held.append(
                growth("1, 2, 4 times the files", [[SERVELINT, "check", f"files-{n}"] for n in (1, 2, 4)], rounds)
            )
            held.append(
                growth(
                    "1, 2, 4 times a file, to 50,000 lines",
                    [[SERVELINT, "check", f"size-{n}.yaml"] for n in (1, 2, 4)],
                    rounds,
                )
            )
    return 0 if all(held) else 1


if __name__ == "__main__":
    sys.exit(main())
