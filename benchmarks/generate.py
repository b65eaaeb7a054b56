"""Writes the files that the benchmarks read: the same every time."""

from __future__ import annotations

from pathlib import Path

_DEPLOYMENT = """\
---
# replica {number} of the load test; see the runbook
apiVersion: apps/v1
kind: Deployment
metadata:
  name: llm-{number}
  namespace: inference
  labels:
    app: llm-{number}
    team: platform
spec:
  replicas: 2
  selector:
    matchLabels:
      app: llm-{number}
  template:
    metadata:
      labels:
        app: llm-{number}
        team: platform
    spec:
      nodeSelector:
        accelerator: l40s
      containers:
        - name: vllm
          image: vllm/vllm-openai:v0.11.2
          args:
            - --model=Qwen/Qwen2.5-7B-Instruct
            - --max-model-len=16384
            - --served-model-name=assistant-{number}
            - --gpu-memory-utilization=0.9
            - --enable-auto-tool-choice
            - --tool-call-parser=hermes
          envFrom:
            - configMapRef:
                name: settings-{number}
          env:
            - name: HF_HOME
              value: /models
            - name: VLLM_LOGGING_LEVEL
              value: "INFO"
            # the token comes from the vault
            - name: HF_TOKEN
              valueFrom:
                secretKeyRef:
                  name: hub
                  key: token
          ports:
            - name: http
              containerPort: 8000
          resources:
            limits:
              nvidia.com/gpu: 1
              memory: 48Gi
            requests:
              cpu: "4"
          readinessProbe:
            httpGet:
              path: /health
              port: 8000
            initialDelaySeconds: 60
      terminationGracePeriodSeconds: 30
"""

_CONFIG_MAP = """\
---
apiVersion: v1
kind: ConfigMap
metadata:
  name: settings-{number}
data:
  Modelfile: |
    FROM qwen2.5:7b
    PARAMETER num_ctx 16384
"""

_MODULE = '''\
"""Module {number}: nothing that serves a model."""


def total(values):
    """The sum of the positive values."""
    result = 0
    for value in values:
        if value > 0:
            result += value
    return result


class Ledger:
    """Keeps amounts by name."""

    def __init__(self):
        self.amounts = {{}}

    def book(self, name, amount):
        self.amounts[name] = self.amounts.get(name, 0) + amount
'''

MODELFILE = """\
# the support desk's assistant
FROM ./qwen2.5-7b-instruct-q4_k_m.gguf
PARAMETER temperature 0.7
PARAMETER num_ctx 16384
PARAMETER stop "<|im_end|>"
PARAMETER stop "<|endoftext|>"
SYSTEM You answer tickets.
"""


def config_map(number: int) -> str:
    """A ConfigMap that carries a Modelfile, and that the deployment of the same number may name."""
    return _CONFIG_MAP.format(number=number)


def deployment(number: int) -> str:
    """A healthy manifest of about 60 lines."""
    return _DEPLOYMENT.format(number=number)


def write_manifests(folder: Path, count: int) -> None:
    """`count` manifests, one a file."""
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"deployment-{number:05}.yaml").write_text(deployment(number), encoding="utf-8")


def write_tree(folder: Path, files: int, share: float) -> None:
    """A repository of `files` files of which `share` are manifests; the others Python, Markdown, YAML, JSON."""
    step = round(1 / share)
    for number in range(files):
        place = folder / f"area-{number % 20:02}" / f"part-{number % 400 // 20:02}"
        place.mkdir(parents=True, exist_ok=True)
        if number % step == 0:
            (place / f"deployment-{number}.yaml").write_text(deployment(number), encoding="utf-8")
        elif number % 10 == 1:
            text = f"name: check-{number}\non: [push]\njobs:\n" + "  build:\n    runs-on: linux\n    steps: []\n" * 12
            (place / f"values-{number}.yaml").write_text(text, encoding="utf-8")
        elif number % 10 == 2:
            (place / f"notes-{number}.md").write_text(
                f"# Notes {number}\n\n" + "Nothing to serve here.\n" * 40, encoding="utf-8"
            )
        elif number % 10 == 3:
            (place / f"data-{number}.json").write_text('{"rows": [' + '"a", ' * 300 + '"b"]}\n', encoding="utf-8")
        else:
            (place / f"module_{number}.py").write_text(_MODULE.format(number=number) * 3, encoding="utf-8")
