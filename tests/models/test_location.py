"""Where a model's files are found: the repository, the hub's cache, and the hub when it is asked."""

from __future__ import annotations

import http.server
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from servelint.files.context import Context
from servelint.models.location import cache_folder, locate

COMMIT = "a" * 40
FILES = {
    "config.json": {"architectures": ["Qwen2ForCausalLM"], "model_type": "qwen2", "eos_token_id": 151645},
    "generation_config.json": {"eos_token_id": [151645, 151643]},
    "tokenizer_config.json": {"eos_token": "<|im_end|>", "added_tokens_decoder": {"151645": {"content": "<|im_end|>"}}},
}
NAME = "acme/qwen2.5-7b-tickets"
SECRET = "hf_" + "x" * 30


@pytest.mark.parametrize(
    ("environment", "folder"),
    [
        ({"HF_HUB_CACHE": "/c"}, "/c"),
        ({"HUGGINGFACE_HUB_CACHE": "/d"}, "/d"),
        ({"HF_HOME": "/h"}, "/h/hub"),
        ({"XDG_CACHE_HOME": "/x"}, "/x/huggingface/hub"),
    ],
)
def test_the_cache_is_where_the_client_has_it(environment: dict[str, str], folder: str) -> None:
    assert cache_folder(environment) == folder
    program = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    settings = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING", "XDG_"))}
    ran = subprocess.run(
        [sys.executable, "-c", program], env={**settings, **environment}, capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == folder


def test_a_folder_of_the_repository_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "deploy" / "acme" / "m").mkdir(parents=True)
    (tmp_path / "deploy" / "acme" / "m" / "config.json").write_text("{}")
    found = locate("deploy/serve.sh", "acme/m", None, Context(tmp_path))
    assert found is not None
    assert found.path == "deploy/acme/m"
    assert locate("deploy/serve.sh", "../../etc", None, Context(tmp_path)) is None


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and an empty working folder."""
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "cache"))
    (tmp_path / "work").mkdir()
    monkeypatch.chdir(tmp_path / "work")
    return tmp_path / "cache"


def fill(cache: Path) -> Path:
    """The cache as the client leaves it: blobs, and links to them."""
    repository = cache / f"models--{NAME.replace('/', '--')}"
    snapshot = repository / "snapshots" / COMMIT
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text(COMMIT)
    for number, (name, content) in enumerate(FILES.items()):
        (repository / "blobs" / str(number)).write_text(json.dumps(content))
        (snapshot / name).symlink_to(f"../../blobs/{number}")
    return snapshot


def test_the_cache_is_read_and_never_filled(cache: Path) -> None:
    context = Context()
    assert locate("serve.sh", NAME, None, context) is None
    assert not cache.exists()
    snapshot = fill(cache)
    found = locate("serve.sh", NAME, None, context)
    assert found is not None
    assert found.path == str(snapshot)
    assert found.data("generation_config.json") == FILES["generation_config.json"]
    assert locate("serve.sh", NAME, "v2", context) is None
    assert context.notes == {}


class _Hub(http.server.BaseHTTPRequestHandler):
    """The part of the hub's interface that the client asks for small files."""

    asked: list[str]

    def do_GET(self) -> None:
        self.answer(True)

    def do_HEAD(self) -> None:
        self.answer(False)

    def answer(self, with_body: bool) -> None:
        type(self).asked.append(self.path)
        name = self.path.rpartition("/")[2]
        if f"{NAME}/tree/" in self.path:
            listed = [{"type": "file", "path": each, "size": 9, "oid": each} for each in FILES]
            body, status = json.dumps(listed).encode(), 200
        elif self.path.startswith(f"/api/models/{NAME}"):
            siblings = [{"rfilename": each} for each in FILES]
            body, status = json.dumps({"id": NAME, "sha": COMMIT, "siblings": siblings}).encode(), 200
        elif self.path == f"/{NAME}/resolve/{COMMIT}/{name}" and name in FILES:
            body, status = json.dumps(FILES[name]).encode(), 200
        else:
            body, status = b"{}", 404
        self.send_response(status)
        if status == 404:
            known = NAME in self.path
            self.send_header("X-Error-Code", "EntryNotFound" if known else "RepoNotFound")
        self.send_header("X-Repo-Commit", COMMIT)
        self.send_header("ETag", f'"{name}"')
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Content-Type", "application/json")
        self.end_headers()
        if with_body:
            self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        return


@pytest.fixture
def hub() -> Iterator[str]:
    _Hub.asked = []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Hub)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()


def checked(cache: Path, endpoint: str, model: str, *options: str) -> subprocess.CompletedProcess[str]:
    """A run on a launch script, with the client's own setting for where the hub is."""
    Path("serve.sh").write_text(f"vllm serve {model}\n")
    settings = {name: value for name, value in os.environ.items() if not name.startswith("HF_")}
    settings |= {
        "HF_ENDPOINT": endpoint,
        "HF_HUB_CACHE": str(cache),
        "HF_TOKEN": SECRET,
        "HF_HUB_DISABLE_TELEMETRY": "1",
    }
    return subprocess.run(
        [sys.executable, "-m", "servelint", "inventory", *options, "serve.sh"],
        env=settings, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_the_hub_is_asked_when_told_to(cache: Path, hub: str) -> None:
    ran = checked(cache, hub, NAME)
    assert _Hub.asked == []
    assert "cannot be judged" in ran.stdout
    ran = checked(cache, hub, NAME, "--online")
    assert "stops where it should" in ran.stdout, ran.stderr + ran.stdout
    assert "151643" in ran.stdout
    assert ran.stderr == ""
    # What was fetched is there for the next run, which asks nobody.
    _Hub.asked = []
    assert "stops where it should" in checked(cache, hub, NAME).stdout
    assert _Hub.asked == []


@pytest.mark.parametrize("model", ["acme/unknown", NAME])
def test_a_hub_that_does_not_help_is_one_line(cache: Path, hub: str, model: str) -> None:
    endpoint = hub if model != NAME else "http://127.0.0.1:9"
    ran = checked(cache, endpoint, model, "--online")
    assert ran.returncode == 0
    assert ran.stderr.count("\n") == 1
    assert ran.stderr.startswith(f"{model}: the hub ")
    assert SECRET not in ran.stderr + ran.stdout
    assert "Traceback" not in ran.stderr


def test_a_gguf_that_a_launch_line_names_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import gguf

    from tests.checks.linting import run
    from tests.models.test_chat_template import CHATML

    (tmp_path / "models").mkdir()
    writer = gguf.GGUFWriter(str(tmp_path / "models" / "house.gguf"), "qwen2")
    writer.add_tokenizer_model("gpt2")
    writer.add_token_list(["a", "<|endoftext|>", "<|im_start|>", "<|im_end|>"])
    writer.add_eos_token_id(3)
    writer.add_chat_template(CHATML)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.close()
    (deployment,) = run(tmp_path, "serve.sh", "vllm serve ./models/house.gguf\n").deployments
    assert deployment.identity.source == "the chat template in the GGUF"
    assert [(stop.value, stop.token) for stop in deployment.reading.stop_set.ids] == [(3, "<|im_end|>")]
    assert deployment.verdict == "stops"
