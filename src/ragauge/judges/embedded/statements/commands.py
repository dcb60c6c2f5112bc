"""Commands: lines of code and of a shell, which tell what to type and assert nothing."""

from __future__ import annotations

import re

from ragauge.text.patterns import any_of, phrases

_NAME = r"[a-z_]\w*(?:\.[A-Za-z_]\w*)*"
_COMMAND = re.compile(
    phrases(
        r"(?:\$|>>>|%\w+|!\w+) \S.*",  # a prompt, a notebook's magic
        rf"{_NAME}\(.*\)[;:]?",  # a call
        rf"{_NAME}(?:\[[^\]]*\])? ?\+?= ?.*[\w\])]?[(\[{{'\"].*",  # an assignment of more than a number
        rf"(?:import {_NAME}(?: as \w+)?|from {_NAME} import .*|def \w+\(.*|class \w+(?:\(.*)?:.*)",
        rf"{any_of('SELECT CREATE ALTER DROP INSERT_INTO DELETE_FROM MERGE_INTO COPY_INTO VACUUM OPTIMIZE')} .*",
        rf"{any_of('pip npm git docker kubectl curl wget conda brew sudo')} (?:-\S+|[a-z-]+ [^ ]*[-./=_]\S*)(?: \S+)*",
        r"[\])}(\[{;,\s]+",
    ),
    re.DOTALL,
)


def is_command(text: str) -> bool:
    """Whether a whole text is code: an assignment, a call, an import, a query or a line for a shell."""
    return bool(_COMMAND.fullmatch(text.strip(" `")))
