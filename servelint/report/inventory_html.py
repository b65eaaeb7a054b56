"""The inventory as one page for people who do not run servelint: it stands alone, asks no network, and prints well.

What a manifest says is hostile until escaped. Here it becomes text and attribute values only, never markup, script or
style; its characters that show nothing are shown as escapes; and the page's own policy lets no script or style run but
the two below, known by their hashes. Without scripts the whole table is there, in its groups.
"""

from __future__ import annotations

import json
from base64 import b64encode
from collections import Counter
from collections.abc import Iterable, Iterator
from hashlib import sha256
from html import escape
from itertools import groupby
from typing import Any

from servelint import __version__
from servelint.report.collect import Failure, Report
from servelint.report.inventory import MEANINGS, MOST_TOKENS, NO_NAMESPACE, by_namespace
from servelint.report.printing import escaped
from servelint.report.summary import counted

# In the order of what needs somebody: the word and the sign that go with the colour, so that colour says nothing alone.
_VERDICTS = {"runs-away": ("runs away", "✗"), "unknown": ("unknown", "?"), "stops": ("stops", "✓")}
_COLUMNS = (
    ("verdict", "Verdict"),
    ("place", "Place"),
    ("engine", "Engine"),
    ("version", "Version"),
    ("model", "Model"),
    ("role", "Role"),
    ("stops", "Stops at"),
    ("cap", "Cap"),
)
_LONGEST_VALUE = 2000
_NONE = '<span class="quiet">{}</span>'

STYLE = """
:root {
  color-scheme: light dark;
  --page: #f6f7f9; --paper: #ffffff; --ink: #1b1f24; --quiet: #57606a; --rule: #d5d9df; --group: #eceff3;
  --accent: #0b57d0; --mark: #ffe9a8;
  --bad: #a40e26; --bad-back: #ffe9e7; --unsure: #744500; --unsure-back: #fff3cd; --good: #115c26; --good-back: #ddf5e2;
}
@media screen and (prefers-color-scheme: dark) {
  :root {
    --page: #0e1116; --paper: #161b22; --ink: #e6eaf0; --quiet: #9ba5b1; --rule: #303741; --group: #1f262f;
    --accent: #8ab4f8; --mark: #5a4300;
    --bad: #ffaba3; --bad-back: #4a1a1d; --unsure: #f0c862; --unsure-back: #3d2f0a; --good: #8be29c;
    --good-back: #143420;
  }
}
* { box-sizing: border-box; }
html { scroll-padding-top: 3rem; }
[hidden] { display: none !important; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 0.9375rem/1.45 system-ui, -apple-system, "Segoe UI", Roboto, "Liberation Sans", sans-serif;
}
header, main, footer { max-width: 100rem; margin: 0 auto; padding: 0 1.25rem; }
header { padding-top: 1.5rem; }
h1 { margin: 0; font-size: 1.5rem; line-height: 1.2; }
h2 { margin: 0 0 0.25rem; font-size: 1rem; }
p { margin: 0.25rem 0 0; }
footer { padding-top: 1rem; padding-bottom: 2rem; font-size: 0.8125rem; }
.quiet, footer { color: var(--quiet); }
.escape { background: var(--mark); border-radius: 2px; font-family: ui-monospace, "Liberation Mono", monospace; }
.aside {
  position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap;
}
code { font: 0.8125rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono", monospace; }
td, th, li, summary { overflow-wrap: anywhere; }

.overview {
  display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 28rem); gap: 0.75rem; align-items: start;
  margin: 1rem 0;
}
.tiles {
  display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 0.75rem; margin: 0; padding: 0;
  list-style: none;
}
.tiles li {
  padding: 0.75rem 1rem; border: 1px solid var(--rule); border-left: 4px solid var(--tone);
  border-radius: 6px; background: var(--paper);
}
.tiles strong { display: block; font-size: 1.75rem; line-height: 1.2; font-variant-numeric: tabular-nums; }
.tiles b { color: var(--tone); }
.tiles span { display: block; color: var(--quiet); font-size: 0.8125rem; }
.all { --tone: var(--accent); }
.runs-away { --tone: var(--bad); --back: var(--bad-back); }
.unknown { --tone: var(--unsure); --back: var(--unsure-back); }
.stops { --tone: var(--good); --back: var(--good-back); }
.engines { width: 100%; border-collapse: collapse; background: var(--paper); font-variant-numeric: tabular-nums; }
.engines th, .engines td {
  padding: 0.2rem 0.7rem; border: 1px solid var(--rule); text-align: right; overflow-wrap: normal;
}
.engines th:first-child { text-align: left; }
.engines tbody th { font-weight: 400; overflow-wrap: anywhere; }
.engines thead th { background: var(--group); font-size: 0.8125rem; white-space: nowrap; }
.failures {
  margin: 1rem 0; padding: 0.75rem 1rem; border: 1px solid var(--bad); border-radius: 6px; background: var(--bad-back);
}
.failures ul { margin: 0.25rem 0 0; padding-left: 1.25rem; }

.controls { display: flex; flex-wrap: wrap; gap: 0.75rem; align-items: flex-end; margin: 0 0 0.5rem; }
.controls label { display: flex; flex-direction: column; gap: 0.2rem; font-size: 0.8125rem; color: var(--quiet); }
.controls label:first-child { flex: 1 1 16rem; }
.controls input, .controls select, .controls button {
  min-height: 2.25rem; padding: 0.3rem 0.6rem; border: 1px solid var(--quiet); border-radius: 6px;
  background: var(--paper); color: var(--ink); font: inherit; font-size: 0.9375rem; max-width: 100%;
}
:focus-visible { outline: 2px solid var(--accent); outline-offset: 1px; }
[role="status"] { margin: 0 0 0.5rem; color: var(--quiet); font-size: 0.8125rem; min-height: 1.2em; }

.inventory { width: 100%; border-collapse: collapse; table-layout: fixed; background: var(--paper); }
.inventory thead th {
  padding: 0; background: var(--group); box-shadow: inset 0 -1px var(--rule);
  text-align: left; font-size: 0.8125rem; white-space: nowrap;
}
.inventory thead button {
  display: block; width: 100%; padding: 0.5rem 0.6rem; border: 0; background: none; color: inherit; font: inherit;
  font-weight: 600; text-align: left; cursor: pointer;
}
.inventory thead button:focus-visible { outline-offset: -2px; }
.inventory thead .label { display: block; padding: 0.5rem 0.6rem; }
.inventory thead button .label { display: inline; padding: 0; }
/* What stands behind the slash is what a screen reader says of it: nothing, aria-sort has told. */
.inventory thead button::after { content: " \\2195"; content: " \\2195" / ""; color: var(--quiet); font-weight: 400; }
.inventory [aria-sort="ascending"] button::after {
  content: " \\25b2"; content: " \\25b2" / ""; color: var(--accent);
}
.inventory [aria-sort="descending"] button::after {
  content: " \\25bc"; content: " \\25bc" / ""; color: var(--accent);
}
.inventory tbody td, .inventory tbody th {
  padding: 0.45rem 0.6rem; border-top: 1px solid var(--rule); text-align: left; vertical-align: top;
}
.inventory tbody th { font-weight: 400; }
.inventory tbody .namespace {
  padding-top: 0.9rem; border-top: 2px solid var(--quiet); font-size: 1rem; font-weight: 700;
}
.inventory tbody .file { background: var(--group); font-weight: 600; }
.inventory tbody .file .quiet, .inventory tbody .namespace .quiet { font-weight: 400; font-size: 0.8125rem; }
.inventory .whole { display: none; }
.inventory.flat .whole { display: inline; }
.inventory ul { margin: 0; padding: 0; list-style: none; }
.inventory li + li, .inventory details { margin-top: 0.2rem; }
.inventory .below { display: block; }
.inventory summary { color: var(--quiet); font-size: 0.8125rem; cursor: pointer; }
.inventory details li { font-size: 0.8125rem; }
.inventory li .quiet, td > .quiet { font-size: 0.8125rem; }
.verdict-word {
  display: inline-block; padding: 0.1rem 0.5rem; border: 1px solid var(--tone); border-radius: 1rem;
  background: var(--back); color: var(--tone); font-size: 0.8125rem; font-weight: 600; white-space: nowrap;
}

/* A browser lays a table out as a whole, thousands of rows at every change. Of rows that are grids it lays out those in
   sight. Paper gets the table, with its head on every page; so do browsers without styles. */
@media screen {
  .inventory, .inventory tbody, .inventory thead, .inventory tr, .inventory th { display: block; }
  .inventory thead { position: sticky; top: 0; z-index: 1; }
  .inventory thead tr, .inventory .entry {
    display: grid;
    grid-template-columns:
      7.5rem var(--place, 5rem) 7.75rem 5.75rem minmax(0, 5fr) 5.75rem minmax(0, 9fr) minmax(7rem, 3fr);
  }
  .inventory.flat { --place: minmax(0, 4fr); }
  .inventory .entry { content-visibility: auto; contain-intrinsic-height: auto 4rem; }
  .inventory .entry { border-top: 1px solid var(--rule); }
  .inventory tbody .entry > * { min-width: 0; border: 0; }
}
@media screen and (max-width: 64rem) {
  header, main, footer { padding-left: 0.75rem; padding-right: 0.75rem; }
  .tiles li { padding: 0.5rem 0.75rem; }
  .tiles strong { font-size: 1.375rem; }
  .inventory thead { position: static; }
  .inventory thead tr { display: flex; flex-wrap: wrap; gap: 0.35rem; padding: 0.5rem; background: var(--group); }
  .inventory thead th { box-shadow: none; border: 1px solid var(--rule); border-radius: 1rem; }
  .inventory thead .label { padding: 0.3rem 0.7rem; }
  .inventory thead button { padding: 0.3rem 0.7rem; }
  .inventory .entry { display: block; padding: 0.5rem 0.6rem; contain-intrinsic-height: auto 14rem; }
  .inventory .entry td, .inventory .entry th {
    display: block; position: relative; padding: 0.15rem 0 0.15rem 5.5rem;
  }
  .inventory .entry td::before, .inventory .entry th::before {
    content: attr(data-label); position: absolute; left: 0; color: var(--quiet); font-size: 0.8125rem;
  }
}

@media screen and (max-width: 44rem) {
  .overview { grid-template-columns: minmax(0, 1fr); }
  .engines th, .engines td { padding: 0.2rem 0.4rem; font-size: 0.8125rem; }
}

@media print {
  @page { size: landscape; margin: 12mm; }
  :root { color-scheme: light; font-size: 9pt; }
  body { background: none; }
  header, main, footer { max-width: none; padding-left: 0; padding-right: 0; }
  .controls { display: none; }
  /* A button is drawn on the first page only, its text by itself in the head of each. */
  .inventory thead button { display: contents; }
  .inventory thead button::after { content: none !important; }
  .inventory thead button .label { display: block; padding: 0.5rem 0.6rem; }
  .inventory thead { display: table-header-group; }
  col.verdict { width: 10%; } col.place { width: 6%; } .flat col.place { width: 14%; } col.engine { width: 9.5%; }
  col.version { width: 7%; } col.model { width: 17%; } col.role { width: 7%; } col.cap { width: 12%; }
  .inventory tr, .tiles li, .engines { break-inside: avoid; }
  .inventory tbody .namespace, .inventory tbody .file { break-after: avoid; }
  .verdict-word, .inventory tbody .file { print-color-adjust: exact; }
  details::details-content { content-visibility: visible !important; display: block !important; }
}
"""

SCRIPT = """
(() => {
  "use strict";
  const table = document.getElementById("inventory");
  if (!table) return;
  const find = (id) => document.getElementById(id);
  const controls = find("controls"), status = find("status");
  const text = find("text"), verdict = find("verdict"), engine = find("engine");
  const heads = [...table.tHead.rows[0].cells];
  const collator = new Intl.Collator("en", { numeric: true, sensitivity: "base" });
  const flat = document.createElement("tbody");
  flat.setAttribute("role", "rowgroup");

  // Every group and row is read once: filtering looks at these words only, and never at the document.
  const groups = [], records = [];
  let space = null;
  for (const body of table.tBodies) {
    if (body.dataset.group === "namespace") {
      space = { body, parent: null, shown: 0 };
      groups.push(space);
      continue;
    }
    const group = { body, parent: space, shown: 0 };
    groups.push(group);
    for (const row of body.querySelectorAll("tr.entry")) {
      const words = [...row.cells].map((cell) => cell.textContent).join("\\n").toLowerCase();
      const { verdict, engine } = row.dataset;
      records.push({ row, group, words, verdict, engine, order: records.length, hidden: false, keys: [] });
    }
  }

  const keyOf = (record, column) => {
    if (record.keys[column] === undefined) {
      const cell = record.row.cells[column];
      const { key } = cell.dataset;
      // A place is its path and its line: all that the cell says.
      const named = cell.tagName === "TH" ? cell : cell.querySelector("bdi") || cell;
      if (key === undefined) record.keys[column] = named.textContent;
      else record.keys[column] = key === "" ? null : Number(key);
    }
    return record.keys[column];
  };

  let sorted = null, direction = "none";
  const describe = (shown) => {
    const all = records.length.toLocaleString("en");
    const count = shown === records.length ? `All ${all} deployments` : `${shown.toLocaleString("en")} of ${all}`;
    const order = sorted === null ? table.dataset.order
      : `sorted by ${heads[sorted].dataset.name}, ${direction}`;
    status.textContent = `${count} shown, ${order}.`;
  };

  const filter = () => {
    const wanted = text.value.toLowerCase().split(/\\s+/).filter(Boolean);
    let shown = 0;
    for (const group of groups) group.shown = 0;
    for (const record of records) {
      const fits = (!verdict.value || record.verdict === verdict.value)
        && (!engine.value || record.engine === engine.value)
        && wanted.every((word) => record.words.includes(word));
      if (fits) {
        shown += 1;
        record.group.shown += 1;
        if (record.group.parent) record.group.parent.shown += 1;
      }
      if (record.hidden === fits) record.row.hidden = record.hidden = !fits;
    }
    for (const group of groups) {
      const hidden = sorted !== null || group.shown === 0;
      if (group.body.hidden !== hidden) group.body.hidden = hidden;
    }
    describe(shown);
  };

  const arrange = () => {
    heads.forEach((head, column) => head.setAttribute("aria-sort", column === sorted ? direction : "none"));
    table.classList.toggle("flat", sorted !== null);
    if (sorted === null) {
      for (const record of records) record.group.body.append(record.row);
      flat.remove();
    } else {
      const sign = direction === "ascending" ? 1 : -1;
      const compare = (one, other) => {
        const left = keyOf(one, sorted), right = keyOf(other, sorted);
        // What has no value comes last either way.
        if (left === null || right === null) return (left === null) - (right === null) || one.order - other.order;
        const difference = typeof left === "number" ? left - right : collator.compare(left, right);
        return sign * difference || one.order - other.order;
      };
      flat.append(...[...records].sort(compare).map((record) => record.row));
      table.append(flat);
    }
    filter();
  };

  heads.forEach((head, column) => {
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      if (sorted !== column) [sorted, direction] = [column, "ascending"];
      else if (direction === "ascending") direction = "descending";
      else [sorted, direction] = [null, "none"];
      arrange();
    });
  });
  text.addEventListener("input", filter);
  verdict.addEventListener("change", filter);
  engine.addEventListener("change", filter);
  find("reset").addEventListener("click", () => {
    text.value = verdict.value = engine.value = "";
    [sorted, direction] = [null, "none"];
    arrange();
    text.focus();
  });
  controls.addEventListener("submit", (event) => event.preventDefault());

  // Paper has nothing to click on.
  let closed = [];
  addEventListener("beforeprint", () => {
    closed = [...table.querySelectorAll("details:not([open])")];
    for (const details of closed) details.open = true;
  });
  addEventListener("afterprint", () => {
    for (const details of closed) details.open = false;
  });

  controls.hidden = false;
  // A reload keeps what the filters held.
  arrange();
})();
"""


def render_html(report: Report) -> Iterator[str]:
    """The page, as ASCII: whatever the encoding of the stream it goes to, the browser reads the same characters.

    The same report gives the same bytes: no time, no machine is told.
    """
    for piece in _page(report):
        yield piece.encode("ascii", "xmlcharrefreplace").decode("ascii")


def _page(report: Report) -> Iterator[str]:
    policy = "; ".join(
        (
            "default-src 'none'",
            f"script-src {_hash_source(SCRIPT)}",
            f"style-src {_hash_source(STYLE)}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )
    yield (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>Inventory: what is served, and what stops it</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
    )
    scope = f"{counted(report.deployments, 'deployment')} in {counted(report.files, 'file')}"
    yield (
        "<header>\n<h1>What is served here, and what stops it</h1>\n"
        f'<p class="quiet">{scope}, as the manifests tell it.</p>\n</header>\n<main>\n'
    )
    yield from _failures(report.failures)
    if report.servings:
        yield from _overview(report)
        yield from _controls(report.servings)
        yield from _table(report.servings)
    else:
        yield "<p>No deployment found.</p>\n"
    yield f"</main>\n<footer>Written by servelint {_shown(__version__)}.</footer>\n<script>{SCRIPT}</script>\n"
    yield "</body>\n</html>\n"


def _hash_source(text: str) -> str:
    return f"'sha256-{b64encode(sha256(text.encode('utf-8')).digest()).decode('ascii')}'"


def _failures(failures: Iterable[Failure]) -> Iterator[str]:
    items = "".join(f"<li>{_value(failure.path)}: {_shown(failure.message)}</li>\n" for failure in failures)
    if items:
        yield (
            '<section class="failures">\n<h2>Not judged</h2>\n<p>servelint itself broke on these files; what they '
            f"serve may be missing below.</p>\n<ul>\n{items}</ul>\n</section>\n"
        )


def _overview(report: Report) -> Iterator[str]:
    yield (
        '<section class="overview" aria-label="Summary">\n<ul class="tiles">\n'
        f'<li class="all"><strong>{report.deployments:,}</strong><b>deployments</b>'
        f"<span>in {counted(report.files, 'file')}</span></li>\n"
    )
    for verdict, (word, sign) in _VERDICTS.items():
        yield (
            f'<li class="{verdict}"><strong>{report.verdicts.get(verdict, 0):,}</strong>'
            f'<b><i aria-hidden="true">{sign}</i> {word}</b><span>{MEANINGS[verdict].split(": ")[-1]}</span></li>\n'
        )
    heads = "".join(f'<th scope="col">{word}</th>' for word, _ in _VERDICTS.values())
    yield (
        '</ul>\n<table class="engines">\n<caption class="aside">Deployments by engine</caption>\n'
        f'<thead><tr><th scope="col">Engine</th><th scope="col">all</th>{heads}</tr></thead>\n<tbody>\n'
    )
    counts = Counter((serving["engine"], serving["verdict"]) for serving in report.servings)
    for engine in _engines(report.servings):
        numbers = [counts[engine, verdict] for verdict in _VERDICTS]
        all_of_it = sum(number for (name, _), number in counts.items() if name == engine)
        cells = "".join(f"<td>{number:,}</td>" for number in (all_of_it, *numbers))
        yield f'<tr><th scope="row">{_value(engine)}</th>{cells}</tr>\n'
    yield "</tbody>\n</table>\n</section>\n"


def _engines(servings: Iterable[dict[str, Any]]) -> list[str]:
    return sorted({serving["engine"] for serving in servings})


def _controls(servings: Iterable[dict[str, Any]]) -> Iterator[str]:
    verdicts = "".join(f'<option value="{verdict}">{word}</option>' for verdict, (word, _) in _VERDICTS.items())
    engines = "".join(
        f'<option value="{_attribute(engine)}">{_plain(engine)}</option>' for engine in _engines(servings)
    )
    # Shown by the script: without it there is nothing to control.
    yield (
        '<form class="controls" id="controls" hidden>\n'
        '<label>Filter<input id="text" type="search" autocomplete="off" spellcheck="false" '
        'placeholder="words of a model, file, namespace, stop …"></label>\n'
        f'<label>Verdict<select id="verdict"><option value="">all</option>{verdicts}</select></label>\n'
        f'<label>Engine<select id="engine"><option value="">all</option>{engines}</select></label>\n'
        '<button id="reset" type="button">Reset</button>\n</form>\n<p id="status" role="status"></p>\n'
    )


def _table(servings: list[dict[str, Any]]) -> Iterator[str]:
    columns = "".join(f'<col class="{name}">' for name, _ in _COLUMNS)
    heads = "".join(
        f'<th role="columnheader" scope="col" data-name="{label.lower()}"><span class="label">{label}</span></th>'
        for _, label in _COLUMNS
    )
    groups = by_namespace(servings)
    named = any(namespace is not None for namespace, _ in groups)
    order = "namespace and file" if named else "file"
    yield (
        f'<table class="inventory" id="inventory" role="table" data-order="grouped by {order}">\n'
        f'<caption class="aside">Deployments by {order}</caption>\n'
        f'<colgroup>{columns}</colgroup>\n<thead role="rowgroup"><tr role="row">{heads}</tr></thead>\n'
    )
    for namespace, members in groups:
        if named:
            title = NO_NAMESPACE if namespace is None else f"namespace {_value(namespace)}"
            heading = _heading_row("namespace", title, len(members))
            yield f'<tbody role="rowgroup" data-group="namespace">\n{heading}</tbody>\n'
        for path, of_file in groupby(members, key=lambda serving: str(serving["path"])):
            entries = list(of_file)
            yield f'<tbody role="rowgroup" data-group="file">\n{_heading_row("file", _value(path), len(entries))}'
            yield from map(_row, entries)
            yield "</tbody>\n"
    yield "</table>\n"


def _heading_row(sort: str, title: str, number: int) -> str:
    return (
        f'<tr role="row"><th class="{sort}" role="rowheader" scope="rowgroup" colspan="{len(_COLUMNS)}">{title} '
        f'<span class="quiet">{counted(number, "deployment")}</span></th></tr>\n'
    )


def _row(serving: dict[str, Any]) -> str:
    verdict = serving["verdict"]
    cells = (
        _verdict(verdict),
        _place(serving),
        _value(serving["engine"]),
        _optional(serving["engine_version"], "not known"),
        _model(serving),
        _optional(serving["role"] if serving["role"] != "unknown" else None, "unknown"),
        _stops(serving["stop_set"]),
        _cap(serving),
    )
    cap = serving["cap"] or serving["default_cap"]
    # Numbers to sort by; where there is none, the row comes last.
    keys = {
        "verdict": str(list(_VERDICTS).index(verdict)) if verdict in _VERDICTS else "",
        "version": "" if not serving["engine_version"] else None,
        "role": "" if serving["role"] in (None, "", "unknown") else None,
        "model": "" if not (serving["model"] or serving.get("likely_model")) else None,
        "cap": "" if cap is None else str(cap["value"]),
    }
    made = []
    for (name, label), cell in zip(_COLUMNS, cells, strict=True):
        # The roles are said because a style sheet that makes other boxes of a table's parts takes them away.
        tag = 'th role="rowheader" scope="row"' if name == "place" else 'td role="cell"'
        key = keys.get(name)
        sort = f' data-key="{key}"' if key is not None else ""
        made.append(f'<{tag} data-label="{label}"{sort}>{cell}</{tag[:2]}>')
    facts = f'data-verdict="{_attribute(verdict)}" data-engine="{_attribute(serving["engine"])}"'
    return f'<tr class="entry" role="row" {facts}>{"".join(made)}</tr>\n'


def _verdict(verdict: str) -> str:
    word, sign = _VERDICTS.get(verdict, (_shown(verdict), "?"))
    kind = verdict if verdict in _VERDICTS else "unknown"
    return f'<span class="verdict-word {kind}"><i aria-hidden="true">{sign}</i> {word}</span>'


def _place(serving: dict[str, Any]) -> str:
    namespace = serving.get("namespace")
    within = f'<span class="whole">, namespace {_value(namespace)}</span>' if namespace is not None else ""
    return f'<span class="whole">{_value(serving["path"])} </span>line {serving["line"]}{within}'


def _model(serving: dict[str, Any]) -> str:
    likely = serving.get("likely_model")
    if serving["model"]:
        model = _value(serving["model"])
    elif likely:
        model = f"likely {_value(likely)}"
    else:
        model = _NONE.format("not known from here")
    family = serving["family"]
    return f'{model} <span class="quiet below">{_shown(family)}</span>' if family else model


def _stops(stop_set: dict[str, Any]) -> str:
    texts = [_stop(json.dumps(stop["value"], ensure_ascii=False), "", stop) for stop in stop_set["texts"]]
    ids = [_stop(str(stop["value"]), stop["token"] or "", stop) for stop in stop_set["ids"]]
    tokens = [f"<bdi><code>{_shown(token)}</code></bdi>" for token in stop_set["tokens"]]
    items = [*texts, *ids]
    if tokens:
        source = '<span class="quiet">by the engine\'s own list</span>'
        items.append(f"{' '.join(tokens[:MOST_TOKENS])} {source}")
    made = f"<ul>{_items(items)}</ul>" if items else _NONE.format("nothing that was read")
    made += _folded(f"{counted(len(tokens) - MOST_TOKENS, 'token')} more of that list", tokens[MOST_TOKENS:])
    return made + _folded(
        f"{counted(len(stop_set['unknown']), 'thing')} not known", [_shown(why) for why in stop_set["unknown"]]
    )


def _stop(value: str, token: str, stop: dict[str, Any]) -> str:
    line = f", line {stop['line']}" if stop["line"] is not None else ""
    text = f" <bdi><code>{_shown(token)}</code></bdi>" if token else ""
    return f'<bdi><code>{_shown(value)}</code></bdi>{text} <span class="quiet">from {_shown(stop["from"])}{line}</span>'


def _folded(title: str, items: list[str]) -> str:
    return f"<details><summary>{title}</summary><ul>{_items(items)}</ul></details>" if items else ""


def _items(items: Iterable[str]) -> str:
    return "".join(f"<li>{item}</li>" for item in items)


def _cap(serving: dict[str, Any]) -> str:
    cap = serving["cap"] or serving["default_cap"]
    if cap is not None:
        by = "" if serving["cap"] is not None else " by default"
        return f'{counted(cap["value"], "token")}{by} <span class="quiet below">{_shown(cap["from"])}</span>'
    return _NONE.format("none seen")


def _optional(text: str | None, otherwise: str) -> str:
    return _value(text) if text else _NONE.format(otherwise)


def _value(text: str) -> str:
    """A value in a direction of its own: letters written from the right do not turn what stands around it.

    Paths may be broken behind their slashes.
    """
    return f"<bdi>{'/<wbr>'.join(map(_shown, _cut(text).split('/')))}</bdi>"


def _shown(text: str) -> str:
    """The text as HTML, with the escapes of what shows nothing marked as such: they differ from the same text written.

    Every character that `printing.escaped` would escape on a terminal is: controls, marks of direction, lone halves.
    """
    text = _cut(text)
    if text.isprintable():
        return escape(text)
    pieces = []
    for printable, run in groupby(text, key=str.isprintable):
        if printable:
            pieces.append(escape("".join(run)))
        else:
            pieces.append(f'<span class="escape">{escape("".join(map(escaped, run)))}</span>')
    return "".join(pieces)


def _plain(text: str) -> str:
    """The text where HTML takes no markup (in an option): the escapes stand unmarked."""
    return escape("".join(map(escaped, _cut(text))))


_attribute = _plain


def _cut(text: str) -> str:
    return text if len(text) <= _LONGEST_VALUE else text[: _LONGEST_VALUE - 1] + "…"
