"""`ragauge label`."""

from __future__ import annotations

import getpass
import sys
from collections.abc import Iterator

import click

from ragauge.analysis.label_session import Session, answer_words, keys_line, question_lines, summary_lines
from ragauge.analysis.labels import Labelling
from ragauge.cli.options import open_store_option
from ragauge.cli.screen import say
from ragauge.errors import UsageError
from ragauge.report.wording import counted
from ragauge.run.results import Run
from ragauge.store import Store


@click.command("label")
@click.argument("run", default="latest")
@open_store_option("Where the run is kept.", to_read=False)
@click.option("-m", "--metric", help="Label what this metric rests on. [default: the one that chooses the worst]")
@click.option("--by", metavar="NAME", help="Who labels. [default: the name you are logged in by]")
def command(run: str, store: Store, metric: str | None, by: str | None) -> None:
    """Judge what a judge judged in RUN, piece by piece; by its id, the beginning of it, or its name, else the newest.

    Each label is kept at once and goes before any judge. Samples come partly at random, which measures the judge and
    corrects its score, and partly where a label teaches most. The judge's verdict is shown when you ask for it.
    """
    labelling = Labelling(Run.open(store, run))
    chosen = labelling.metric(metric)
    session = Session(labelling, chosen, by or getpass.getuser())
    _label(session)
    say("", f"{counted(session.given, 'label')} given.")
    for line in summary_lines(labelling.standings([chosen])):
        say(line)


def _label(session: Session) -> None:
    """Ask piece after piece, until nothing is left or the person quits."""
    while session.piece is not None:
        for line in _shown(session):
            say(line)
        typed = _typed()
        if typed == "q":
            return
        _heed(session, typed)
    say("Nothing is left to label for this metric.")


def _shown(session: Session) -> Iterator[str]:
    """The piece that is asked about, behind its sample's name where that is new."""
    piece = session.piece
    assert piece is not None
    if session.is_first:
        why = "drawn at random" if session.draw.at_random else "where a label teaches most"
        yield ""
        yield f"— sample {session.draw.position + 1}, {why} —"
    yield ""
    yield from question_lines(piece.question)
    if session.said is not None:
        yield f"You said: {answer_words(session.said)}."
    yield keys_line(piece)


def _typed() -> str:
    """The next line; its end is as good as q."""
    click.echo("> ", nl=False)
    line = sys.stdin.readline()
    return line.strip() if line else "q"


def _heed(session: Session, typed: str) -> None:
    if not typed:
        session.forward()
    elif typed == "b":
        session.back()
    elif typed == "?":
        say(f"The judge says: {answer_words(session.reveal())}. Your label will not count for the agreement.")
    else:
        try:
            session.answer(typed)
        except UsageError as error:
            say(str(error), err=True)
