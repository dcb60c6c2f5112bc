"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.store.recording import Opinions as Opinions
from ragauge.store.recording import RowEdit as RowEdit
from ragauge.store.recording import label as label
from ragauge.store.recording import opinions as opinions
from ragauge.store.recording import read_judgments as read_judgments
from ragauge.store.recording import read_labels as read_labels
from ragauge.store.recording import settled as settled
from ragauge.store.recording import write_judgments as write_judgments
from ragauge.store.recording import write_labels as write_labels
from ragauge.store.store import Place as Place
from ragauge.store.store import Store as Store
from ragauge.store.store import is_url as is_url

__all__: list[str]
