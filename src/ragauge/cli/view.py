"""`ragauge view`."""

from __future__ import annotations

import getpass
import tempfile
import webbrowser
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path

import click

from ragauge.cli.interrupting import TERMINATED, ending
from ragauge.cli.options import open_store_option
from ragauge.cli.screen import say
from ragauge.store import Store
from ragauge.view import Server


@click.command("view")
@click.argument("run", default="")
@open_store_option("Where the runs are kept.")
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Listen here. [default: any that is free]")
@click.option("--by", metavar="NAME", help="Who labels. [default: the name you are logged in by]")
@click.option("--no-open", is_flag=True, help="Open no browser; print the address alone.")
def command(run: str, store: Store, port: int, by: str | None, no_open: bool) -> None:
    """Show the runs of a store in the browser: their list, progress, comparison, and labelling; or RUN at once.

    The page is served on this machine alone, to whoever has the printed address, until Ctrl-C.
    """
    start = f"#run={store.run(run).id}" if run else ""
    server = Server(store, by or getpass.getuser(), port)
    say(f"{server.address}{start}", "Ctrl-C ends it.")
    try:
        with opened_in_browser(f"{server.address}{start}") if not no_open else nullcontext():
            server.serve_forever()
    except KeyboardInterrupt:
        code = ending()
        say("", "ended")
        if code == TERMINATED:
            raise SystemExit(code) from None
    finally:
        server.server_close()


@contextmanager
def opened_in_browser(address: str) -> Iterator[None]:
    """Open an address in the browser by a file that leads there and that only this user may read.

    What a browser is started with can be seen by all users of a machine, and so would be the token.
    """
    with tempfile.TemporaryDirectory(prefix="ragauge-") as folder:
        page = Path(folder) / "view.html"
        page.write_text(f'<meta http-equiv="refresh" content="0; url={address}">', encoding="utf-8")
        webbrowser.open(page.as_uri())
        yield
