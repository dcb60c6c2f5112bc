"""A run in a notebook: its estimates as an HTML table."""

from __future__ import annotations

from html import escape

from ragauge.report.wording import arrow, flat, footnotes, headline, interval, number
from ragauge.scores import RunRecord

_HEAD = "<tr><th>metric</th><th>value</th><th>95 % interval</th><th>n</th><th>undefined</th><th>failed</th></tr>"


def run_html(run: RunRecord) -> str:
    """A small table, without style of its own."""
    rows = "".join(
        f"<tr><td>{escape(key)} {arrow(one.better)}</td><td>{number(one.value)}</td><td>{interval(one)}</td>"
        f"<td>{one.n}</td><td>{one.undefined}</td><td>{one.failed}</td></tr>"
        for key, one in run.estimates.items()
    )
    notes = "".join(f"<li>{escape(flat(note))}</li>" for note in footnotes(run))
    return f"<p>{escape(flat(headline(run)))}</p><table>{_HEAD}{rows}</table><ul>{notes}</ul>"
