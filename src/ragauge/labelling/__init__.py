"""Floor 5: people's labels on a run: what to label next, how far judge and people agree, scores corrected by people."""

from ragauge.labelling.labelling import Labelling
from ragauge.labelling.replies import reply

__all__ = ["Labelling", "reply"]
