"""systemd services, their drop-ins and Quadlets from end to end: what they start, what is said of it, its repair."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from servelint.checks.run import Result
from tests.checks.linting import of_rule, repaired, run, written
from tests.manifests.test_custom_resources import check, loud, told

VLLM = "docker.io/vllm/vllm-openai:v0.11.2"
TGI = "ghcr.io/huggingface/text-generation-inference:3.0.1"
MODEL = "Qwen/Qwen3-8B"
TYPING_ERROR = f"vllm serve {MODEL} --max-modl-len 1"


def lint(text: str, beside: dict[str, str] | None = None, name: str = "vllm.service") -> Result:
    """Lint a unit."""
    return check(text, beside, name)


def service(command: str, more: str = "") -> str:
    """A service with that `ExecStart=`, and further lines above it."""
    return f"[Unit]\nDescription=chat\n\n[Service]\n{more}ExecStart={command}\n"


def container(lines: str, image: str = VLLM) -> str:
    """A Quadlet of that image."""
    return f"[Container]\nImage={image}\n{lines}"


def argv_of(result: Result) -> list[str | None]:
    """The words of the only deployment."""
    (serving,) = told(result)
    words: list[str | None] = serving["argv"]
    return words


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        ("/usr/bin/vllm serve m", ["serve", "m"]),
        ("vllm serve m", ["serve", "m"]),
        ("-/usr/bin/vllm serve m", ["serve", "m"]),
        (":/usr/bin/vllm serve m", ["serve", "m"]),
        ("+/usr/bin/vllm serve m", ["serve", "m"]),
        ("!/usr/bin/vllm serve m", ["serve", "m"]),
        ("!!/usr/bin/vllm serve m", ["serve", "m"]),
        ("-:+/usr/bin/vllm serve m", ["serve", "m"]),
        # The word behind the program is the name that it is to find as its own.
        ("@/usr/bin/vllm chat serve m", ["serve", "m"]),
        ("-@/usr/bin/vllm chat serve m", ["serve", "m"]),
        ("/usr/bin/vllm serve \\\n    m \\\n    --port 1", ["serve", "m", "--port", "1"]),
        ("/usr/bin/vllm serve \\\n    m \\\n# a remark\n  ; another\n    --port 1", ["serve", "m", "--port", "1"]),
        ("/usr/bin/vllm serve 'm' \"--port\" 1", ["serve", "m", "--port", "1"]),
        ("/usr/bin/vllm serve m --api-key a\\x20b", ["serve", "m", "--api-key", "a b"]),
        ("/usr/bin/vllm serve m --api-key 100%%", ["serve", "m", "--api-key", "100%"]),
        ("/usr/bin/vllm serve m --api-key $$HOME", ["serve", "m", "--api-key", "$HOME"]),
        # A hash is no remark within a value.
        ("/usr/bin/vllm serve m --api-key #x", ["serve", "m", "--api-key", "#x"]),
        ("/usr/bin/vllm serve %i", ["serve", None]),
        ("/usr/bin/vllm serve %h/models/m --port 1", ["serve", None, "--port", "1"]),
        ("/usr/bin/python3 -m vllm.entrypoints.openai.api_server --model m", ["--model", "m"]),
        ("%h/venv/bin/vllm serve m", None),
        # Programs that only run others.
        ("/usr/bin/env vllm serve m", ["serve", "m"]),
        ("/usr/bin/env -u HOME A=b HF_HOME=/x vllm serve m", ["serve", "m"]),
        ("/usr/bin/numactl -N 0 --membind=0 /usr/bin/vllm serve m", ["serve", "m"]),
        ("/usr/bin/taskset -c 0-7 nice -n 5 vllm serve m", ["serve", "m"]),
        ("/usr/bin/env bash -c 'exec vllm serve m'", ["serve", "m"]),
        ("/usr/bin/env uv run vllm serve m", ["serve", "m"]),
        ("/usr/bin/timeout", None),
        ("/usr/bin/env -S vllm serve m", None),
        # Shells.
        ("/bin/sh -c 'exec vllm serve m --port 1'", ["serve", "m", "--port", "1"]),
        ("/bin/bash -lc \"cd /srv && source venv/bin/activate && vllm serve m\"", ["serve", "m"]),
        ("/bin/bash /srv/start.sh", None),
        ("/srv/vllm-server.sh", None),
    ],
)  # fmt: skip
def test_commands(command: str, argv: list[str | None] | None) -> None:
    result = lint(service(command))
    assert [serving["argv"] for serving in told(result)] == ([] if argv is None else [argv])
    assert loud(result) == []


@pytest.mark.parametrize(
    ("more", "command", "argv"),
    [
        ("Environment=M=m\n", "vllm serve $M", ["serve", "m"]),
        ("Environment=M=m\n", "vllm serve ${M}", ["serve", "m"]),
        ('Environment="M=a b" \'N=c\' P=d\n', "vllm serve ${N} --served-model-name ${M} ${P}",
         ["serve", "c", "--served-model-name", "a b", "d"]),
        # A word of its own is split at blanks, within braces it is one word.
        ('Environment="MORE=--port 1"\n', "vllm serve m $MORE", ["serve", "m", "--port", "1"]),
        ("Environment=P=1\n", "vllm serve m --port=${P}", ["serve", "m", "--port=1"]),
        # Without braces nothing is filled in within a word.
        ("Environment=P=1\n", "vllm serve m --served-model-name=x$P", ["serve", "m", "--served-model-name=x$P"]),
        ("Environment=M=m\n", ":/usr/bin/vllm serve m --served-model-name ${M}",
         ["serve", "m", "--served-model-name", "${M}"]),
        ("Environment=M=a\nEnvironment=M=b\n", "vllm serve ${M}", ["serve", "b"]),
        ("Environment=M=a\nEnvironment=\nEnvironment=M=c\n", "vllm serve ${M}", ["serve", "c"]),
        ("Environment=M=%i\n", "vllm serve ${M}", ["serve", None]),
        ("Environment=M=m\n", "/bin/sh -c 'vllm serve $M'", ["serve", "m"]),
        ("Environment=M=m\n", "/bin/sh -c 'vllm serve $$M'", ["serve", "m"]),
        ("Environment=M=m\n", "/bin/sh -c 'vllm serve ${M}'", ["serve", "m"]),
        ("", "/bin/sh -c 'vllm serve $$M'", ["serve", None]),
    ],
)  # fmt: skip
def test_variables(more: str, command: str, argv: list[str | None]) -> None:
    result = lint(service(command, more))
    assert argv_of(result) == argv
    assert loud(result) == []


FILES = {"m.env": f"# the model\nM={MODEL}\n", "n.env": 'M="other/model"\n', "own.env": "LLAMA_ARG_N_PREDICT=32\n"}


@pytest.mark.parametrize(
    ("more", "model", "unknown"),
    [
        ("EnvironmentFile=/etc/chat/m.env\n", MODEL, 0),
        ("EnvironmentFile=-/etc/chat/m.env\n", MODEL, 0),
        ("EnvironmentFile=%h/chat/m.env\n", MODEL, 0),
        # The later file wins, and any file wins over what the unit says.
        ("EnvironmentFile=/etc/chat/m.env\nEnvironmentFile=/etc/chat/n.env\n", "other/model", 0),
        ("EnvironmentFile=/etc/chat/m.env\nEnvironment=M=a/b\n", MODEL, 0),
        ("EnvironmentFile=/etc/chat/n.env\nEnvironmentFile=\nEnvironmentFile=/etc/chat/m.env\n", MODEL, 0),
        ("Environment=M=a/b\nEnvironmentFile=-/etc/chat/none.env\n", "a/b", 1),
        ("EnvironmentFile=/etc/chat/m.env\nEnvironmentFile=-/etc/chat/none.env\n", MODEL, 1),
        ("Environment=M=a/b\nEnvironmentFile=-/etc/chat/%i.env\n", "a/b", 1),
    ],
)
def test_environment_files(more: str, model: str, unknown: int) -> None:
    result = lint(service("vllm serve ${M}", more), FILES)
    assert argv_of(result) == ["serve", model]
    (deployment,) = result.deployments
    assert len(deployment.serving.hidden) == unknown
    assert loud(result) == []


@pytest.mark.parametrize(
    "text",
    [
        f"[Service]\nExecStartPre=/usr/bin/{TYPING_ERROR}\nExecStart=/usr/bin/sleep 1\n",
        f"[Service]\nExecStop=/usr/bin/{TYPING_ERROR}\nExecStart=/usr/bin/sleep 1\n",
        f"[Service]\nExecReload=/usr/bin/{TYPING_ERROR}\n",
        f"[Service]\nExecCondition=/usr/bin/{TYPING_ERROR}\n",
        f"[Service]\n# ExecStart=/usr/bin/{TYPING_ERROR}\nExecStart=/usr/bin/sleep 1\n",
        f"[Unit]\nDescription={TYPING_ERROR}\n[Service]\nExecStart=/usr/bin/sleep 1\n",
        f"[Service]\nExecStart=/usr/bin/{TYPING_ERROR}\nExecStart=\nExecStart=/usr/bin/sleep 1\n",
        f"[X-Service]\nExecStart=/usr/bin/{TYPING_ERROR}\n[Service]\nExecStart=/usr/bin/sleep 1\n",
        "[Service]\nExecStart=/usr/bin/vllm bench latency\n",
        "[Service]\nExecStart=/usr/bin/vllm serve --help\n",
        "[Service]\nExecStart=/usr/bin/podman exec chat vllm serve m --max-modl-len 1\n",
        "[Service]\nExecStart=/usr/bin/docker start vllm\n",
    ],
)
def test_nothing_is_launched(text: str) -> None:
    result = lint(text)
    assert (told(result), result.findings) == ([], ())


HEALTHY = service(
    f"%h/.local/bin/uv run vllm serve {MODEL}",
    "Type=simple\nWorkingDirectory=%h/chat\nEnvironment=HF_HOME=%h/hf\nExecStartPre=/usr/bin/mkdir -p %h/hf\n",
)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("systemd/user/vllm.service", HEALTHY.replace("%h/.local/bin/uv", "/usr/bin/uv")),
        ("vllm.service", service(f"/usr/bin/vllm serve {MODEL} \\\n  --max-model-len 32768 \\\n  --port 8000")),
        ("vllm@.service", service("/usr/bin/vllm serve Qwen/%i --port 80%i")),
        ("vllm.service", service(f"vllm serve {MODEL} --override-generation-config '{{\"temperature\": 0.6}}'")),
        ("llama.service", service("llama-server -m %h/models/qwen3-8b-q4_k_m.gguf -c 32768 -ngl 99 --jinja")),
        ("ollama.service", service("/usr/local/bin/ollama serve", 'Environment="OLLAMA_HOST=0.0.0.0"\n')),
        ("tgi.service", service(f"text-generation-launcher --model-id {MODEL}")),
        ("v.container", container(f"Exec=--model {MODEL} --max-model-len 32768\nPodmanArgs=--gpus all --ipc=host\n")),
        ("v.container", container(f"Environment=MODEL_ID={MODEL} MAX_INPUT_TOKENS=4096 MAX_TOTAL_TOKENS=8192\n", TGI)),
        ("v.container", container("Exec=-m /models/qwen3-8b.gguf -c 32768\n", "ghcr.io/ggml-org/llama.cpp:server")),
        ("o.container", container("Volume=ollama:/root/.ollama\nPublishPort=11434:11434\n", "docker.io/ollama/ollama")),
        ("vllm.service", service(f"/usr/bin/podman run --rm --name vllm {VLLM} --model {MODEL}")),
        ("vllm.service", service(f"/usr/bin/vllm serve {MODEL}").replace("\n", "\r\n")),
    ],
)
def test_healthy_ones_are_silent(name: str, text: str) -> None:
    result = lint(text, name=name)
    assert len(told(result)) == 1
    assert loud(result) == []


@pytest.mark.parametrize(
    ("text", "rule", "place"),
    [
        (service(f"vllm serve {MODEL} \\\n  --max-modl-len 1"), "SL504", "--max-modl-len"),
        (service("/bin/sh -c 'exec vllm serve " + MODEL + " --max-modl-len 1'"), "SL504", "--max-modl-len"),
        (service(f"vllm serve {MODEL} ${{MORE}}", 'Environment="MORE=--port 1"\n'), "SL507", "${MORE}"),
        (service("llama-server -m /m/qwen3-8b.gguf -n 32"), "SL201", "32"),
        (service("llama-server -m /m/qwen3-8b.gguf", "Environment=LLAMA_ARG_N_PREDICT=32\n"), "SL201",
         "LLAMA_ARG_N_PREDICT=32"),
        (service(f"vllm serve {MODEL} 'never closed"), "SL503", "'"),
    ],
)  # fmt: skip
def test_faults(text: str, rule: str, place: str) -> None:
    """One fault, one finding, in its place."""
    result = lint(text)
    (finding,) = [finding for finding in result.findings if finding.severity != "note"]
    assert (finding.rule, written(result, finding)) == (rule, place)


# Drop-ins

CAPPED = "[Service]\nExecStart=\nExecStart=/usr/bin/vllm serve ${M} --max-modl-len 1\n"


def test_a_drop_in_takes_the_units_command_away(tmp_path: Path) -> None:
    unit = service("/usr/bin/vllm serve a/b --max-modl-len 1", f"Environment=M={MODEL}\n")
    files = {"units/v.service": unit, "units/v.service.d/10-model.conf": CAPPED}
    assert told(run(tmp_path, "units/v.service", unit, files)) == []
    drop_in = run(tmp_path, "units/v.service.d/10-model.conf", CAPPED, files)
    assert argv_of(drop_in) == ["serve", MODEL, "--max-modl-len", "1"]
    assert loud(drop_in) == [("SL504", 3)]


def test_a_later_drop_in_takes_an_earlier_ones_command_away(tmp_path: Path) -> None:
    unit = service("/usr/bin/vllm serve a/b")
    off = "[Service]\nExecStart=\nExecStart=/usr/bin/sleep infinity # not vllm\n"
    files = {"v.service": unit, "v.service.d/10.conf": CAPPED, "v.service.d/20.conf": off}
    assert [told(run(tmp_path, name, text, files)) for name, text in files.items()] == [[], [], []]


def test_the_units_command_stays_without_a_reset(tmp_path: Path) -> None:
    unit = service("/usr/bin/vllm serve a/b")
    files = {"v.service": unit, "v.service.d/10.conf": "[Service]\nRestart=always\n"}
    assert argv_of(run(tmp_path, "v.service", unit, files)) == ["serve", "a/b"]


def test_what_is_no_drop_in_of_the_unit_changes_nothing(tmp_path: Path) -> None:
    unit = service("/usr/bin/vllm serve a/b")
    reset = "[Service]\nExecStart=\n"
    files = {"v.service": unit, "v.service.d/10.conf.off": reset, "w.service.d/10.conf": reset, "10.conf": reset}
    assert argv_of(run(tmp_path, "v.service", unit, files)) == ["serve", "a/b"]


def test_the_variables_of_a_drop_in_reach_the_units_command(tmp_path: Path) -> None:
    unit = service("/usr/bin/llama-server -m ${M}", "Environment=M=/m/a.gguf\n")
    more = "[Service]\nEnvironment=M=/m/qwen3-8b.gguf\nEnvironment=LLAMA_ARG_N_PREDICT=32\n# llama-server\n"
    files = {"l.service": unit, "l.service.d/10.conf": more}
    result = run(tmp_path, "l.service", unit, files)
    assert argv_of(result) == ["-m", "/m/qwen3-8b.gguf"]
    (finding,) = of_rule(result, "SL201")
    # It stands in another file; here is the command that it reaches.
    assert written(result, finding) == "ExecStart"
    assert told(run(tmp_path, "l.service.d/10.conf", more, files)) == []


def test_a_file_that_the_unit_names_lies_beside_the_unit(tmp_path: Path) -> None:
    unit = service("/usr/bin/vllm serve a/b", "EnvironmentFile=/etc/chat/m.env\n")
    files = {"sub/v.service": unit, "sub/m.env": FILES["m.env"], "sub/v.service.d/10.conf": CAPPED}
    result = run(tmp_path, "sub/v.service.d/10.conf", CAPPED, files)
    assert argv_of(result) == ["serve", MODEL, "--max-modl-len", "1"]


def test_a_drop_in_without_its_unit(tmp_path: Path) -> None:
    assert argv_of(run(tmp_path, "v.service.d/10.conf", CAPPED)) == ["serve", None, "--max-modl-len", "1"]


def test_a_fault_of_another_file_is_placed_in_this_one_and_not_repaired(tmp_path: Path) -> None:
    """What a drop-in's command finds in the unit has no place in the drop-in, and nothing of the drop-in is changed."""
    unit = service("/usr/bin/sleep 1", f"Environment=MODEL_ID={MODEL} MAX_INPUT_LENGTH=1024 # {'x' * 200}\n")
    drop_in = "[Service]\nExecStart=\nExecStart=/usr/bin/text-generation-launcher\n"
    files = {"t.service": unit, "t.service.d/10.conf": drop_in}
    result = run(tmp_path, "t.service.d/10.conf", drop_in, files)
    assert told(result)[0]["model"] == MODEL
    for finding in result.findings:
        assert finding.fix is None
        assert written(result, finding) == "ExecStart"


# Quadlets


@pytest.mark.parametrize(
    ("lines", "argv"),
    [
        (f"Exec={MODEL} --port 1\n", [MODEL, "--port", "1"]),
        (f"Exec=--model {MODEL} \\\n    # a remark\n    --port 1\n", ["--model", MODEL, "--port", "1"]),
        ("Exec=a\nExec=b\n", ["b"]),
        ("Entrypoint=vllm\nExec=serve m\n", ["serve", "m"]),
        ('Entrypoint=["vllm", "serve"]\nExec=m\n', ["serve", "m"]),
        ('Entrypoint=["tini", "--", "vllm"]\nExec=serve m\n', ["serve", "m"]),
        ("Entrypoint=/bin/sh\nExec=-c 'exec vllm serve m'\n", ["serve", "m"]),
        ("PodmanArgs=--entrypoint vllm\nExec=serve m\n", ["serve", "m"]),
        ("PodmanArgs=--gpus all --entrypoint=vllm --shm-size 1g\nExec=serve m\n", ["serve", "m"]),
        ('PodmanArgs=--gpus all\nPodmanArgs=--entrypoint \'["vllm","serve"]\'\nExec=m\n', ["serve", "m"]),
        ("Entrypoint=/bin/other\nPodmanArgs=--entrypoint vllm\nExec=serve m\n", ["serve", "m"]),
        ("PodmanArgs=--gpus all -p 8000:8000 --ipc=host\nExec=m\n", ["m"]),
        # systemd fills in what [Service] sets, not what the container gets.
        ("Environment=M=a\nExec=${M}\n[Service]\nEnvironment=M=b\n", ["b"]),
        ("Exec=%i\n", [None]),
        ("PodmanArgs=--entrypoint %i\nExec=m\n", None),
    ],
)
def test_quadlets(lines: str, argv: list[str | None] | None) -> None:
    result = lint(container(lines), name="v.container")
    (serving,) = told(result)
    assert (serving["engine"], serving["engine_version"], serving["argv"]) == ("vllm", "0.11.2", argv)
    assert loud(result) == []


@pytest.mark.parametrize(
    ("lines", "rules"),
    [
        (f"Environment=MODEL_ID={MODEL}\nEnvironment=MAX_INPUT_TOKENS=4096 MAX_TOTAL_TOKENS=4096\n", ["SL207"]),
        (f'Environment="MODEL_ID={MODEL}" "MAX_INPUT_TOKENS=4096"\nEnvironment=MAX_TOTAL_TOKENS=4096\n', ["SL207"]),
        (f"PodmanArgs=-e MODEL_ID={MODEL} --env MAX_INPUT_TOKENS=4096 --env=MAX_TOTAL_TOKENS=4096\n", ["SL207"]),
        ("EnvironmentFile=t.env\n", ["SL207"]),
        ("EnvironmentFile=%h/t.env\n", ["SL207"]),
        ("PodmanArgs=--env-file t.env\n", ["SL207"]),
        # Podman's variables win over its files, the later over the earlier.
        ("EnvironmentFile=t.env\nEnvironment=MAX_TOTAL_TOKENS=8192\n", []),
        ("PodmanArgs=--env-file t.env -e MAX_TOTAL_TOKENS=8192\n", []),
        (f"Environment=MODEL_ID={MODEL} MAX_INPUT_TOKENS=4096 MAX_TOTAL_TOKENS=4096\n"
         "PodmanArgs=-e MAX_TOTAL_TOKENS=8192\n", []),
        ("PodmanArgs=$MORE\n", []),
    ],
)  # fmt: skip
def test_variables_of_quadlets(lines: str, rules: list[str]) -> None:
    files = {"t.env": f"MODEL_ID={MODEL}\nMAX_INPUT_TOKENS=4096\nMAX_TOTAL_TOKENS=4096\n"}
    result = lint(container(lines, TGI), files, "t.container")
    assert len(told(result)) == 1
    assert [rule for rule, _ in loud(result)] == rules


@pytest.mark.parametrize(
    ("image", "version"),
    [
        ("vllm/vllm-openai:v0.11.2", "0.11.2"),
        ("vllm/vllm-openai:%i", None),
        ("vllm.image", "0.11.2"),
    ],
)
def test_images_of_quadlets(image: str, version: str | None) -> None:
    files = {"vllm.image": f"[Image]\nImage={VLLM}\n"}
    (serving,) = told(lint(container(f"Exec={MODEL}\n", image), files, "v.container"))
    assert (serving["engine"], serving["engine_version"], serving["argv"]) == ("vllm", version, [MODEL])


@pytest.mark.parametrize(
    "text",
    [
        container(f"Exec={MODEL} --max-modl-len 1 # vllm\n", "none.image"),
        container(f"Exec={MODEL} --max-modl-len 1 # vllm\n", "own.build"),
        container("HealthCmd=vllm serve m --max-modl-len 1\n", "localhost/own"),
        container("Entrypoint=/bin/own\nExec=m --max-modl-len 1\n"),
        "[Container]\nExec=vllm serve m --max-modl-len 1\n",
    ],
)
def test_quadlets_of_other_programs(text: str) -> None:
    result = lint(text, name="v.container")
    assert (told(result), result.findings) == ([], ())


def test_an_image_of_a_house_own_with_the_engines_words() -> None:
    result = lint(container(f"Exec={TYPING_ERROR}\n", "localhost/own"), name="v.container")
    assert loud(result) == [("SL504", 3)]


def test_drop_ins_of_quadlets(tmp_path: Path) -> None:
    base = container(f"Exec={MODEL} --max-modl-len 1\n", "vllm/vllm-openai:latest")
    files = {"v.container": base, "v.container.d/10.conf": f"[Container]\nImage={VLLM}\n"}
    result = run(tmp_path, "v.container", base, files)
    (serving,) = told(result)
    assert (serving["engine_version"], serving["argv"]) == ("0.11.2", [MODEL, "--max-modl-len", "1"])
    assert loud(result) == [("SL504", 3)]
    drop_in = run(tmp_path, "v.container.d/10.conf", files["v.container.d/10.conf"], files)
    assert (told(drop_in), drop_in.findings) == ([], ())


def test_a_quadlets_words_out_of_its_drop_in(tmp_path: Path) -> None:
    base = container(f"Exec={MODEL}\n")
    files = {"v.container": base, "v.container.d/10.conf": f"[Container]\nExec={MODEL} --max-modl-len 1\n"}
    result = run(tmp_path, "v.container", base, files)
    (finding,) = of_rule(result, "SL504")
    assert (written(result, finding), finding.fix) == (VLLM, None)


# Repairs

COOLER = '{"temperature": 0.5}'


@pytest.mark.parametrize(
    ("name", "before", "after"),
    [
        (
            "v.service",
            service(f"vllm serve {MODEL} \\\n    # cooler\n    --override-generation-config {COOLER} \\\n"
                    "    ; the door\n    --port 1"),
            service(f"vllm serve {MODEL} \\\n    # cooler\n    --override-generation-config '{COOLER}' \\\n"
                    "    ; the door\n    --port 1"),
        ),
        (
            "v.service",
            service(f'vllm serve {MODEL} --override-generation-config={{"temperature":0.5}} --port 1'),
            service(f"vllm serve {MODEL} --override-generation-config='{{\"temperature\":0.5}}' --port 1"),
        ),
        (
            "v.service",
            service(f'/bin/sh -c "exec vllm serve {MODEL} --override-generation-config {{\\"temperature\\": 0.5}}"'),
            service(
                f"/bin/sh -c \"exec vllm serve {MODEL} --override-generation-config '{{\\\"temperature\\\": 0.5}}'\""
            ),
        ),
        (
            "v.container",
            container(f"Exec={MODEL} \\\n  # cooler\n  --override-generation-config {COOLER}\n"),
            container(f"Exec={MODEL} \\\n  # cooler\n  --override-generation-config '{COOLER}'\n"),
        ),
        (
            "v.container",
            container(f"Exec={MODEL} --override-generation-config \"'{{\\\"temperature\\\":0.5}}'\"\n"),
            container(f"Exec={MODEL} --override-generation-config \"{{\\\"temperature\\\":0.5}}\"\n"),
        ),
        (
            "t.container",
            container(f"Exec=--model-id {MODEL} \\\n  # room\n  --max-input-length=9\n", TGI),
            container(f"Exec=--model-id {MODEL} \\\n  # room\n  --max-input-tokens=9\n", TGI),
        ),
        (
            "t.container",
            container(f"Environment=MODEL_ID={MODEL} \\\n  # room\n  \"MAX_INPUT_LENGTH=9\"\n", TGI),
            container(f"Environment=MODEL_ID={MODEL} \\\n  # room\n  \"MAX_INPUT_TOKENS=9\"\n", TGI),
        ),
        (
            "t.container",
            container(f"PodmanArgs=--gpus all -e MODEL_ID={MODEL} -e MAX_INPUT_LENGTH=9\n", TGI),
            container(f"PodmanArgs=--gpus all -e MODEL_ID={MODEL} -e MAX_INPUT_TOKENS=9\n", TGI),
        ),
    ],
)  # fmt: skip
def test_repairs(name: str, before: str, after: str) -> None:
    """The continuation lines and the remarks between them stay; the repair leaves nothing to say."""
    result = lint(before, name=name)
    (finding,) = [finding for finding in result.findings if finding.severity != "note"]
    assert repaired(result, finding) == after
    assert loud(lint(after, name=name)) == []


@pytest.mark.parametrize(
    "command",
    [
        f'vllm serve {MODEL} --override-generation-config {{"temperature": \\\n  # cooler\n  0.5}}',
        f'vllm serve {MODEL} --override-generation-config {{"a%%b":0.5}}',
        f'vllm serve {MODEL} "--max-model-len 8192"',
    ],
)
def test_what_is_not_repaired_says_why(command: str) -> None:
    findings = [finding for finding in lint(service(command)).findings if finding.severity == "error"]
    assert findings
    assert all(finding.fix is None for finding in findings)
    assert any(finding.no_fix for finding in findings)


# Properties


@settings(max_examples=60, deadline=None)
@given(
    st.sampled_from(["v.service", "v.container", "v.service.d/1.conf", "v.container.d/1.conf"]),
    st.lists(
        st.sampled_from(
            [
                "[Service]", "[Container]", f"ExecStart=/usr/bin/{TYPING_ERROR}", "ExecStart=", "# remark", "",
                "ExecStart=vllm serve ${M} \\", "  --port 1", "Environment=M=%i 'N=a b'", f"Environment=M={MODEL}",
                "EnvironmentFile=-m.env", f"Image={VLLM}", "Image=x.image", "Exec=", 'Entrypoint=["vllm","serve"]',
                f"Exec={MODEL} --override-generation-config {COOLER}", 'Entrypoint=["a",', "PodmanArgs=--entrypoint",
                "PodmanArgs=-e A=b --env-file m.env \\", "PodmanArgs=$X",
            ]
        ),
        max_size=12,
    ),
    st.sampled_from(["\n", "\r\n"]),
)  # fmt: skip
def test_any_lines_are_read(name: str, lines: list[str], newline: str) -> None:
    """Nothing breaks, every finding lies in the file, and no repair leaves what it repairs."""
    files = {"m.env": f"M={MODEL}\n", "v.service": service("vllm serve ${M}"), "v.container": container("Exec=m\n")}
    files.pop(name, None)
    result = lint(newline.join(["[Service]", *lines]), files, name)
    for finding in result.findings:
        assert 0 <= finding.span.start <= finding.span.end <= len(result.text)
        if finding.fix is not None:
            again = lint(repaired(result, finding), files, name)
            before = [(f.rule, f.message) for f in result.findings]
            after = [(f.rule, f.message) for f in again.findings]
            assert after.count((finding.rule, finding.message)) < before.count((finding.rule, finding.message))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=12), max_size=6))
def test_quoted_words_are_the_servers(words: list[str]) -> None:
    words = [word for word in words if word not in ("-h", "--help", "--version")]
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "%": "%%", "$": "$$"}
    shown = " ".join('"' + "".join(escapes.get(character, character) for character in word) + '"' for word in words)
    assert argv_of(lint(service(f"vllm serve {MODEL} {shown}"))) == ["serve", MODEL, *words]
