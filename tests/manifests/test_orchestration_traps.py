"""The traps of orchestration manifests, each with its number: what an emitter damages, scalars, words, blocks of lines,
templates, layers, environment files, and what stops a gateway's models.

Where no rule speaks of a trap, the test holds what is promised all the same: that it is read right, that the edit is
refused, or that nothing is said.
"""

from __future__ import annotations

from contextlib import chdir
from pathlib import Path
from typing import Any

import pytest

from servelint.checks.finding import Finding
from servelint.checks.policy import Policy
from servelint.checks.run import Result
from servelint.files.context import Context
from servelint.fixing.repair import fix_file
from servelint.formats.yaml import YamlRefusal, plain, read_yaml, value
from servelint.formats.yaml_edit import append_items
from servelint.report.collect import Locator
from servelint.report.servings import describe
from servelint.text import apply_edits
from tests.checks.linting import loud, of_rule, pod, run, written

MODEL = "--model=Qwen/Qwen3-8B"
TGI = "ghcr.io/huggingface/text-generation-inference:3.3.5"
LLAMA = "ghcr.io/ggml-org/llama.cpp:server"
OLD_ENTRY_POINT = "python3 -m vllm.entrypoints.openai.api_server"


def args(*items: str, image: str = "vllm/vllm-openai:v0.11.2") -> str:
    """A Pod with these items in `args`, as YAML writes them."""
    return pod("      args:\n" + "".join(f"        - {item}\n" for item in items), image)


def shell(style: str, *lines: str) -> str:
    """A Pod whose command is `sh -c` with a block of lines."""
    return pod(
        f"      command: [sh, -c]\n      args:\n        - {style}\n" + "".join(f"          {x}\n" for x in lines)
    )


def service(body: str, image: str = "vllm/vllm-openai:v0.11.2") -> str:
    """A Compose file with one service; `body` holds its further keys, indented by four blanks."""
    return f"services:\n  vllm:\n    image: {image}\n{body}"


def config_map(key: str, style: str, *lines: str) -> str:
    """A ConfigMap with one block of lines, indented by four blanks."""
    block = "".join(f"    {line}\n" if line else "\n" for line in lines)
    return f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: m}}\ndata:\n  {key}: {style}\n{block}"


def localai(rest: str = "") -> str:
    """A model file of LocalAI, whose stop words are the one thing that the YAML fixes here add."""
    return f"name: chat\nbackend: llama-cpp\nparameters:\n  model: qwen2.5-7b-instruct-q4_k_m.gguf\n{rest}"


def fixed(folder: Path, name: str, content: str | bytes, beside: dict[str, str] | None = None) -> str | bytes:
    """What `servelint fix` makes of a file, in the type that it was given in."""
    for path, text in (beside or {}).items():
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, encoding="utf-8")
    data = content.encode() if isinstance(content, str) else content
    with chdir(folder):
        repair = fix_file(name, data, Context(folder), Policy())
        assert fix_file(name, repair.after, Context(folder), Policy()).after == repair.after
    return repair.after.decode() if isinstance(content, str) else repair.after


def told(result: Result) -> list[dict[str, Any]]:
    """The deployments as a report tells them."""
    locator = Locator(result.path, result.text, Context(Path("/nonexistent")))
    return [describe(deployment, locator) for deployment in result.deployments]


def words(folder: Path, name: str, content: str, beside: dict[str, str] | None = None) -> list[str | None]:
    """The words of the only serving."""
    (serving,) = told(run(folder, name, content, beside))
    argv: list[str | None] = serving["argv"]
    return argv


def rules(findings: list[tuple[str, str, str]]) -> list[str]:
    """The rules of what is loud."""
    return [rule for rule, _, _ in findings]


def line_of(result: Result, finding: Finding) -> int:
    """The line that a finding stands on, from 1."""
    return result.text.count("\n", 0, finding.span.start) + 1


# A. Nothing is written anew: all but the edit stays as it was, byte by byte

PORT = "        - --port\n        - 8000\n"
PORT_FIXED = PORT.replace("8000", '"8000"')
ARGS = f"      args:\n        - {MODEL}\n"


@pytest.mark.parametrize(
    ("text", "before", "after"),
    [
        pytest.param("# owner: team\n---\n" + pod(ARGS + PORT), PORT, PORT_FIXED, id="trap-01"),
        pytest.param("---\na: 1\n...\n---\n" + pod(ARGS + PORT) + "...\n", PORT, PORT_FIXED, id="trap-02"),
        pytest.param(
            pod('      command: [ "vllm", "serve" ]\n      args: [ "Qwen/Qwen3-8B", "--port 8000" ]\n      env: [ ]\n'),
            '"--port 8000"', '"--port", "8000"', id="trap-03",
        ),
        pytest.param(pod(f"{ARGS}{PORT}      long: {'vllm serve ' * 20}end\n"), PORT, PORT_FIXED, id="trap-04-plain"),
        pytest.param(
            pod(f'{ARGS}{PORT}      long: "one {"word " * 30}\n        two"\n'), PORT, PORT_FIXED, id="trap-04-quoted"
        ),
        pytest.param(args("--model ", "Qwen/Qwen3-8B  ", "--port", "8000 "), "8000 ", '"8000" ', id="trap-05"),
        pytest.param(pod(ARGS + PORT).replace("\n", "\r\n"), "8000", '"8000"', id="trap-06-quote"),
        pytest.param(
            args(MODEL, "--port 8000").replace("\n", "\r\n"), "- --port 8000",
            '- --port\r\n        - "8000"', id="trap-06-insert",
        ),
        pytest.param(
            # A mixed file stays mixed; what is inserted ends as most lines do.
            args(MODEL, "--port 8000").replace("\n", "\r\n").replace("v1\r\n", "v1\n", 1), "- --port 8000",
            '- --port\r\n        - "8000"', id="trap-06-mixed",
        ),
        pytest.param(args(MODEL, "--port 8000").rstrip("\n"), "- --port 8000", '- --port\n        - "8000"',
                     id="trap-07"),
        pytest.param(
            pod(ARGS + PORT).replace("name: qwen\n", "name: qwen\n  creationTimestamp: null\n  labels: ~\n"),
            PORT, PORT_FIXED, id="trap-08",
        ),
        pytest.param(
            pod(f"      args:\n      - {MODEL}\n      - --port 8000\n      env:\n        - {{name: A, value: b}}\n"),
            "      - --port 8000\n", '      - --port\n      - "8000"\n', id="trap-09",
        ),
        pytest.param(
            pod(f'{ARGS}        - "--port 8000"\n\n        # tail comment\n      env: []\n'),
            '        - "--port 8000"\n', '        - "--port"\n        - "8000"\n', id="trap-10",
        ),
        pytest.param(
            f"x-env:\n  &env\n  A: b\n{service(f'    command: [{MODEL}, --port 8000]')}\n    environment: *env\n",
            "--port 8000", '--port, "8000"', id="trap-11",
        ),
        pytest.param(
            "# [START gke_serving]\n" + pod("      # [START args]\n" + ARGS + "        - --port 8000\n"
                                           "      # [END args]\n") + "# [END gke_serving]\n",
            "- --port 8000\n", '- --port\n        - "8000"\n', id="trap-12",
        ),
        pytest.param("\ufeff" + pod(ARGS + PORT), "8000", '"8000"', id="trap-13"),
    ],
)  # fmt: skip
def test_only_the_edit_differs(tmp_path: Path, text: str, before: str, after: str) -> None:
    name = "compose.yaml" if "services:" in text else "pod.yaml"
    assert text.count(before) == 1
    assert fixed(tmp_path, name, text.encode()) == text.replace(before, after).encode()


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param(
            localai('stopwords:\n- "<|im_end|>"  # turn\n\n# tail\ncontext_size: 8192\n'),
            localai('stopwords:\n- "<|im_end|>"  # turn\n- "<|endoftext|>"\n\n# tail\ncontext_size: 8192\n'),
            id="trap-10-append",
        ),
        pytest.param(
            localai('stopwords:\n- "<|im_end|>"  # turn'),
            localai('stopwords:\n- "<|im_end|>"  # turn\n- "<|endoftext|>"'),
            id="trap-07-append-behind-a-comment",
        ),
        pytest.param(
            localai("stopwords:\n    - '<|im_end|>'\n"),
            localai("stopwords:\n    - '<|im_end|>'\n    - '<|endoftext|>'\n"),
            id="trap-09-append",
        ),
        pytest.param(
            "\ufeffstopwords:\n- '<|im_end|>'\n" + localai(),
            "\ufeffstopwords:\n- '<|im_end|>'\n- '<|endoftext|>'\n" + localai(),
            id="trap-13-append",
        ),
    ],
)
def test_stop_words_stand_where_the_eye_wants_them(tmp_path: Path, text: str, after: str) -> None:
    assert fixed(tmp_path, "model.yaml", text.encode()) == after.encode()


def test_trap_13_a_mark_at_the_beginning_is_no_column(tmp_path: Path) -> None:
    result = run(tmp_path, "pod.yaml", "\ufeff" + pod(ARGS + PORT))
    (finding,) = of_rule(result, "SL511")
    assert (line_of(result, finding), written(result, finding)) == (12, "8000")


@pytest.mark.parametrize("first", [pytest.param("[--port, 1]", id="trap-14")])
def test_a_key_that_stands_twice(tmp_path: Path, first: str) -> None:
    text = pod(f"      args: {first}\n{ARGS}{PORT}")
    result = run(tmp_path, "pod.yaml", text)
    (double,) = of_rule(result, "SL514")
    lines = {line_of(result, double), *(result.text.count("\n", 0, x.span.start) + 1 for x in double.related)}
    assert lines == {9, 10}
    # The last one is what is linted, and nobody edits either.
    assert told(result)[0]["argv"] == [MODEL, "--port", "8000"]
    (finding,) = of_rule(result, "SL511")
    assert (line_of(result, finding), finding.fix) == (13, None)
    assert fixed(tmp_path, "pod.yaml", text) == text


# B. Scalars that are not what they look like


@pytest.mark.parametrize(
    ("item", "sibling", "after"),
    [
        pytest.param("16", "'--seed'", "'16'", id="trap-15-single"),
        pytest.param("16", '"--seed"', '"16"', id="trap-15-double"),
        pytest.param("0755", "--seed", '"0755"', id="trap-17-octal"),
        pytest.param("1_000", "--seed", '"1_000"', id="trap-17-underscore"),
        pytest.param("0x10", "--seed", '"0x10"', id="trap-17-hexadecimal"),
        # A number for readers of YAML 1.2, and for Kubernetes' own.
        pytest.param("1e3", "--seed", '"1e3"', id="trap-17-exponent"),
    ],
)
@pytest.mark.filterwarnings("error")
def test_numbers_among_words(tmp_path: Path, item: str, sibling: str, after: str) -> None:
    text = args(MODEL, sibling, item)
    (finding,) = of_rule(run(tmp_path, "pod.yaml", text), "SL511")
    assert finding.severity == "error"
    assert fixed(tmp_path, "pod.yaml", text) == args(MODEL, sibling, after)


def test_trap_15_compose_takes_numbers(tmp_path: Path) -> None:
    text = service(f"    command: [{MODEL}, --port, 8000]\n")
    result = run(tmp_path, "compose.yaml", text)
    assert (loud(result), told(result)[0]["argv"]) == ([], [MODEL, "--port", "8000"])
    assert fixed(tmp_path, "compose.yaml", text) == text


@pytest.mark.parametrize(
    "text",
    [pytest.param(each, id=f"trap-16-{each}") for each in ("yes", "on", "NO", "y", "N", "off", "true", "False")],
)
def test_booleans_of_yaml_1_1(tmp_path: Path, text: str) -> None:
    manifest = pod(f"      args: [{MODEL}]\n      env:\n        - name: A\n          value: {text}\n")
    (finding,) = of_rule(run(tmp_path, "pod.yaml", manifest), "SL511")
    assert "bool" in finding.message
    assert fixed(tmp_path, "pod.yaml", manifest) == manifest.replace(f"value: {text}\n", f'value: "{text}"\n')


@pytest.mark.parametrize(
    "list_text", [pytest.param("- a\n", id="trap-16-block"), pytest.param("[a]\n", id="trap-16-flow")]
)
def test_what_is_written_stays_a_string(list_text: str) -> None:
    texts = ["y", "n", "yes", "no", "on", "off", "true", "false", "null", "~", "1_000", "12:30", "0o17", "1e3", "0755"]
    file = read_yaml(list_text)
    (root,) = file.documents
    assert root is not None
    answer = append_items(file, root, texts)
    assert not isinstance(answer, YamlRefusal)
    after = apply_edits(list_text, answer)
    assert value(read_yaml(after).documents[0]) == ["a", *texts] == plain(after)[0]
    assert all(f'"{text}"' in after for text in texts)


@pytest.mark.parametrize(
    ("written_cap", "cap"),
    [pytest.param("1_000", 1000, id="trap-17-cap"), pytest.param('"1000"', None, id="trap-17-cap-text")],
)
def test_a_cap_as_its_own_reader_takes_it(tmp_path: Path, written_cap: str, cap: int | None) -> None:
    # LocalAI reads its files with gopkg.in/yaml.v3.
    text = (
        localai().replace("gguf\n", f"gguf\n  max_tokens: {written_cap}\n")
        + "stopwords: ['<|im_end|>', '<|endoftext|>']\n"
    )
    (serving,) = told(run(tmp_path, "model.yaml", text))
    assert (serving["cap"] or {}).get("value") == cap
    assert fixed(tmp_path, "model.yaml", text) == text


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param(
            localai("stopwords:\n- <|im_end|>\n"), localai("stopwords:\n- <|im_end|>\n- <|endoftext|>\n"),
            id="trap-18-block",
        ),
        pytest.param(
            localai("stopwords: [<|im_end|>]\n"), localai("stopwords: [<|im_end|>, <|endoftext|>]\n"),
            id="trap-18-flow",
        ),
        pytest.param(localai(), localai('stopwords:\n  - "<|im_end|>"\n  - "<|endoftext|>"\n'), id="trap-18-new"),
        # As the design has it, the siblings' own style wins where one of them is a token without quotes.
        # A text that holds `#` was quoted by its author, and its neighbours are read as they stand.
        pytest.param(
            localai("stopwords:\n- '### End'\n- <|im_end|>\n"),
            localai("stopwords:\n- '### End'\n- <|im_end|>\n- <|endoftext|>\n"), id="trap-19-neighbour",
        ),
    ],
)  # fmt: skip
def test_special_tokens_are_written_in_quotes(tmp_path: Path, text: str, after: str) -> None:
    assert fixed(tmp_path, "model.yaml", text) == after


@pytest.mark.parametrize(
    ("item", "place"),
    [
        pytest.param("|im_end|", "i", id="trap-18-bar"),
        pytest.param("%x", "%", id="trap-21-percent"),
        pytest.param("@x", "@", id="trap-21-at"),
        pytest.param("`x", "`", id="trap-21-backtick"),
        pytest.param('--override-generation-config={"eos_token_id": [1]}', ":", id="trap-23-blank"),
    ],
)
def test_what_no_reader_takes(tmp_path: Path, item: str, place: str) -> None:
    text = args(MODEL, "--served-model-name", item)
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL501")
    assert (finding.severity, finding.fix, line_of(result, finding)) == ("error", None, 12)
    assert fixed(tmp_path, "pod.yaml", text) == text


@pytest.mark.parametrize(
    ("items", "argv", "wrong"),
    [
        # A remark where a word was meant: the item is null, `x#y` is a word.
        pytest.param(["--served-model-name", "### End", "x#y"], ["--served-model-name", None, "x#y"], "", id="trap-19"),
        pytest.param(["--port: x", "--served-model-name", "qwen2.5:7b"], [None, "--served-model-name", "qwen2.5:7b"],
                     "--port: x", id="trap-20"),
        pytest.param(['--override-generation-config={"max_new_tokens": 4096}'], [None],
                     '--override-generation-config={"max_new_tokens": 4096}', id="trap-23-mapping"),
    ],
)  # fmt: skip
def test_items_that_are_no_words(tmp_path: Path, items: list[str], argv: list[str | None], wrong: str) -> None:
    text = args(MODEL, *items)
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL511")
    assert (finding.severity, written(result, finding), finding.fix) == ("error", wrong, None)
    assert told(result)[0]["argv"] == [MODEL, *argv]
    assert fixed(tmp_path, "pod.yaml", text) == text


@pytest.mark.parametrize(
    ("list_text", "new", "after"),
    [
        pytest.param("- '--x'\n", "### End", "- '--x'\n- '### End'\n", id="trap-19-written"),
        pytest.param("- --x\n", "a #b", '- --x\n- "a #b"\n', id="trap-19-behind-a-blank"),
        pytest.param("- --x\n", "@x", '- --x\n- "@x"\n', id="trap-21-written"),
        pytest.param('- "--x"\n', '{"a": 1}', '- "--x"\n- \'{"a": 1}\'\n', id="trap-22-json"),
        pytest.param("- '--x'\n", "\n", "- '--x'\n- \"\\n\"\n", id="trap-22-newline"),
        pytest.param("- --x\n", '--y={"a": [1]}', "- --x\n- '--y={\"a\": [1]}'\n", id="trap-23-json"),
    ],
)
def test_items_that_want_quotes(list_text: str, new: str, after: str) -> None:
    file = read_yaml(list_text)
    (root,) = file.documents
    assert root is not None
    answer = append_items(file, root, [new])
    assert not isinstance(answer, YamlRefusal)
    assert apply_edits(list_text, answer) == after
    assert value(read_yaml(after).documents[0])[-1] == new == plain(after)[0][-1]


@pytest.mark.parametrize(
    ("stops", "read", "after"),
    [
        # A newline in double quotes, a backslash and an n in single ones.
        pytest.param("""["<|im_end|>", "\\n\\nUser:"]""", ["<|im_end|>", "\n\nUser:"],
                     """["<|im_end|>", "\\n\\nUser:", "<|endoftext|>"]""", id="trap-22-double"),
        pytest.param("""['<|im_end|>', '\\nUser:']""", ["<|im_end|>", "\\nUser:"],
                     """['<|im_end|>', '\\nUser:', '<|endoftext|>']""", id="trap-22-single"),
    ],
)  # fmt: skip
def test_escapes_stay_what_they_are(tmp_path: Path, stops: str, read: list[str], after: str) -> None:
    text = localai(f"stopwords: {stops}\n")
    (serving,) = told(run(tmp_path, "model.yaml", text))
    assert [each["value"] for each in serving["stop_set"]["texts"]] == read
    assert fixed(tmp_path, "model.yaml", text) == localai(f"stopwords: {after}\n")


def test_trap_22_json_inside_yaml_is_edited_decoded(tmp_path: Path) -> None:
    text = config_map("generation_config.json", '"{\\"eos_token_id\\": \\"151645\\",\\n\\"pad_token_id\\": 151643}\\n"')
    after = fixed(tmp_path, "map.yaml", text)
    assert after == text.replace('\\"151645\\"', "151645")


def test_trap_23_json_without_blanks_is_one_word(tmp_path: Path) -> None:
    result = run(tmp_path, "pod.yaml", args(MODEL, '--override-generation-config={"max_new_tokens":4096}'))
    (serving,) = told(result)
    assert (loud(result), serving["cap"]["value"]) == ([], 4096)


@pytest.mark.parametrize(
    "line", [pytest.param("\targs: [a]\n", id="trap-24"), pytest.param("      args:\n\t- a\n", id="trap-24-item")]
)
def test_tabs_are_told_and_left(tmp_path: Path, line: str) -> None:
    text = pod(line)
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL501")
    assert ("tab" in finding.message, line_of(result, finding)) == (True, 8 + line.count("\n"))
    assert fixed(tmp_path, "pod.yaml", text) == text


@pytest.mark.parametrize(
    "line",
    [
        pytest.param("args:", id="trap-25"),
        pytest.param("args: []  # patched", id="trap-25-empty"),
        pytest.param("args: ~", id="trap-25-null"),
    ],
)
def test_a_list_without_words_is_none(tmp_path: Path, line: str) -> None:
    result = run(tmp_path, "pod.yaml", pod(f"      {line}\n"))
    assert (result.findings, told(result)[0]["argv"]) == ((), [])


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param("stopwords: []  # by overlay\n", 'stopwords: ["<|im_end|>", "<|endoftext|>"]  # by overlay\n',
                     id="trap-25-fix-empty"),
        pytest.param("stopwords:  # by overlay\ncontext_size: 8192\n",
                     'stopwords:  # by overlay\n  - "<|im_end|>"\n  - "<|endoftext|>"\ncontext_size: 8192\n',
                     id="trap-25-fix-nothing"),
    ],
)  # fmt: skip
def test_an_empty_list_is_filled_and_keeps_its_comment(tmp_path: Path, text: str, after: str) -> None:
    assert fixed(tmp_path, "model.yaml", localai(text)) == localai(after)


# C. Words


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        pytest.param(args(MODEL, "--max-model-len=8192"), [MODEL, "--max-model-len=8192"], id="trap-26-one"),
        pytest.param(args(MODEL, "--max-model-len", "'8192'"), [MODEL, "--max-model-len", "8192"], id="trap-26-two"),
        pytest.param(
            pod('      command: [sh, -c, "vllm serve m --max-model-len 8192"]\n'),
            ["serve", "m", "--max-model-len", "8192"], id="trap-26-shell",
        ),
        pytest.param(
            args('"--model-id Qwen/Qwen2.5-7B-Instruct"', image=TGI), ["--model-id Qwen/Qwen2.5-7B-Instruct"],
            id="trap-27",
        ),
        pytest.param(
            args(MODEL, "--max-model-len\n        # for L4", '"8192"'), [MODEL, "--max-model-len", "8192"], id="trap-28"
        ),
        pytest.param(
            args(MODEL + '\n        # - --override-generation-config={"eos_token_id":[1]}\n        # - --port'),
            [MODEL],
            id="trap-29",
        ),
        pytest.param(
            args(MODEL, "-tp", "'2'", "-O3", "--seed", "'-1'"), [MODEL, "-tp", "2", "-O3", "--seed", "-1"],
            id="trap-31-vllm",
        ),
        pytest.param(
            args("-m", "/models/chat.gguf", "-c", "'4096'", "--n-predict", "'-1'", image=LLAMA),
            ["-m", "/models/chat.gguf", "-c", "4096", "--n-predict", "-1"], id="trap-31-llama",
        ),
        pytest.param(
            pod(f'      command: [sh, -c]\n      args: ["{OLD_ENTRY_POINT} --model m --port 1"]\n'),
            ["--model", "m", "--port", "1"], id="trap-32-shell",
        ),
        pytest.param(
            pod('      command: [bash, -c, "exec vllm serve $0 $@"]\n      args: [m, --max-model-len=4096]\n'),
            ["serve", "m", "--max-model-len=4096"], id="trap-33-zero",
        ),
        pytest.param(
            pod('      command: [bash, -c, "exec vllm serve m $@"]\n      args: ["--max-model-len=1", "--port=2"]\n'),
            ["serve", "m", "--port=2"], id="trap-33-swallowed",
        ),
        pytest.param(
            pod("      command: [bash, -c, 'exec vllm serve m \"$@\"', --]\n      args: [--max-model-len=4096]\n"),
            ["serve", "m", "--max-model-len=4096"], id="trap-33-dashes",
        ),
        # Without `$@` nobody reads them.
        pytest.param(
            pod('      command: [bash, -c, "exec vllm serve m"]\n      args: ["--max-model-len=x"]\n'), ["serve", "m"],
            id="trap-33-unread",
        ),
        pytest.param(args("Qwen/Qwen3-8B"), ["Qwen/Qwen3-8B"], id="trap-34-positional"),
        pytest.param(args("--model", "Qwen/Qwen3-8B"), ["--model", "Qwen/Qwen3-8B"], id="trap-34-option"),
        pytest.param(
            pod(
                f"      args: [{MODEL}]\n"
                "      lifecycle: {postStart: {exec: {command: [vllm, serve, x, --port, x]}}}\n"
                "      readinessProbe: {exec: {command: [vllm, serve, x, --port, x]}}\n"
                "  initContainers:\n    - name: warm\n      image: vllm/vllm-openai:v0.11.2\n"
                "      command: [vllm, serve, x, --port 8000]\n"
            ),
            [MODEL], id="trap-35",
        ),
    ],
)  # fmt: skip
def test_words_are_read_right_and_nothing_is_said(tmp_path: Path, text: str, argv: list[str]) -> None:
    result = run(tmp_path, "pod.yaml", text)
    (serving,) = told(result)
    assert (serving["argv"], loud(result)) == (argv, [])
    assert fixed(tmp_path, "pod.yaml", text) == text


@pytest.mark.parametrize(
    ("text", "rule", "wrong"),
    [
        pytest.param(args(MODEL, '"--max-model-len 8192"'), "SL507", '"--max-model-len 8192"', id="trap-26"),
        pytest.param(args("--model-id", '"/data/my model"', image=TGI), "SL505", "model", id="trap-27-blank"),
        pytest.param(args(MODEL, "--max-model-len=4096", "--max-model-len=8192"), "SL512", "4096", id="trap-30"),
        # Before `vllm serve` was the entry point, a model alone was no word of it.
        pytest.param(
            pod("      args: [Qwen/Qwen3-8B]\n", "vllm/vllm-openai:v0.6.0"), "SL505", "Qwen/Qwen3-8B", id="trap-34"
        ),
    ],
)  # fmt: skip
def test_words_that_are_wrong(tmp_path: Path, text: str, rule: str, wrong: str) -> None:
    result = run(tmp_path, "pod.yaml", text)
    assert rules(loud(result)) == [rule]
    assert written(result, of_rule(result, rule)[0]) == wrong


def test_trap_28_a_comment_between_flag_and_value_stays(tmp_path: Path) -> None:
    text = args(MODEL, "--max-model-len\n        # for L4", "8192")
    assert fixed(tmp_path, "pod.yaml", text) == text.replace("- 8192", '- "8192"')


def test_trap_30_a_service_comes_after_its_runtime(tmp_path: Path) -> None:
    runtime = (
        "apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: r}\nspec:\n"
        "  supportedModelFormats: [{name: vLLM}]\n  containers:\n    - name: kserve-container\n"
        "      image: vllm/vllm-openai:v0.11.2\n      args: [--max-model-len=4096]\n"
    )
    text = (
        "apiVersion: serving.kserve.io/v1beta1\nkind: InferenceService\nmetadata: {name: s}\nspec:\n  predictor:\n"
        "    model:\n      modelFormat: {name: vLLM}\n      runtime: r\n      storageUri: hf://Qwen/Qwen3-8B\n"
        "      args: [--max-model-len=8192]\n"
    )
    assert words(tmp_path, "service.yaml", text, {"runtime.yaml": runtime}) == [
        "--max-model-len=4096", "--max-model-len=8192",
    ]  # fmt: skip


@pytest.mark.parametrize("command", [pytest.param(f"{OLD_ENTRY_POINT} --model m --port 8080", id="trap-32")])
def test_a_whole_command_in_one_item(tmp_path: Path, command: str) -> None:
    text = pod(f'      command:\n        - "{command}"\n')
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL507")
    assert (finding.severity, finding.fix) == ("error", None)


def test_trap_32_a_whole_command_is_not_edited(tmp_path: Path) -> None:
    text = pod('      command:\n        - "vllm serve m --port 8080"\n')
    assert fixed(tmp_path, "pod.yaml", text) == text


# D. Blocks of lines

FROM = "FROM ./qwen2.5-7b-instruct-q4_k_m.gguf"
STOP = 'PARAMETER stop "<|endoftext|>"'
ADDED = 'PARAMETER stop "<|im_end|>"'


@pytest.mark.parametrize(
    ("text", "after"),
    [
        pytest.param(config_map("Modelfile", "|", FROM, STOP), config_map("Modelfile", "|", FROM, STOP, ADDED),
                     id="trap-36"),
        pytest.param(config_map("Modelfile", "|-", FROM, STOP), config_map("Modelfile", "|-", FROM, STOP, ADDED),
                     id="trap-36-strip"),
        pytest.param(
            config_map("Modelfile", "|-", FROM, STOP).rstrip("\n"),
            config_map("Modelfile", "|-", FROM, STOP, ADDED).rstrip("\n"), id="trap-36-end-of-file",
        ),
        pytest.param(
            config_map("Modelfile", "|+", FROM, STOP, "", "") + "---\na: 1\n",
            config_map("Modelfile", "|+", FROM, STOP, ADDED, "", "") + "---\na: 1\n", id="trap-36-keep",
        ),
        pytest.param(
            config_map("Modelfile", "|2", "  # lead", FROM, STOP),
            config_map("Modelfile", "|2", "  # lead", FROM, STOP, ADDED), id="trap-37",
        ),
        pytest.param(
            # The block's own indent is four wide, what lies in it begins further in.
            config_map("Modelfile", "|4", "    # lead", f"  {FROM}", f"  {STOP}"),
            config_map("Modelfile", "|4", "    # lead", f"  {FROM}", f"  {STOP}", f"  {ADDED}"), id="trap-37-wide",
        ),
        pytest.param(
            config_map("generation_config.json", "|", "{", '    "eos_token_id": "151645",', '    "top_k": 20', "}"),
            config_map("generation_config.json", "|", "{", '    "eos_token_id": 151645,', '    "top_k": 20', "}"),
            id="trap-41-json",
        ),
        pytest.param(
            config_map("Modelfile", "|", "FROM qwen2.5:7b", 'TEMPLATE """{{ .Prompt }}"""', STOP),
            config_map("Modelfile", "|", "FROM qwen2.5:7b", 'TEMPLATE """{{ .Prompt }}"""', STOP, ADDED), id="trap-42",
        ),
    ],
)  # fmt: skip
def test_lines_go_into_the_block(tmp_path: Path, text: str, after: str) -> None:
    assert fixed(tmp_path, "map.yaml", text) == after
    assert plain(after) == [value(root) for root in read_yaml(after).documents]


def test_trap_41_places_are_those_of_the_host(tmp_path: Path) -> None:
    result = run(tmp_path, "map.yaml", config_map("Modelfile", "|", FROM, STOP))
    (finding,) = of_rule(result, "SL101")
    assert (line_of(result, finding), written(result, finding)) == (7, STOP)
    begin = result.text.rfind("\n", 0, finding.span.start) + 1
    assert finding.span.start - begin == 4


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        # Joined by blanks; a line that stands further in keeps its line break, which parts words as well.
        pytest.param("    command: >\n      --model m\n      --port 1\n", ["--model", "m", "--port", "1"],
                     id="trap-38"),
        pytest.param("    command: >\n      --model m\n        --port 1\n", ["--model", "m", "--port", "1"],
                     id="trap-38-further-in"),
        pytest.param("    command: |\n      --model m\n      --port 1\n", ["--model", "m", "--port", "1"],
                     id="trap-38-literal"),
        # The escaped blank is part of the next word.
        pytest.param("    command: >\n      --model m \\\n      --port 1\n", ["--model", "m", " --port", "1"],
                     id="trap-39"),
        # No shell takes the remark out.
        pytest.param("    command: >\n      --model m\n      # note\n", ["--model", "m", "#", "note"], id="trap-40"),
    ],
)  # fmt: skip
def test_folded_lines_in_compose(tmp_path: Path, text: str, argv: list[str]) -> None:
    result = run(tmp_path, "compose.yaml", service(text))
    assert told(result)[0]["argv"] == argv
    # A backslash and a remark are told; plain lines are not.
    assert bool(loud(result)) is ("\\" in text or "#" in text)
    assert fixed(tmp_path, "compose.yaml", service(text)) == service(text)


@pytest.mark.parametrize(
    ("text", "argv", "found"),
    [
        pytest.param(shell(">", "vllm serve m", "--port 1"), ["serve", "m", "--port", "1"], [], id="trap-38-shell"),
        pytest.param(
            shell(">", "vllm serve m \\", "--port 1"), ["serve", "m", " --port", "1"], ["SL505"], id="trap-39-shell"
        ),
        # No backslash is put into folded lines, though here one would work.
        pytest.param(
            shell(">", "vllm serve m", "--seed 1", "  --port 1"), ["serve", "m", "--seed", "1"], ["SL509"],
            id="trap-39-further-in",
        ),
        # A remark in folded lines takes all that follows with it. (No rule tells that yet; it is read so.)
        pytest.param(shell(">", "vllm serve m", "# note", "--port 1"), ["serve", "m"], [], id="trap-40-folded"),
        pytest.param(
            shell("|", "vllm serve m \\", "# note", "--port 1"), ["serve", "m"], ["SL509"], id="trap-40-shell"
        ),
        pytest.param(shell("|", "# note", "vllm serve m"), ["serve", "m"], [], id="trap-40-above"),
    ],
)  # fmt: skip
def test_lines_of_a_shell(tmp_path: Path, text: str, argv: list[str], found: list[str]) -> None:
    result = run(tmp_path, "pod.yaml", text)
    (serving,) = told(result)
    assert (serving["argv"], rules(loud(result))) == (argv, found)
    assert fixed(tmp_path, "pod.yaml", text) == text


def test_trap_39_literal_lines_gain_their_backslash(tmp_path: Path) -> None:
    text = shell("|", "vllm serve m \\", "--seed 1", "--port 1")
    assert fixed(tmp_path, "pod.yaml", text) == text.replace("--seed 1\n", "--seed 1 \\\n")


def test_trap_42_in_a_template_the_same_is_an_expression(tmp_path: Path) -> None:
    text = config_map("Modelfile", "|", "FROM qwen2.5:7b", 'TEMPLATE """{{ .Prompt }}"""', 'PARAMETER stop "x"')
    chart = {"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "chart/values.yaml": "a: 1\n"}
    after = fixed(tmp_path, "chart/templates/map.yaml", text, chart)
    assert isinstance(after, str)
    assert '    TEMPLATE """{{ .Prompt }}"""\n' in after


SERVE = (
    "applications:", "  - name: llm", "    import_path: ray.serve.llm:build_openai_app", "    args:",
    "      llm_configs:",
    "        - model_loading_config: {model_id: q, model_source: Qwen/Qwen3-8B}", "          engine_kwargs:",
    "            max_model_len: 8192", "            max_model_length: 4096",
)  # fmt: skip
RAY = "apiVersion: ray.io/v1\nkind: RayService\nmetadata: {name: r}\nspec:\n  serveConfigV2: "


@pytest.mark.parametrize(
    "written_config",
    [
        pytest.param("|\n" + "".join(f"    {line}\n" for line in SERVE), id="trap-43"),
        pytest.param(">-\n" + "\n".join(f"    {line}\n" for line in SERVE), id="trap-43-folded"),
        pytest.param('"' + "\\n".join(SERVE) + '"\n', id="trap-43-quoted"),
    ],
)
def test_yaml_in_yaml_is_read_in_every_style(tmp_path: Path, written_config: str) -> None:
    result = run(tmp_path, "ray.yaml", RAY + written_config)
    found = told(result)
    assert (found[0]["engine"], found[0]["model"]) == ("vllm", "Qwen/Qwen3-8B")
    assert fixed(tmp_path, "ray.yaml", RAY + written_config) == RAY + written_config


# E. Templates


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(pod(f"{ARGS}{PORT}      ns: {{{{ ns }}}}\n"), id="trap-44"),
        pytest.param(
            pod(f"{ARGS}{PORT}      {{{{- if .x }}}}\n      tty: true\n      {{{{- end }}}}\n"), id="trap-45-lines"
        ),
    ],
)
def test_templates_are_not_edited(tmp_path: Path, text: str) -> None:
    result = run(tmp_path, "pod.yaml", text)
    assert not of_rule(result, "SL501")
    assert fixed(tmp_path, "pod.yaml", text) == text


def test_trap_45_a_chart_keeps_its_expressions(tmp_path: Path) -> None:
    text = pod(f"{ARGS}{PORT}      {{{{- if .Values.x }}}}\n      env: {{{{ .Values.env }}}}\n      {{{{- end }}}}\n")
    chart = {"chart/Chart.yaml": "apiVersion: v2\nname: c\nversion: 0.1.0\n", "chart/values.yaml": "env: []\n"}
    result = run(tmp_path, "chart/templates/pod.yaml", text, chart)
    assert not of_rule(result, "SL501")
    assert fixed(tmp_path, "chart/templates/pod.yaml", text, chart) == text.replace(PORT, PORT_FIXED)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(args("'--model=${M}'", "--max-model-len", "'${L}'"), id="trap-46-envsubst"),
        pytest.param(
            args("--model=$(M)", "--max-model-len", "$(L)")
            + "      envFrom: [{configMapRef: {name: elsewhere}}]\n", id="trap-46-variable",
        ),
        pytest.param(args("'--model={{ m }}'", "--max-model-len", "'{{ l }}'"), id="trap-46-braces"),
        pytest.param(args("--model=<model>", "--max-model-len", "<length>"), id="trap-46-angles"),
        pytest.param(args("'--model=@M@'", "--max-model-len", "'@L@'"), id="trap-46-at"),
        pytest.param(args("--model=m #@ data.values.model", "'--max-model-len=1024' #@ data.values.length"),
                     id="trap-46-ytt"),
        pytest.param("# +kubebuilder:object:root=true\n" + args(MODEL), id="trap-46-kubebuilder"),
        pytest.param(service("    command: --model ${M} --max-model-len ${L:-x}\n"), id="trap-46-compose"),
    ],
)  # fmt: skip
def test_what_is_not_known_is_not_missing(tmp_path: Path, text: str) -> None:
    name = "compose.yaml" if "services:" in text else "pod.yaml"
    result = run(tmp_path, name, text)
    assert (loud(result), len(told(result))) == ([], 1)
    assert fixed(tmp_path, name, text) == text


RUNTIME = (
    "apiVersion: serving.kserve.io/v1alpha1\nkind: ServingRuntime\nmetadata: {name: r}\nspec:\n  containers:\n"
    "    - name: kserve-container\n      image: vllm/vllm-openai:v0.11.2\n      args:\n        - --model=/mnt/models\n"
)


@pytest.mark.parametrize(
    ("items", "argv"),
    [
        pytest.param(["--served-model-name={{.Name}}"], [None], id="trap-47"),
        # No rule tells that KServe runs it as a Go template; it is not taken for what vLLM gets.
        pytest.param(["--chat-template", '"{% for m in messages %}{{ m.content }}{% endfor %}"'],
                     ["--chat-template", None], id="trap-47-jinja"),
    ],
)  # fmt: skip
def test_placeholders_of_kserve(tmp_path: Path, items: list[str], argv: list[str | None]) -> None:
    text = RUNTIME + "".join(f"        - {item}\n" for item in items)
    result = run(tmp_path, "runtime.yaml", text)
    assert (told(result)[0]["argv"], loud(result)) == (["--model=/mnt/models", *argv], [])
    assert fixed(tmp_path, "runtime.yaml", text) == text


# F. What is shared and laid over


def test_trap_48_a_shared_list_is_told_once_and_left(tmp_path: Path) -> None:
    text = pod(
        f"      args: &a [{MODEL}, --port, 8000]\n    - {{name: b, image: vllm/vllm-openai:v0.11.2, args: *a}}\n"
    )
    result = run(tmp_path, "pod.yaml", text)
    (finding,) = of_rule(result, "SL511")
    assert (finding.fix, len(told(result))) == (None, 2)
    assert "anchor" in (finding.no_fix or "")
    assert fixed(tmp_path, "pod.yaml", text) == text


BASE = 'x-base: &base\n  image: vllm/vllm-openai:v0.11.2\n  command: [--model=m, "--port 8000"]\nservices:\n'


@pytest.mark.parametrize(
    ("text", "argv"),
    [
        pytest.param(f"{BASE}  vllm: {{<<: *base}}\n", ["--model=m", "--port 8000"], id="trap-49"),
        pytest.param(f"{BASE}  vllm:\n    <<: *base\n    command: [--model=n]\n", ["--model=n"], id="trap-49-replaced"),
        pytest.param(
            f"x-first: &first {{command: [--model=f]}}\n{BASE}  vllm:\n    <<: [*first, *base]\n",
            ["--model=f"],
            id="trap-49-first-wins",
        ),
    ],
)
def test_merge_keys_are_followed_and_not_edited(tmp_path: Path, text: str, argv: list[str]) -> None:
    assert words(tmp_path, "compose.yaml", text) == argv
    assert fixed(tmp_path, "compose.yaml", text) == text


@pytest.mark.parametrize(
    ("name", "text", "beside", "argv"),
    [
        pytest.param(
            "compose.override.yml", "services:\n  vllm:\n    command: [--model=n]\n",
            {"compose.yaml": service("    command: [--model=m, --port=1]\n")}, ["--model=n"], id="trap-50",
        ),
        pytest.param(
            "compose.yaml", "services:\n  vllm:\n    extends: {service: vllm, file: base.yaml}\n",
            {"base.yaml": service("    command: [--model=m, --port=1]\n")}, ["--model=m", "--port=1"],
            id="trap-50-extends",
        ),
        pytest.param(
            "compose.yaml",
            "services:\n  vllm:\n    extends: {service: vllm, file: base.yaml}\n    command: --model=n\n",
            {"base.yaml": service("    command: [--model=m, --port=1]\n")}, ["--model=n"], id="trap-50-replaced",
        ),
    ],
)  # fmt: skip
def test_files_of_compose_over_each_other(
    tmp_path: Path, name: str, text: str, beside: dict[str, str], argv: list[str]
) -> None:
    assert words(tmp_path, name, text, beside) == argv


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        pytest.param("      - MODEL_ID=m\n      - MAX_TOTAL_TOKENS=x\n", ["SL505"], id="trap-50-list"),
        pytest.param("      MODEL_ID: m\n      MAX_TOTAL_TOKENS: x\n", ["SL505"], id="trap-50-map"),
        # Taken from around: unknown, not missing.
        pytest.param("      - MODEL_ID=m\n      - MAX_TOTAL_TOKENS\n", [], id="trap-50-bare"),
        pytest.param("      MODEL_ID: m\n      MAX_TOTAL_TOKENS:\n", [], id="trap-50-null"),
        # Compose of today takes a boolean here; the first refused it.
        pytest.param("      MODEL_ID: m\n      TRUST_REMOTE_CODE: true\n", [], id="trap-50-boolean"),
    ],
)
def test_variables_in_compose(tmp_path: Path, environment: str, found: list[str]) -> None:
    result = run(tmp_path, "compose.yaml", service(f"    environment:\n{environment}", TGI))
    assert rules(loud(result)) == found
    assert told(result)[0]["model"] == "m"


def test_trap_50_variables_are_merged_by_name(tmp_path: Path) -> None:
    base = service("    environment: {MODEL_ID: m, MAX_TOTAL_TOKENS: x}\n", TGI)
    text = (
        "services:\n  vllm:\n    extends: {service: vllm, file: base.yaml}\n    environment: [MAX_TOTAL_TOKENS=4096]\n"
    )
    result = run(tmp_path, "compose.yaml", text, {"base.yaml": base})
    assert (told(result)[0]["model"], loud(result)) == ("m", [])


def test_trap_51_dollars_are_doubled(tmp_path: Path) -> None:
    text = service("    command: ['--model', 'm', '--served-model-name a$$b']\n")
    assert words(tmp_path, "compose.yaml", text) == ["--model", "m", "--served-model-name a$b"]
    after = service("    command: ['--model', 'm', '--served-model-name', 'a$$b']\n")
    assert fixed(tmp_path, "compose.yaml", text) == after
    assert words(tmp_path, "compose.yaml", after) == ["--model", "m", "--served-model-name", "a$b"]


def test_trap_51_what_is_no_variable_aborts(tmp_path: Path) -> None:
    result = run(tmp_path, "compose.yaml", service("    command: ['--model', 'm', '--seed', '${A[@]}']\n"))
    (finding,) = of_rule(result, "SL501")
    assert (written(result, finding), finding.fix) == ("${A[@]}", None)


@pytest.mark.parametrize(
    ("command", "argv"),
    [
        pytest.param("--model m --x '{\"a\":1}'", ["--model", "m", "--x", '{"a":1}'], id="trap-52"),
        pytest.param('--model m --x {"a":1}', ["--model", "m", "--x", "{a:1}"], id="trap-52-lost"),
        pytest.param("[--model, m, --x, '{\"a\":1}']", ["--model", "m", "--x", '{"a":1}'], id="trap-52-list"),
    ],
)
def test_a_command_that_compose_splits(tmp_path: Path, command: str, argv: list[str]) -> None:
    assert words(tmp_path, "compose.yaml", service(f"    command: {command}\n")) == argv


def test_trap_52_json_is_quoted_for_compose(tmp_path: Path) -> None:
    text = service('    command: --model m --override-generation-config {"max_new_tokens":4096} # cap\n')
    assert fixed(tmp_path, "compose.yaml", text) == text.replace(
        '{"max_new_tokens":4096}', "'{\"max_new_tokens\":4096}'"
    )


OBJECT = (
    "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: q}\nspec:\n  template:\n    spec:\n      containers:\n"
    "        - name: vllm\n"
)
OBJECT_BASE = f"{OBJECT}          image: vllm/vllm-openai:v0.11.2\n          args: [{MODEL}]\n"


def test_trap_53_a_patch_alone_lacks_no_model(tmp_path: Path) -> None:
    result = run(tmp_path, "patch.yaml", f"{OBJECT}          args: [--max-model-len=8192]\n")
    assert loud(result) == []


def test_trap_53_a_patch_replaces_the_words(tmp_path: Path) -> None:
    beside = {"kustomization.yaml": "resources: [base.yaml]\npatches: [{path: patch.yaml}]\n", "base.yaml": OBJECT_BASE}
    text = f"{OBJECT}          args: [--max-model-len=8192]\n"
    (serving,) = told(run(tmp_path, "patch.yaml", text, beside))
    assert (serving["argv"], serving["engine_version"]) == (["--max-model-len=8192"], "0.11.2")


def test_trap_53_an_operation_appends_a_word(tmp_path: Path) -> None:
    text = (
        "resources: [base.yaml]\npatches:\n  - target: {kind: Deployment, name: q}\n    patch: |\n"
        "      - op: add\n        path: /spec/template/spec/containers/0/args/-\n        value: --port=8000\n"
    )
    result = run(tmp_path, "kustomization.yaml", text, {"base.yaml": OBJECT_BASE, "kustomization.yaml": text})
    assert [each["argv"] for each in told(result)] == [[MODEL, "--port=8000"]]
    assert loud(result) == []


def test_trap_53_images_change_the_tag(tmp_path: Path) -> None:
    overlay = (
        "resources: [base.yaml]\npatches: [{path: patch.yaml}]\nimages: [{name: vllm/vllm-openai, newTag: v0.6.0}]\n"
    )
    text = f"{OBJECT}          args: [--max-model-len=8192]\n"
    (serving,) = told(run(tmp_path, "patch.yaml", text, {"kustomization.yaml": overlay, "base.yaml": OBJECT_BASE}))
    assert serving["engine_version"] == "0.6.0"


def indented(text: str) -> str:
    """An object as the item of a list."""
    return "".join(("- " if not index else "  ") + line + "\n" for index, line in enumerate(text.splitlines()))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("apiVersion: v1\nkind: List\nitems:\n" + indented(args(MODEL, "--port", "8000")), id="trap-54"),
        pytest.param("---\n---\n# c\n---\n" + args(MODEL, "--port", "8000") + "---\n---\n", id="trap-54-empty"),
        pytest.param(
            indented(args(MODEL, "--port", "8000")), id="trap-54-bare",
        ),
        pytest.param("--- # c\n" + args(MODEL, "--port", "8000"), id="trap-55"),
        pytest.param("--- {a: 1}\n--- # c\n" + args(MODEL, "--port", "8000"), id="trap-55-content"),
        pytest.param(
            args(MODEL, "--port", "8000", "--served-model-name", "|-\n          a\n          ---\n          b"),
            id="trap-55-block",
        ),
    ],
)  # fmt: skip
def test_every_object_is_found(tmp_path: Path, text: str) -> None:
    (serving,) = told(run(tmp_path, "objects.yaml", text))
    assert serving["argv"][:3] == [MODEL, "--port", "8000"]
    assert fixed(tmp_path, "objects.yaml", text) == text.replace("- 8000", '- "8000"')


# G. Environment files

READERS = {
    "docker": {"run.sh": f"#!/bin/sh\ndocker run --env-file tgi.env {TGI}\n"},
    "compose": {"compose.yaml": service("    env_file: tgi.env\n", TGI)},
    "systemd": {
        "tgi.service": "[Service]\nEnvironmentFile=/etc/tgi.env\nExecStart=/usr/bin/text-generation-launcher\n"
    },
    "shell": {"run.sh": "#!/bin/sh\nset -a\n. ./tgi.env\ntext-generation-launcher\n"},
    "unknown": {},
}
QUOTED = 'MODEL_ID="Qwen/Qwen2.5-7B-Instruct"\nMAX_TOTAL_TOKENS=4096\n'
REMARK = "MODEL_ID=m\nMAX_TOTAL_TOKENS=4096 # cap\n"
HASH = "MODEL_ID=a#b\nMAX_TOTAL_TOKENS=4096\n"
EXPORT = "MODEL_ID=m\nexport MAX_TOTAL_TOKENS=4096\n"
DOLLAR = "Y=4096\nMODEL_ID=m\nMAX_TOTAL_TOKENS=${Y}\n"
SINGLE = "Y=4096\nMODEL_ID=m\nMAX_TOTAL_TOKENS='${Y}'\n"
TWICE = "MODEL_ID=m\nMAX_TOTAL_TOKENS=2048\nMAX_TOTAL_TOKENS=4096\n"
BOTH = "MODEL_ID=m\nMAX_INPUT_TOKENS=1024\nMAX_INPUT_LENGTH=1024\n"


@pytest.mark.parametrize(
    ("text", "reader", "found"),
    [
        pytest.param(QUOTED, "docker", ["SL510"], id="trap-56-docker"),
        pytest.param(QUOTED, "compose", [], id="trap-56-compose"),
        pytest.param(QUOTED, "systemd", [], id="trap-56-systemd"),
        pytest.param(QUOTED, "shell", [], id="trap-56-shell"),
        pytest.param(QUOTED, "unknown", ["SL510"], id="trap-56-unknown"),
        pytest.param(REMARK, "docker", ["SL502"], id="trap-57-docker"),
        pytest.param(REMARK, "compose", [], id="trap-57-compose"),
        pytest.param(REMARK, "systemd", ["SL502"], id="trap-57-systemd"),
        pytest.param(HASH, "docker", [], id="trap-57-hash-docker"),
        pytest.param(HASH, "compose", [], id="trap-57-hash-compose"),
        pytest.param(EXPORT, "docker", ["SL501"], id="trap-58-docker"),
        pytest.param(EXPORT, "compose", [], id="trap-58-compose"),
        pytest.param(EXPORT, "systemd", ["SL501"], id="trap-58-systemd"),
        pytest.param(EXPORT, "shell", [], id="trap-58-shell"),
        pytest.param(DOLLAR, "docker", ["SL505"], id="trap-59-docker"),
        pytest.param(DOLLAR, "compose", [], id="trap-59-compose"),
        pytest.param(SINGLE, "compose", ["SL505"], id="trap-59-single"),
        pytest.param(DOLLAR, "systemd", ["SL505"], id="trap-59-systemd"),
        pytest.param(DOLLAR, "unknown", [], id="trap-59-unknown"),
        *(pytest.param(TWICE, reader, ["SL512"], id=f"trap-60-{reader}") for reader in READERS),
        *(pytest.param(BOTH, reader, ["SL505"], id=f"trap-60-both-{reader}") for reader in READERS),
    ],
)
def test_environment_files_by_who_reads_them(tmp_path: Path, text: str, reader: str, found: list[str]) -> None:
    result = run(tmp_path, "tgi.env", text, READERS[reader])
    assert rules(loud(result)) == found


def test_trap_56_quotes_of_an_unknown_reader_are_no_error(tmp_path: Path) -> None:
    (finding,) = of_rule(run(tmp_path, "tgi.env", QUOTED), "SL510")
    assert finding.severity == "warning"


def test_trap_56_quotes_of_an_unknown_reader_stay(tmp_path: Path) -> None:
    assert fixed(tmp_path, ".env", QUOTED) == QUOTED


@pytest.mark.parametrize(
    ("beside", "found"),
    [
        pytest.param("data: {MAX_TOTAL_TOKENS: '${Y}', Y: '4096'}\n", ["SL505"], id="trap-59-config-map"),
        pytest.param("data: {MAX_TOTAL_TOKENS: '4096'}\n", [], id="trap-59-config-map-right"),
    ],
)
def test_a_config_map_is_taken_as_it_stands(tmp_path: Path, beside: str, found: list[str]) -> None:
    text = args("--model-id=m", image=TGI) + "      envFrom: [{configMapRef: {name: settings}}]\n---\n"
    text += f"apiVersion: v1\nkind: ConfigMap\nmetadata: {{name: settings}}\n{beside}"
    assert rules(loud(run(tmp_path, "pod.yaml", text))) == found


# H. What stops


@pytest.mark.parametrize(
    "option",
    [
        pytest.param("--stop=</s>", id="trap-62-stop"),
        pytest.param("--eos-token-id=2", id="trap-62-eos"),
        pytest.param('--override-generation-config={"eos_token_id":2}', id="trap-62-override"),
    ],
)
def test_tgi_has_no_flag_for_stops(tmp_path: Path, option: str) -> None:
    text = args("--model-id=Qwen/Qwen2.5-7B-Instruct", f"'{option}'", image=TGI)
    result = run(tmp_path, "pod.yaml", text)
    assert rules(loud(result)) == ["SL504"]
    assert fixed(tmp_path, "pod.yaml", text) == text


def test_trap_62_none_is_added(tmp_path: Path) -> None:
    text = args("--model-id=Qwen/Qwen2.5-7B-Instruct", image=TGI)
    result = run(tmp_path, "pod.yaml", text)
    assert (loud(result), told(result)[0]["argv"]) == ([], ["--model-id=Qwen/Qwen2.5-7B-Instruct"])
    strict = fix_file("pod.yaml", text.encode(), Context(tmp_path), Policy(profile="strict"))
    assert not strict.changed


@pytest.mark.parametrize(
    ("name", "text"),
    [
        pytest.param(
            "task.yaml",
            "service:\n  readiness_probe:\n    path: /v1/chat/completions\n    post_data:\n      model: Qwen/Qwen3-8B\n"
            "      messages: [{role: user, content: hi}]\n      max_tokens: 1\nrun: |\n"
            "  vllm serve Qwen/Qwen3-8B --max-model-len 8192\n",
            id="trap-64",
        ),
        pytest.param(
            "pod.yaml",
            args(MODEL)
            + "      readinessProbe:\n        exec:\n          command:\n            - sh\n            - -c\n"
            '            - curl -d \'{"model":"m","prompt":"x","max_tokens":1}\' localhost:8000/v1/completions\n',
            id="trap-64-pod",
        ),
    ],
)
def test_probes_may_be_short(tmp_path: Path, name: str, text: str) -> None:
    result = run(tmp_path, name, text)
    assert (result.findings, len(told(result))) == ((), 1)


def route(*parameters: str, info: str = "") -> str:
    """A configuration of LiteLLM with one route."""
    lines = "".join(f"      {line}\n" for line in parameters)
    return f"model_list:\n  - model_name: chat\n    litellm_params:\n{lines}{info}"


BEFORE_TGI = ("model: huggingface/Qwen/Qwen2.5-7B-Instruct", "api_base: http://tgi:8080")
BEFORE_VLLM = ("model: openai/Qwen/Qwen2.5-7B-Instruct", "api_base: http://vllm:8000/v1")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        # More than four make TGI refuse every call; so many it takes.
        pytest.param(route(*BEFORE_TGI, "stop: [aa, bb, cc, dd, ee]"), ["SL111"], id="trap-61"),
        pytest.param(
            route(*BEFORE_TGI, "stop:", "- aa", "- bb", "- cc", "- dd", "- ee"), ["SL111"], id="trap-61-block"
        ),
        pytest.param(route(*BEFORE_TGI, "stop: [aa, bb, cc, dd]"), [], id="trap-61-four"),
        pytest.param(route(*BEFORE_VLLM, "stop: [aa, bb, cc, dd, ee]"), [], id="trap-61-another-server"),
        # The one that takes the place of the model's own.
        pytest.param(route("model: ollama/qwen2.5:7b", "stop: []"), ["SL104"], id="trap-61-emptied"),
        # It is the endpoint that is wrong, and no stop is missing.
        pytest.param(
            route("model: text-completion-openai/Qwen/Qwen2.5-7B-Instruct", BEFORE_VLLM[1]), ["SL305"], id="trap-63"
        ),
        pytest.param(route("model: text-completion-openai/Qwen/Qwen2.5-7B", BEFORE_VLLM[1]), [], id="trap-63-base"),
        pytest.param(route(*BEFORE_VLLM), [], id="trap-63-chat"),
        # How long the context is, and how long an answer may be.
        pytest.param(route(*BEFORE_VLLM, info="    model_info:\n      max_tokens: 16\n"), [], id="trap-65"),
        pytest.param(
            route(*BEFORE_VLLM, "max_tokens: 16", info="    model_info:\n      max_tokens: 32768\n"), ["SL201"],
            id="trap-65-cap",
        ),
    ],
)  # fmt: skip
def test_a_gateway(tmp_path: Path, text: str, found: list[str]) -> None:
    result = run(tmp_path, "litellm.yaml", text)
    assert (rules(loud(result)), len(told(result))) == (found, 1)
    assert fixed(tmp_path, "litellm.yaml", text) == text


def test_trap_65_the_cap_is_the_parameters_own(tmp_path: Path) -> None:
    info = "    model_info:\n      max_tokens: 32768\n"
    (with_cap,) = told(run(tmp_path, "litellm.yaml", route(*BEFORE_VLLM, "max_tokens: 4096", info=info)))
    (without,) = told(run(tmp_path, "litellm.yaml", route(*BEFORE_VLLM, info=info)))
    assert (with_cap["cap"]["value"], without["cap"]) == (4096, None)


def test_trap_45_values_of_a_chart_are_read_where_their_templates_are_not(tmp_path: Path) -> None:
    text = f"# values\nimage: vllm/vllm-openai:v0.11.2\nargs: [{MODEL}, '--port 8000']  # words\n"
    assert fixed(tmp_path, "values.yaml", text) == text.replace("'--port 8000'", "'--port', '8000'")
