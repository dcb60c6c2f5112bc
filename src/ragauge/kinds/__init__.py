"""The kinds of question, each in a file of its own with all that depends on the kind.

To add one, write such a file, its prompt and its worked examples, and name it in `Question`.
"""

from __future__ import annotations

from typing import get_args

from ragauge.kinds.base import complete
from ragauge.kinds.classify import Classify as Classify
from ragauge.kinds.correct import Correct as Correct
from ragauge.kinds.decompose import Decompose as Decompose
from ragauge.kinds.entail import Entail as Entail
from ragauge.kinds.rate import Rate as Rate
from ragauge.kinds.relevant import Relevant as Relevant

Question = Decompose | Entail | Relevant | Classify | Rate | Correct

for _order, _kind in enumerate(get_args(Question)):
    complete(_kind, _order)

#: The kinds by name, in their order.
KIND_TYPES: dict[str, type[Question]] = {kind.kind: kind for kind in get_args(Question)}

#: The names of the kinds, in their order.
KINDS = tuple(KIND_TYPES)
