"""The inventory's page in a real browser: what a click, a key, a phone, a dark desk and a printer make of it.

Chromium is driven over a pipe by its DevTools protocol: nothing but the browser itself is needed, and no port is open.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from servelint.report.inventory_html import render_html
from tests.report.test_inventory_html import HOSTILE, serving, told

CHROMIUM = next(
    filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable"))), None
)
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="no Chromium here; on Debian: apt-get install chromium")

# Chromium reads commands from descriptor 3 and writes to 4, whatever numbers the pipes have here.
START = (
    "import fcntl, os, sys\n"
    "source, target = (fcntl.fcntl(int(end), fcntl.F_DUPFD, 10) for end in sys.argv[1:3])\n"
    "os.dup2(source, 3), os.dup2(target, 4)\n"
    "os.execv(sys.argv[3], sys.argv[3:])\n"
)
PATIENCE = 60.0  # seconds without a word after which a browser is taken for dead
FLAGS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
)  # fmt: skip


class Browser:
    """A headless Chromium with one page."""

    def __init__(self, program: str, profile: Path) -> None:
        source, self._commands = os.pipe()
        self._answers, target = os.pipe()
        self._process = subprocess.Popen(
            [sys.executable, "-c", START, str(source), str(target), program, *FLAGS, f"--user-data-dir={profile}"],
            pass_fds=(source, target), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(source)
        os.close(target)
        self._pending = b""
        self._number = 0
        self._session: str | None = None
        self.events: list[dict[str, Any]] = []
        target_id = self.send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.send("Target.attachToTarget", targetId=target_id, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.send(f"{domain}.enable")

    def _message(self) -> dict[str, Any]:
        while b"\0" not in self._pending:
            ready, _, _ = select.select([self._answers], [], [], PATIENCE)
            piece = os.read(self._answers, 1 << 16) if ready else b""
            if not piece:
                raise RuntimeError("the browser has gone away")
            self._pending += piece
        line, self._pending = self._pending.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command and wait for its answer; what happens meanwhile is kept in `events`."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": parameters}
        if self._session is not None:
            command["sessionId"] = self._session
        data = json.dumps(command).encode() + b"\0"
        while data:
            data = data[os.write(self._commands, data) :]
        while (message := self._message()).get("id") != self._number:
            self.events.append(message)
        assert "error" not in message, message["error"]
        result: dict[str, Any] = message["result"]
        return result

    def open(self, path: Path) -> None:
        """Load a file, and wait until it is there; `events` begin anew."""
        self.events.clear()
        self.send("Page.navigate", url=path.as_uri())
        seen = 0
        while True:
            if any(event["method"] == "Page.loadEventFired" for event in self.events[seen:]):
                return
            seen = len(self.events)
            self.events.append(self._message())

    def run(self, script: str) -> Any:
        """The value of an expression on the page."""
        answer = self.send("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def key(self, name: str, text: str = "") -> None:
        """Press a key, as a keyboard does."""
        code = {"Tab": 9, "Enter": 13, " ": 32}.get(name, 0)
        facts = {"key": name, "code": "Space" if name == " " else name, "windowsVirtualKeyCode": code}
        self.send("Input.dispatchKeyEvent", type="keyDown", text=text, **facts)
        self.send("Input.dispatchKeyEvent", type="keyUp", **facts)

    def click(self, selector: str) -> None:
        """Click with the mouse in the middle of an element, wherever it stands on the screen."""
        x, y = self.run(
            f"(() => {{ const box = document.querySelector({json.dumps(selector)}); box.scrollIntoView("
            "{block: 'center'}); const at = box.getBoundingClientRect(); "
            "return [at.x + at.width / 2, at.y + at.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.send("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def type(self, text: str) -> None:
        """Type into what has the focus."""
        self.send("Input.insertText", text=text)

    def screen(self, width: int, height: int = 900) -> None:
        """Set the size of the window."""
        self.send(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 500
        )

    def media(self, kind: str = "", scheme: str = "light") -> None:
        """Set the medium (`print`) and the colours that the reader prefers."""
        self.send(
            "Emulation.setEmulatedMedia", media=kind, features=[{"name": "prefers-color-scheme", "value": scheme}]
        )

    def picture(self) -> bytes:
        """The window as a PNG."""
        return base64.b64decode(self.send("Page.captureScreenshot", format="png")["data"])

    def of(self, method: str) -> list[dict[str, Any]]:
        """The events of a kind since the page was opened."""
        return [event["params"] for event in self.events if event["method"] == method]

    def close(self) -> None:
        """End the browser."""
        os.close(self._commands)
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._answers)


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    assert CHROMIUM is not None
    try:
        started = Browser(CHROMIUM, tmp_path_factory.mktemp("profile"))
    except (RuntimeError, BrokenPipeError):
        pytest.skip("the Chromium here does not start")
    yield started
    started.close()


def cluster() -> list[dict[str, Any]]:
    """Six deployments in three files, two namespaces and none."""
    stop = {"value": "<|im_end|>", "from": "PARAMETER stop", "line": 2}
    stops = {"texts": [stop], "ids": [], "tokens": [], "complete": False, "unknown": ["what the weights say"]}
    return [
        serving(path="a.yaml", line=3, namespace="search", model="m-10", cap={"value": 512, "from": "--cap"}),
        serving(path="a.yaml", line=30, namespace="search", model="m-9", verdict="runs-away", stop_set=stops),
        serving(path="a.yaml", line=200, namespace="chat", model="m-1", engine="tgi", verdict="unknown"),
        serving(path="b.yaml", namespace="chat", model=None, engine_version=None, cap={"value": 64, "from": "--cap"}),
        serving(path="Modelfile", model="qwen3:8b", engine="ollama", engine_version=None, stop_set=stops),
        serving(path="Modelfile", line=9, model="phi", engine="ollama", default_cap={"value": 4096, "from": "Ollama"}),
    ]


@pytest.fixture
def opened(browser: Browser, tmp_path: Path) -> Browser:
    """The page of these deployments, in a light desktop window."""
    browser.screen(1280)
    browser.media()
    show(browser, tmp_path, cluster())
    return browser


def show(browser: Browser, folder: Path, servings: list[dict[str, Any]]) -> str:
    """Open the page of these deployments, and give its address."""
    page = folder / "inventory.html"
    page.write_text("".join(render_html(told(servings))), encoding="ascii")
    browser.open(page)
    return page.as_uri()


def models(browser: Browser) -> list[str]:
    """The models of the rows that can be seen, from top to bottom."""
    rows: list[str] = browser.run(
        "[...document.querySelectorAll('tr.entry')].filter((row) => row.getClientRects().length)"
        ".sort((one, other) => one.getBoundingClientRect().top - other.getBoundingClientRect().top)"
        ".map((row) => row.cells[4].querySelector('bdi, .quiet').textContent)"
    )
    return rows


def headings(browser: Browser) -> list[str]:
    """The headings of namespaces and files that can be seen."""
    seen: list[str] = browser.run(
        "[...document.querySelectorAll('tbody th.namespace, tbody th.file')]"
        ".filter((head) => head.getClientRects().length).map((head) => head.textContent)"
    )
    return seen


def orders(browser: Browser) -> dict[str, str]:
    """What each column's `aria-sort` says, where it says that it is sorted by."""
    told_: dict[str, str] = browser.run(
        "Object.fromEntries([...document.querySelectorAll('thead th[data-name]')]"
        ".map((head) => [head.dataset.name, head.ariaSort]).filter((pair) => pair[1] !== 'none'))"
    )
    return told_


def status(browser: Browser) -> str:
    """The line that tells what is shown."""
    line: str = browser.run("document.getElementById('status').textContent")
    return line


GROUPED = ["m-1", "not known from here", "m-10", "m-9", "qwen3:8b", "phi"]
UNSORTED = "grouped by namespace and file."


def test_it_opens_in_its_groups(opened: Browser) -> None:
    assert models(opened) == GROUPED
    assert headings(opened) == [
        "namespace chat 2 deployments", "a.yaml 1 deployment", "b.yaml 1 deployment",
        "namespace search 2 deployments", "a.yaml 2 deployments",
        "no namespace given 2 deployments", "Modelfile 2 deployments",
    ]  # fmt: skip
    assert status(opened) == f"All 6 deployments shown, {UNSORTED}"
    assert orders(opened) == {}


@pytest.mark.parametrize(
    ("column", "ascending", "descending"),
    [
        # The worst first; within a verdict as it was.
        (
            "verdict",
            ["m-9", "m-1", "not known from here", "m-10", "qwen3:8b", "phi"],
            ["not known from here", "m-10", "qwen3:8b", "phi", "m-1", "m-9"],
        ),
        # Numbers by their value; nothing comes last both ways.
        (
            "model",
            ["m-1", "m-9", "m-10", "phi", "qwen3:8b", "not known from here"],
            ["qwen3:8b", "phi", "m-10", "m-9", "m-1", "not known from here"],
        ),
        (
            "cap",
            ["not known from here", "m-10", "phi", "m-1", "m-9", "qwen3:8b"],
            ["phi", "m-10", "not known from here", "m-1", "m-9", "qwen3:8b"],
        ),
        (
            "engine",
            ["qwen3:8b", "phi", "m-1", "not known from here", "m-10", "m-9"],
            ["not known from here", "m-10", "m-9", "m-1", "qwen3:8b", "phi"],
        ),
    ],
)
def test_a_click_sorts(opened: Browser, column: str, ascending: list[str], descending: list[str]) -> None:
    head = f"thead th[data-name={column}] button"
    opened.click(head)
    assert (models(opened), orders(opened), headings(opened)) == (ascending, {column: "ascending"}, [])
    assert status(opened).endswith(f"sorted by {column}, ascending.")
    opened.click(head)
    assert (models(opened), orders(opened)) == (descending, {column: "descending"})
    opened.click(head)
    assert (models(opened), orders(opened)) == (GROUPED, {})
    assert len(headings(opened)) == 7


def test_a_sorted_row_tells_where_it_is_from(opened: Browser) -> None:
    shown = "document.querySelectorAll('tr.entry')[{}].cells[1].innerText"
    # A row is laid out, and has a text, once it has been in sight.
    opened.screen(1280, 2000)
    opened.picture()
    assert opened.run(shown.format(2)) == "line 3"
    opened.click("thead th[data-name=place] button")
    opened.picture()
    # Lines go by their number; of one path, whatever the namespace.
    assert [opened.run(shown.format(row)) for row in range(6)] == [
        "a.yaml line 3, namespace search", "a.yaml line 30, namespace search", "a.yaml line 200, namespace chat",
        "b.yaml line 3, namespace chat", "Modelfile line 3", "Modelfile line 9",
    ]  # fmt: skip


def test_keys_sort(opened: Browser) -> None:
    opened.run("document.getElementById('reset').focus()")
    opened.key("Tab")
    assert opened.run("document.activeElement.closest('th').dataset.name") == "verdict"
    opened.key("Enter", "\r")
    assert orders(opened) == {"verdict": "ascending"}
    opened.key(" ", " ")
    assert orders(opened) == {"verdict": "descending"}
    opened.key("Tab")
    opened.key(" ", " ")
    assert orders(opened) == {"place": "ascending"}


def test_filters_go_together(opened: Browser) -> None:
    opened.click("#text")
    opened.type("M- YAML")
    assert models(opened) == ["m-1", "m-10", "m-9"]
    assert headings(opened) == [
        "namespace chat 2 deployments", "a.yaml 1 deployment", "namespace search 2 deployments", "a.yaml 2 deployments",
    ]  # fmt: skip
    assert status(opened) == f"3 of 6 shown, {UNSORTED}"
    opened.key("Tab")
    opened.key("r", "r")
    assert opened.run("document.getElementById('verdict').value") == "runs-away"
    assert models(opened) == ["m-9"]
    opened.key("Tab")
    opened.key("t", "t")
    assert opened.run("document.getElementById('engine').value") == "tgi"
    assert models(opened) == []
    assert headings(opened) == []
    assert status(opened) == f"0 of 6 shown, {UNSORTED}"
    opened.click("thead th[data-name=model] button")
    assert models(opened) == []
    opened.click("#reset")
    assert models(opened) == GROUPED
    assert opened.run("document.activeElement.id") == "text"


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("search", ["m-10", "m-9"]),
        ("runs away", ["m-9"]),
        ("<|IM_END|>", ["m-9", "qwen3:8b"]),
        ("parameter line", ["m-9", "qwen3:8b"]),
        ("weights", ["m-9", "qwen3:8b"]),
        ("0.11.2 m-1", ["m-1", "m-10"]),
        ("nothing like it", []),
        ("  ", GROUPED),
    ],
)
def test_words_are_found_in_all_that_a_row_says(opened: Browser, words: str, expected: list[str]) -> None:
    opened.run("document.getElementById('text').focus()")
    opened.type(words)
    assert models(opened) == expected


def test_hostile_values_do_nothing(browser: Browser, tmp_path: Path) -> None:
    stops = [{"value": value, "from": value, "line": None} for value in HOSTILE]
    unknown = {"texts": stops, "ids": [], "tokens": list(HOSTILE), "complete": False, "unknown": list(HOSTILE)}
    address = show(browser, tmp_path, [
        serving(path=value, namespace=value, model=value, engine=value, role=value, stop_set=unknown, family=value)
        for value in HOSTILE
    ])  # fmt: skip
    assert len(models(browser)) == len(HOSTILE)
    for column in range(8):
        browser.run(f"document.querySelectorAll('thead button')[{column}].click()")
    assert len(models(browser)) == len(HOSTILE)
    assert [event["request"]["url"] for event in browser.of("Network.requestWillBeSent")] == [address]
    for method in (
        "Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Page.javascriptDialogOpening",
    ):  # fmt: skip
        assert browser.of(method) == []
    assert browser.run("document.querySelectorAll('img, [onerror], [onmouseover]').length") == 0


def test_the_policy_holds_even_for_markup_that_got_in(opened: Browser) -> None:
    opened.run(
        "(() => { const script = document.createElement('script'); script.textContent = 'window.got = 1';"
        "document.body.append(script); const style = document.createElement('style');"
        "style.textContent = 'h1 { display: none }'; document.head.append(style);"
        "document.body.insertAdjacentHTML('beforeend', '<img src=\"data:,\" onerror=\"window.got = 2\">'); })()"
    )
    opened.run("new Promise((done) => setTimeout(done, 50))")
    assert opened.run("window.got === undefined")
    assert opened.run("getComputedStyle(document.querySelector('h1')).display") == "block"
    refused = [event["entry"]["text"] for event in opened.of("Log.entryAdded")]
    assert sum("Content Security Policy" in text for text in refused) >= 3


CONTRASTS = """[...document.querySelectorAll(
  'h1, td, td .quiet, .verdict-word, .tiles b, .tiles span, .file, .file .quiet, .inventory thead button, label'
)].map((node) => {
  const light = (color) => {
    const [red, green, blue] = color.match(/[\\d.]+/g).map(Number).map((part) => part / 255)
      .map((part) => part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  let behind = node;
  while (getComputedStyle(behind).backgroundColor === 'rgba(0, 0, 0, 0)') behind = behind.parentElement;
  const [dark, bright] = [getComputedStyle(node).color, getComputedStyle(behind).backgroundColor]
    .map(light).sort((one, other) => one - other);
  return (bright + 0.05) / (dark + 0.05);
})"""


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_can_be_read_by_day_and_by_night(opened: Browser, scheme: str) -> None:
    opened.media(scheme=scheme)
    background = opened.run("getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)")
    assert (max(background) < 60) if scheme == "dark" else (min(background) > 200)
    contrasts = opened.run(CONTRASTS)
    assert len(contrasts) > 50
    assert min(contrasts) >= 4.5


@pytest.mark.parametrize("width", [360, 700, 1024, 1100, 1600])
def test_no_window_is_too_narrow(browser: Browser, tmp_path: Path, width: int) -> None:
    browser.screen(width)
    browser.media()
    long = serving(path="deploy/" + "x" * 300, namespace="n" * 200, model="m" * 300, family="f" * 99, role="r" * 99)
    show(browser, tmp_path, [*cluster(), long])
    for flat in (False, True):
        assert browser.run("document.scrollingElement.scrollWidth") <= width
        outside = (
            "[...document.querySelectorAll('tr.entry > *, #controls *, thead button, .engines tr > *, .tiles li')]"
            ".filter((node) => "
            "node.getBoundingClientRect().right > innerWidth || node.scrollWidth > node.clientWidth + 1 "
            "&& getComputedStyle(node).display !== 'inline').map((node) => node.outerHTML)"
        )
        assert browser.run(outside) == []
        assert len(models(browser)) == 7
        if not flat:
            browser.click("thead th[data-name=verdict] button")
            assert orders(browser) == {"verdict": "ascending"}


def test_on_a_phone_every_value_has_its_label(opened: Browser) -> None:
    opened.screen(360)
    labels = opened.run(
        "[...document.querySelector('tr.entry').cells].map((cell) => getComputedStyle(cell, '::before').content)"
    )
    assert [label.strip('"') for label in labels] == [
        "Verdict", "Place", "Engine", "Version", "Model", "Role", "Stops at", "Cap",
    ]  # fmt: skip


@pytest.mark.parametrize("width", [360, 1280])
def test_a_screen_reader_meets_a_table(opened: Browser, width: int) -> None:
    opened.screen(width)
    nodes = opened.send("Accessibility.getFullAXTree")["nodes"]
    roles = [tuple(node.get(part, {}).get("value", "") for part in ("role", "name")) for node in nodes]
    assert ("table", "Deployments by namespace and file") in roles
    heads = {name for role, name in roles if role == "columnheader"}
    assert {"Verdict", "Place", "Engine", "Version", "Model", "Role", "Stops at", "Cap"} <= heads
    assert ("rowheader", "namespace chat 2 deployments") in roles
    assert {"searchbox", "combobox", "button", "status"} <= {role for role, _ in roles}


def test_on_paper(opened: Browser) -> None:
    opened.media("print", "dark")
    assert opened.run("getComputedStyle(document.getElementById('controls')).display") == "none"
    assert opened.run("getComputedStyle(document.querySelector('td')).color") == "rgb(27, 31, 36)"
    assert models(opened) == GROUPED
    folded = "document.querySelectorAll('details:not([open])').length"
    assert opened.run(folded) == 2
    opened.run("dispatchEvent(new Event('beforeprint'))")
    assert opened.run(folded) == 0
    opened.run("dispatchEvent(new Event('afterprint'))")
    assert opened.run(folded) == 2
    assert base64.b64decode(opened.send("Page.printToPDF", preferCSSPageSize=True)["data"]).startswith(b"%PDF")


def test_without_scripts_the_table_is_there(browser: Browser, tmp_path: Path) -> None:
    browser.screen(1280)
    browser.media()
    browser.send("Emulation.setScriptExecutionDisabled", value=True)
    try:
        show(browser, tmp_path, cluster())
        assert models(browser) == GROUPED
        assert len(headings(browser)) == 7
        assert browser.run("getComputedStyle(document.getElementById('controls')).display") == "none"
        assert browser.run("document.querySelectorAll('thead button').length") == 0
    finally:
        browser.send("Emulation.setScriptExecutionDisabled", value=False)


def test_thousands_of_rows(browser: Browser, tmp_path: Path) -> None:
    browser.screen(1280)
    browser.media()
    stop = {"value": 151645, "token": "<|im_end|>", "from": "generation_config.json eos_token_id", "line": 3}
    stops = {"texts": [], "ids": [stop], "tokens": [], "complete": False, "unknown": ["what the weights say"]}
    show(browser, tmp_path, [
        serving(path=f"team-{number % 40}/{number % 900}.yaml", line=number + 1, namespace=f"space-{number % 25}",
                model=f"model-{number}", stop_set=stops)
        for number in range(5000)
    ])  # fmt: skip
    browser.run("document.getElementById('text').focus()")
    browser.type("model-499")
    assert models(browser) == [f"model-{number}" for number in (*range(4990, 4999), 499, 4999)]
    browser.click("thead th[data-name=model] button")
    assert models(browser)[:2] == ["model-499", "model-4990"]
    assert status(browser) == "11 of 5,000 shown, sorted by model, ascending."
