"""Groups out of TabFact: what people wrote about small tables, in the forms in which texts hold tables.

    python training/tables.py TABFACT OUT [--seed 1]

TABFACT: tabfact_small_tables.jsonl.gz (Chen et al., 2020; MIT). "held" of a group is by its table, as for other groups.
The seed draws the form of each table: Markdown, separated cells, or its rows as "header: cell".
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path

from rows import Row, read, write_groups
from written import held

MOST = 8  # claims of a group


def drawn(title: str, rows: list[list[str]], chance: random.Random) -> str:
    """The text of a table under its title."""
    head, *body = rows
    form = chance.randrange(4)
    if form == 0:
        lines = [f"| {' | '.join(row)} |" for row in [head, ["---"] * len(head), *body]]
    elif form == 1:
        lines = [", ".join(f"{name}: {cell}" for name, cell in zip(head, row, strict=True)) for row in body]
    else:
        lines = [(" | " if form == 2 else "; ").join(row) for row in rows]
    return "\n".join([title, *lines])


def main() -> None:
    """Read the tables, write a group for each."""
    options = argparse.ArgumentParser()
    options.add_argument("tabfact", type=Path)
    options.add_argument("out", type=Path)
    options.add_argument("--seed", type=int, default=1)
    given = options.parse_args()
    chance = random.Random(given.seed)
    groups: list[Row] = []
    for table in read(given.tabfact):
        claims = [
            {
                "text": claim["text"],
                "label": "entailment" if claim["supported"] else "not_entailment",
                "source": "tabfact",
                "wrong": None,
            }
            for claim in table["claims"]
        ]
        premise = drawn(table["title"], table["rows"], chance)
        parts = (claims[start : start + MOST] for start in range(0, len(claims), MOST))
        groups += [{"premise": premise, "claims": part, "held": held(table["id"])} for part in parts]
    write_groups(given.out, groups)


if __name__ == "__main__":
    main()
