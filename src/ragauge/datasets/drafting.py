"""Drafts of questions: what a model is asked to write about passages, and the proof that a question is worth asking.

It is where all of its passages together, and no fewer, give its answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from itertools import chain, islice
from typing import Any, Literal, cast, get_args

import msgspec

from ragauge.datasets.calls import Form, Outcome, prompt_about, prompt_section
from ragauge.datasets.retrieval import words_of
from ragauge.judges.llm.judge import unanswered
from ragauge.judges.llm.messages import Completion, Prompt
from ragauge.judges.llm.replies import extract_object
from ragauge.kinds.call import REPEATED
from ragauge.needs.base import Need, QuestionFlow, Statements
from ragauge.needs.checks import graded_text
from ragauge.questions import Correct, Decompose, Entail, Judgment, Question, Rate, Relevant, Rubric
from ragauge.scores import Evidence
from ragauge.types import Chunk, Grade, Label, Sample, Turn, Verdict

#: What the answer to a question takes: one passage; two linked or compared passages; one that the corpus does not have;
#: one passage and the conversation before the question.
AskedKind = Literal["single", "bridge", "comparison", "unanswerable", "follow-up"]
ASKED_KINDS: tuple[AskedKind, ...] = get_args(AskedKind)

#: The kind of a question that a user asked.
REAL = "real"

#: How many passages the model is shown, where it is more than one.
PASSAGES_SHOWN: Mapping[str, int] = {"bridge": 2, "comparison": 2, "unanswerable": 3}

#: The key of a follow-up's metadata that holds the same question in full.
STANDALONE = "standalone"

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "unanswerable": ("question", "missing"),
    STANDALONE: ("question",),
    "follow-up": ("earlier_question", "earlier_answer", "question", "standalone", "answer"),
}


def _fields(kind: str) -> tuple[str, ...]:
    return _FIELDS.get(kind, ("question", "answer"))


def draft_prompt(kind: str, passages: Sequence[Chunk], language: str | None = None, style: str | None = None) -> Prompt:
    """The prompt for a question about passages.

    language: of the question; None: that of the passages. style: of the person who asks, in a line.
    """
    document: dict[str, Any] = {}
    if language:
        document["language"] = language
    if style:
        document["style"] = style
    document["passages"] = {str(number): passage.passage for number, passage in enumerate(passages, start=1)}
    system = f"{prompt_section('questions/preamble')}\n\n{prompt_section(f'questions/{kind}')}"
    return _prompt(system, _fields(kind), document)


def draft_form(kind: str) -> Form:
    """The form of the reply, which is a JSON object of texts."""

    def parse(completion: Completion) -> Outcome:
        fields = _fields(kind)
        reply = extract_object(completion.text, fields)
        texts = {name: reply.get(name) for name in fields}
        is_complete = all(isinstance(text, str) and text != REPEATED for text in texts.values())
        if is_complete and completion.finish == "stop":
            return msgspec.json.encode(texts).decode()
        return unanswered(completion, f"it has no texts under {', '.join(fields)}")

    return Form(parse, _example(_fields(kind)))


def draft_of(kind: str, reply: str, passages: Sequence[Chunk]) -> Sample | None:
    """The question in a reply, without an id; None where the model found none."""
    texts = {name: text.strip() for name, text in msgspec.json.decode(reply, type=dict[str, str]).items()}
    if not all(texts.values()):
        return None
    if kind == "unanswerable":
        return Sample("", texts["question"], answerable=False, metadata={"missing": texts["missing"]})
    references = (texts["answer"],)
    draft = Sample("", texts["question"], references=references, reference_contexts=tuple(passages), answerable=True)
    if kind == "follow-up":
        turns = (Turn("user", texts["earlier_question"]), Turn("assistant", texts["earlier_answer"]))
        return msgspec.structs.replace(draft, turns=turns, metadata={STANDALONE: texts["standalone"]})
    return draft


def unaided_prompt(query: str) -> Prompt:
    """The prompt for an answer without any document."""
    return _prompt(prompt_section("known"), ("answer",), {"question": query})


def standalone_prompt(question: Sample) -> Prompt:
    """The prompt to word a question that continues a conversation so that it is understood without it."""
    conversation = graded_text(msgspec.structs.replace(question, query=None), "conversation")
    document = {"conversation": conversation, "question": question.query}
    return _prompt(prompt_section(STANDALONE), _fields(STANDALONE), document)


def _prompt(system: str, fields: Sequence[str], document: Mapping[str, Any]) -> Prompt:
    instructions = f"{system}\n\nReply with one JSON object and nothing else: {_example(fields)}"
    return prompt_about(document, instructions, fields)


def prompts_digest() -> str:
    """A hash of the instructions for writing questions."""
    names = [f"questions/{name}" for name in ("preamble", *ASKED_KINDS)]
    return sha256("\n".join(map(prompt_section, names)).encode()).hexdigest()[:12]


def _example(fields: Sequence[str]) -> str:
    """The JSON object of a reply, with "..." for each text."""
    return "{" + ", ".join(f'"{name}": "..."' for name in fields) + "}"


#: Why a question is dropped.
NO_QUESTION = "the model found nothing to ask"
REPEATED_QUESTION = "the same question again"
NO_CLAIM = "its answer makes no claim"
UNSUPPORTED = "a claim of its answer does not follow from its passages"
NOT_RELEVANT = "a passage does not help to answer it"
NOT_ANSWERED = "its answer does not answer it"
ONE_IS_ENOUGH = "one passage answers it alone"
STANDS_ALONE = "it is understood without the conversation"
EARLIER_UNSUPPORTED = "the conversation before it says what its passage does not"
ANSWERABLE = "the corpus helps to answer it"
UNCLEAR = "it can mean several things, or nobody would ask it"
NOT_CITED = "its answer names no passage"
READ_OTHERWISE = "a reader of its passages among others answers something else, or nothing"

#: Whether a question is unambiguous and worth asking; for judges that grade by any rubric.
CLEAR = Rubric("clear question", ("conversation",), 0, 1, prompt_section("clear"), whole=True)


@dataclass(frozen=True)
class Proof:
    """What the judges say about a draft, or about several texts.

    dropped: why the draft is dropped, "" if it is kept. claims: of its answer. flags: yes or no for each text.
    """

    dropped: str = ""
    claims: tuple[str, ...] = ()
    flags: tuple[bool, ...] = ()
    evidence: tuple[Evidence, ...] = ()


def full_query(draft: Sample) -> str:
    """The question, worded to be understood without the conversation before it."""
    return str(draft.metadata.get(STANDALONE) or draft.query)


@cache
def clearly_asked() -> Need[Proof]:
    """A need: whether the question, after its conversation, is unambiguous and worth asking."""

    def flow(draft: Sample) -> QuestionFlow[Proof]:
        turns = [(turn.role, turn.text) for turn in draft.turns or ()]
        lines = [f"{role}: {text}" for role, text in (*turns, ("user", draft.query or ""))]
        (judgment,) = yield [Rate(CLEAR, (("conversation", "\n".join(lines)),))]
        return Proof("" if cast(Grade, judgment.answer).value else UNCLEAR)

    return Need("clearly_asked", (), frozenset({f"rate:{CLEAR.name}"}), flow)


def answered_by_its_passages(kind: str, others: Sequence[Chunk]) -> Need[Proof]:
    """A need: whether each claim of the answer follows from the passages, and what else its kind requires.

    Its flags say which of the other passages entail the answer too.
    """

    def flow(draft: Sample) -> QuestionFlow[Proof]:
        query, answer = full_query(draft), (draft.references or ("",))[0]
        passages = tuple(chunk.passage for chunk in draft.reference_contexts or ())
        if kind == "follow-up" and not set(words_of(query)) - set(words_of(draft.query or "")):
            return Proof(STANDS_ALONE)
        (decomposed,) = yield [Decompose(answer, query)]
        claims = tuple(piece.text for piece in Statements.of("references[0]", decomposed).claims.pieces)
        if not claims:
            return Proof(NO_CLAIM)
        support = [Entail(passages, claim, query) for claim in claims]
        relevance = [Relevant(query, text) for text in (*passages, answer)]
        turns = [turn.text for turn in draft.turns or ()]
        earlier = [Entail(passages, turns[1], turns[0])] if kind == "follow-up" else []
        takes_all = len(passages) > 1 and kind != REAL
        alone = [Entail((text,), answer, query) for text in passages] if takes_all else []
        elsewhere = [Entail((chunk.passage,), answer, query) for chunk in others]
        groups: Sequence[Sequence[Question]] = (support, relevance, earlier, alone, elsewhere)
        verdicts = iter(_verdicts((yield [*chain(*groups)])))
        of_support, of_relevance, of_earlier, of_alone, of_elsewhere = (
            list(islice(verdicts, len(group))) for group in groups
        )
        faults = {
            UNSUPPORTED: not all(verdict.entailed for verdict in of_support),
            NOT_RELEVANT: any(verdict.label is Label.NO for verdict in of_relevance[:-1]),
            NOT_ANSWERED: of_relevance[-1].label is Label.NO,
            EARLIER_UNSUPPORTED: not all(verdict.entailed for verdict in of_earlier),
            ONE_IS_ENOUGH: takes_all and any(verdict.entailed for verdict in (*of_alone, *of_elsewhere)),
        }
        dropped = next((fault for fault, holds in faults.items() if holds), "")
        return Proof(dropped, claims, tuple(verdict.entailed for verdict in of_elsewhere))

    asks = frozenset({"decompose", "entail:support", "relevant"})
    return Need(f"answered_by_its_passages({kind})", (), asks, flow)


def not_helped_by(chunks: Sequence[Chunk]) -> Need[Proof]:
    """A need: whether none of the chunks, the best that a search found, helps to answer the question."""

    def flow(draft: Sample) -> QuestionFlow[Proof]:
        judgments = yield [Relevant(draft.query or "", chunk.passage) for chunk in chunks]
        is_helped = any(verdict.label is Label.YES for verdict in _verdicts(judgments))
        return Proof(ANSWERABLE if is_helped else "")

    return Need("not_helped", (), frozenset({"relevant"}), flow)


def right_by_the_reference(*responses: str) -> Need[Proof]:
    """A need: which of the responses are right by the draft's references."""

    def flow(draft: Sample) -> QuestionFlow[Proof]:
        judgments = yield [Correct(full_query(draft), response, draft.references or ()) for response in responses]
        return Proof(flags=tuple(verdict.label is Label.RIGHT for verdict in _verdicts(judgments)))

    return Need("right_by_the_reference", (), frozenset({"correct"}), flow)


def entail_each_other(pairs: Sequence[tuple[str, str]]) -> Need[Proof]:
    """A need: for each pair of texts, whether they entail each other."""

    def flow(_: Sample) -> QuestionFlow[Proof]:
        both_ways = [(first, second) for pair in pairs for first, second in (pair, pair[::-1])]
        judgments = yield [Entail((premise,), claim) for premise, claim in both_ways]
        entailed = [verdict.entailed for verdict in _verdicts(judgments)]
        return Proof(flags=tuple(map(all, zip(entailed[::2], entailed[1::2], strict=True))))

    return Need("entail_each_other", (), frozenset({"entail:support"}), flow)


def expected_rounds(kind: str, text: str, shown: Sequence[Chunk], others: Sequence[Chunk]) -> list[list[Question]]:
    """The questions that proving a draft would take, in rounds, to estimate their cost.

    text: stands for the question and for its answer. shown: the passages that the draft is about. others: those that
    may answer it too.
    """
    clear: list[Question] = [Rate(CLEAR, (("conversation", text),))]
    if kind == "unanswerable":
        return [clear, [Relevant(text, chunk.passage) for chunk in others]]
    passages = tuple(chunk.passage for chunk in shown)
    alone = [Entail((passage,), text, text) for passage in (*passages, *(chunk.passage for chunk in others))]
    relevance = [Relevant(text, passage) for passage in (*passages, text)]
    correct = [Correct(text, f"{text} {number}", (text,)) for number in range(2)]
    return [clear, [Decompose(text, text)], [Entail(passages, text), *alone, *relevance], [*correct]]


def _verdicts(judgments: Sequence[Judgment]) -> list[Verdict]:
    return [cast(Verdict, judgment.answer) for judgment in judgments]
