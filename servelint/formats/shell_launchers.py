"""Programs that run other programs: how far their own options go, and where the command that they run begins.

Sources: the manual pages of coreutils, util-linux, sudo, numactl, procps, tini, Slurm, uv, conda, Apptainer, Docker and
kubectl. An option that is not listed here is taken to have no value of its own.
"""

from __future__ import annotations

from servelint.records import record


@record
class Launcher:
    """`valued` are the options whose value is the next word; `operands` how many words stand before the command.

    `subcommand` must be the first operand (`uv run`). `assigns` lets `NAME=value` words stand before the command,
    `joins` means that the words are joined by blanks and run by a shell, `dashed` that the command follows `--`.
    `elsewhere` means that it runs on another machine or in a container, with another environment.
    """

    valued: frozenset[str] = frozenset()
    operands: int = 0
    subcommand: str = ""
    assigns: bool = False
    joins: bool = False
    dashed: bool = False
    elsewhere: bool = False


def _launcher(
    valued: str = "",
    operands: int = 0,
    subcommand: str = "",
    assigns: bool = False,
    joins: bool = False,
    dashed: bool = False,
    elsewhere: bool = False,
) -> Launcher:
    return Launcher(frozenset(valued.split()), operands, subcommand, assigns, joins, dashed, elsewhere)


_CONDA = _launcher("-n --name -p --prefix --cwd -r --root-prefix -e --env -a --attach", subcommand="run")
_CONTAINER = _launcher(
    "-e --env --env-file -u --user -w --workdir --detach-keys", operands=1, subcommand="exec", elsewhere=True
)
_APPTAINER = _launcher(
    "-B --bind --env --env-file -H --home -W --workdir --pwd --cwd -o --overlay -S --scratch --mount --network"
    " --network-args --security --app --dns --add-caps --drop-caps --apply-cgroups --hostname --contain-gid",
    operands=1,
    subcommand="exec",
    elsewhere=True,
)
_UV_VALUES = (
    "--with --with-requirements --with-editable -w -p --python --env-file --extra --no-extra --group --no-group"
    " --only-group --package --project --directory --index --index-url -i --default-index --extra-index-url"
    " --find-links -f --index-strategy --keyring-provider --cache-dir --config-file --color --refresh-package"
    " --reinstall-package -P --upgrade-package --resolution --prerelease --exclude-newer --link-mode -C"
    " --config-setting --no-build-package --no-binary-package --torch-backend --from -c --constraints --overrides"
)
_MPI = _launcher(
    "-n -np --np -c -N --npernode -H --host -host --hostfile -hostfile --machinefile -machinefile -x --map-by"
    " --bind-to --rank-by -wdir --wdir -path --prefix -ppn -f -genv -env"
)

LAUNCHERS: dict[str, Launcher] = {
    "command": _launcher(),
    "builtin": _launcher(),
    "exec": _launcher("-a"),
    "env": _launcher("-u --unset -C --chdir -S --split-string", assigns=True),
    "nohup": _launcher(),
    "setsid": _launcher(),
    "time": _launcher("-f --format -o --output"),
    "nice": _launcher("-n --adjustment"),
    "ionice": _launcher("-c --class -n --classdata"),
    "chrt": _launcher("-T --sched-runtime -P --sched-period -D --sched-deadline", operands=1),
    "taskset": _launcher(operands=1),
    "numactl": _launcher(
        "-i --interleave -m --membind -N --cpunodebind -C --physcpubind -p --preferred -P --preferred-many"
        " -w --weighted-interleave"
    ),
    "stdbuf": _launcher("-i --input -o --output -e --error"),
    "timeout": _launcher("-k --kill-after -s --signal", operands=1),
    "sudo": _launcher(
        "-u --user -g --group -h --host -p --prompt -C --close-from -r --role -t --type -T --command-timeout"
        " -U --other-user -D --chdir -R --chroot",
        assigns=True,
    ),
    "doas": _launcher("-u -C"),
    "gosu": _launcher(operands=1),
    "su-exec": _launcher(operands=1),
    "s6-setuidgid": _launcher(operands=1),
    "setpriv": _launcher(
        "--reuid --regid --groups --inh-caps --ambient-caps --bounding-set --securebits --pdeathsig"
        " --selinux-label --apparmor-profile"
    ),
    "chroot": _launcher(operands=1),
    "prlimit": _launcher(),
    "unshare": _launcher("-S -G -R --root --wd"),
    "nsenter": _launcher("-t --target -S --setuid -G --setgid"),
    "cgexec": _launcher("-g"),
    "flock": _launcher("-w --timeout --wait -E --conflict-exit-code", operands=1),
    "systemd-run": _launcher(
        "-u --unit -p --property --slice --description -E --setenv --uid --gid --working-directory -M --machine"
        " -H --host --nice --on-active --on-boot --on-startup --on-calendar --timer-property --service-type"
    ),
    "systemd-inhibit": _launcher("--what --who --why --mode"),
    "systemd-cat": _launcher("-t --identifier -p --priority --stderr-priority"),
    "tini": _launcher("-p -e"),
    "dumb-init": _launcher("-r --rewrite"),
    "catatonit": _launcher(),
    "unbuffer": _launcher(),
    "caffeinate": _launcher("-t -w"),
    "firejail": _launcher(),
    "strace": _launcher("-o -e -p -s -a -u -E -b -I -O -S -P -X"),
    "xvfb-run": _launcher("-n -s -e -f -p"),
    "proxychains4": _launcher("-f"),
    "xargs": _launcher("-I -n -P -L -d -E -s -a --max-args --max-procs --max-lines --delimiter --arg-file --max-chars"),
    "uv": _launcher(_UV_VALUES, subcommand="run"),
    "uvx": _launcher(_UV_VALUES),
    "pipx": _launcher("--spec --index-url --python --pip-args", subcommand="run"),
    "poetry": _launcher("-P --project -C --directory", subcommand="run"),
    "pdm": _launcher("-p --project -s --site-packages --venv", subcommand="run"),
    "pipenv": _launcher(subcommand="run"),
    "hatch": _launcher("-e --env -p --project", subcommand="run"),
    "rye": _launcher(subcommand="run"),
    "pixi": _launcher("-e --environment --manifest-path", subcommand="run"),
    "conda": _CONDA,
    "mamba": _CONDA,
    "micromamba": _CONDA,
    "apptainer": _APPTAINER,
    "singularity": _APPTAINER,
    "docker": _CONTAINER,
    "podman": _CONTAINER,
    "nerdctl": _CONTAINER,
    "kubectl": _launcher(subcommand="exec", dashed=True, elsewhere=True),
    "oc": _launcher(subcommand="exec", dashed=True, elsewhere=True),
    "srun": _launcher(
        "-A --account -N --nodes -n --ntasks -c --cpus-per-task -p --partition -w --nodelist -x --exclude -t --time"
        " -J --job-name -o --output -e --error -i --input -G --gpus -q --qos -D --chdir -C --constraint -m"
        " --distribution --gres --mem --mpi --export --jobid --ntasks-per-node --gpus-per-node --gpus-per-task"
        " --cpu-bind --container-image --container-mounts --container-name --container-workdir -r --relative"
    ),
    "mpirun": _MPI,
    "mpiexec": _MPI,
    "watch": _launcher("-n --interval", joins=True),
    "ssh": _launcher(
        "-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w -B", operands=1, joins=True, elsewhere=True
    ),
    "screen": _launcher("-S -c -e -h -s -t -T -Logfile -p"),
}
"""By base name. `time` and `command` stand here too: bash's own take the same forms."""

SHELLS = frozenset({"bash", "sh", "dash", "ash", "zsh", "ksh", "rbash"})

# Files that are sourced for what they do to PATH and the prompt, not to the script's own variables.
HARMLESS_SOURCES = frozenset(
    {"activate", "conda.sh", "mamba.sh", "profile", ".profile", ".bash_profile", ".bashrc", "bashrc", "nvm.sh"}
    | {"setvars.sh", "bash_completion", "modules.sh", "lmod.sh"}
)
HARMLESS_EVALUATIONS = frozenset(
    {"conda", "mamba", "micromamba", "pyenv", "ssh-agent", "direnv", "brew", "rbenv", "dircolors", "starship", "mise"}
)
