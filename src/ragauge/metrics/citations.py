"""Citation recall and precision: is the response supported by the documents it cites?

As in ALCE (Gao et al., "Enabling large language models to generate text with citations", EMNLP 2023). variant:
"default" parses [1, 2], [1-3], [1 and 2], [Document 1], and citations after the full stop or before each sentence; a
year in brackets is no citation; a citation of a missing document counts as wrong, and the others of its sentence still
count; a sentence that a cited document contradicts is not supported; refusing sentences and lists of sources need no
citation. "trust_eval" and "alce" follow those systems, which split sentences with NLTK's Punkt (pip install
'ragauge[trust]') and read `at_most` citations of a sentence.
"""

from __future__ import annotations

from ragauge.metrics.base import metric
from ragauge.needs.base import Undefined
from ragauge.needs.citations import CitationSupport, citations
from ragauge.needs.gold import Variant
from ragauge.scores import Incidence, PrecisionRecall, Share

NO_SENTENCE = "the response has no sentence that needs a citation"
NO_CITATION = "the response cites nothing"


@metric(citations)
def citation_recall(citing: CitationSupport) -> Share | Undefined:
    """Share of the response's sentences that the documents they cite together support (ALCE).

    A sentence without a citation is not supported; nor is an empty response, which counts as one sentence. variant:
    "default", "trust_eval" or "alce", which leave empty responses undefined. style: how citations are written,
    "brackets", "parentheses" or "authors". units: "sentences", or "items" of a list, prefixed with the query.
    at_most: how many citations of a sentence the other two variants read.
    """
    supported = citing.supported
    return Share(sum(supported), len(supported)) if supported else Undefined(NO_SENTENCE)


@metric(citations)
def citation_precision(citing: CitationSupport, *, variant: Variant = "default") -> Share | Incidence | Undefined:
    """Share of the citations that are needed: their sentence is supported, by them alone or not without them.

    A citation is redundant if it fails alone and the others of its sentence suffice (ALCE). Without citations it is
    undefined, and 0 in the variants "trust_eval" and "alce". Parameters as of citation_recall.
    """
    if not citing.sentences:
        return Undefined(NO_SENTENCE)
    precise = citing.precise
    if not precise:
        return Undefined(NO_CITATION) if variant == "default" else Incidence(0, 0)
    return Share(sum(precise), len(precise))


@metric(citations)
def citation_f1(citing: CitationSupport) -> PrecisionRecall | Undefined:
    """Harmonic mean of citation precision and citation recall; 0 where nothing is supported."""
    if not citing.sentences:
        return Undefined(NO_SENTENCE)
    precise, supported = citing.precise, citing.supported
    return PrecisionRecall(sum(precise), len(precise), sum(supported), len(supported))
