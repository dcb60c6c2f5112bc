"""Contexts in every form they come in."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest

from ragauge import evaluate
from ragauge.errors import BadParameter, BadRow
from ragauge.readers import read
from ragauge.types import Chunk


@dataclass
class Document:
    """As LangChain's."""

    page_content: str
    metadata: dict[str, Any] = field(default_factory=dict)
    id: str | None = None


@dataclass
class TextNode:
    """As LlamaIndex's."""

    text: str
    node_id: str
    metadata: dict[str, Any] = field(default_factory=dict)


@dataclass
class NodeWithScore:
    """As LlamaIndex's."""

    node: TextNode
    score: float


def contexts(value: Any) -> tuple[Chunk, ...] | None:
    """The contexts of one row whose contexts are `value`."""
    (sample,) = read([{"query": "q", "contexts": value}])
    return sample.contexts


TWO = (Chunk("a", "1"), Chunk("b", "2"))


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (["a", "b"], TWO),
        (("a", "b"), TWO),
        (np.array(["a", "b"], dtype=object), TWO),
        ('["a", "b"]', TWO),
        ("['a', 'b']", TWO),
        ("['a' 'b']", TWO),
        ("['a'\n 'b']", TWO),
        (str(np.array(["a", "b"])), TWO),
        ("""['a' "b's"]""", (Chunk("a", "1"), Chunk("b's", "2"))),
        ('[{"text": "a"}, {"content": "b"}]', TWO),
        ("[{'text': 'a'}, 'b']", TWO),
        (
            {"text": ["a", "b"], "title": ["A", ""]},
            (Chunk("a", "1", "A"), Chunk("b", "2")),
        ),
        ({"text": [], "title": []}, ()),
        ("a", (Chunk("a", "1"),)),
        ({"text": "a"}, (Chunk("a", "1"),)),
        ('{"text": "a"}', (Chunk("a", "1"),)),
        ([411, 2.0], (Chunk("411", "1"), Chunk("2", "2"))),
        ([], ()),
        ("[]", ()),
        ([""], (Chunk("", "1"),)),
        (None, None),
        ("", None),
        (" \n", None),
        (float("nan"), None),
        (Chunk("a"), (Chunk("a", "1"),)),
        ([Chunk("a", "x")], (Chunk("a", "x"),)),
        (Document("a", {"page": 3}), (Chunk("a", "1", "", {"page": 3}),)),
        ([["A", ["a.", " b."]]], (Chunk("a. b.", "1", "A"),)),
        ({"title": ["A"], "sentences": [["a.", "b."]]}, (Chunk("a. b.", "1", "A"),)),
        (
            [{"text": "a. b.", "sentences": ["a.", "c."]}],
            (Chunk("a. b.", "1", metadata={"sentences": ["a.", "c."]}),),
        ),
        (
            [{"text": "a.", "sentences": [{"start": 0}]}],
            (Chunk("a.", "1", metadata={"sentences": [{"start": 0}]}),),
        ),
        ([Document("a", id="d")], (Chunk("a", "d"),)),
        ([TextNode("a", "n1")], (Chunk("a", "n1"),)),
        ([NodeWithScore(TextNode("a", "n1", {"page": 3}), 0.5)], (Chunk("a", "n1", "", {"page": 3, "score": 0.5}),)),
        ([{"node": {"id_": "n1", "text": "a"}, "score": 0.5}], (Chunk("a", "n1", "", {"score": 0.5}),)),
        ([{"doc_id": 7, "body": "a", "title": None, "rank": 1}], (Chunk("a", "7", "", {"rank": 1}),)),
        (
            [{"text": "a", "content": "b", "meta": {"p": 1}}],
            (Chunk("a", "1", "", {"p": 1, "content": "b"}),),
        ),
    ],
)
def test_each_form_of_contexts(value: Any, expected: tuple[Chunk, ...] | None) -> None:
    """Lists, objects, documents, arrays and their spellings as text all become chunks in their order."""
    assert contexts(value) == expected


@pytest.mark.parametrize(
    "text",
    [
        "[1] As the first source says, nothing.",
        "[1] one. See also [2]",
        "[citation needed]",
        "[[Ada Lovelace]] was born in 1815.",
        "[] buy milk",
        '{"price": 3}',
        "{braces} and more",
        "(parentheses)",
        '"a quotation," he said',
        "[12]",
    ],
)
def test_a_text_with_brackets_is_one_chunk(text: str) -> None:
    """Only what starts as a list of strings or objects does is read as a list; footnotes, links and JSON are text."""
    assert contexts(text) == (Chunk(text, "1"),)


@pytest.mark.parametrize(
    "text", ['["a", "b', "['a', 'b", "['a' ... 'b']", "[{'text': 'a'", "[nan, 'a'", '["a"] and more']
)
def test_a_broken_list_is_refused(text: str) -> None:
    """What starts as a list and cannot be read as one, such as a cell cut off by a spreadsheet, is never one chunk."""
    with pytest.raises(
        BadRow, match=r"row 1, column 'contexts': a broken list(, probably cut off)?; write it as JSON: \[\"first\", "
    ):
        contexts(text)


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        (["a", None], "item 2 is null; leave it out, or give its text"),
        ('[null, "a"]', "item 1 is null"),
        (["a", ["b"]], "item 2: a list, not text; give it as one string"),
        ([["a", 0.8]], "item 1: a list, not text"),
        ([{"title": "A", "sentences": [{"start": 0}]}], "item 1 has no text among 'title', 'sentences'"),
        ([True], "item 1: a boolean, not text"),
        ([{"url": "u", "rank": 1}], "item 1 has no text among 'url', 'rank'; give its text under 'text'"),
        ([{"text": None}], "item 1 has no text among 'text'"),
        ([{}], "item 1: an object, not text"),
        ([{"text": ["a"], "id": 1}], "item 1: a list, not text"),
        ({"text": ["a", "b"], "title": ["A"]}, "item 1: a list, not text"),
        (object(), "item 1: a value of type object, not text"),
    ],
)
def test_an_item_that_is_no_chunk_is_refused(value: Any, problem: str) -> None:
    """A null, a nested list and an object without text are refused with the item's place and the fix."""
    with pytest.raises(BadRow, match="row 1, column 'contexts': ") as raised:
        contexts(value)
    assert problem in str(raised.value)
    assert "or leave the column out with map={'contexts': ''} (--map contexts=)" in raised.value.fix


def test_ids_are_matched_by_position() -> None:
    """A column of ids names the chunks of the contexts, and must have one for each."""
    row = {"query": "q", "contexts": ["a", "b"], "retrieved_context_ids": '["x", "y"]'}
    (sample,) = read([row])
    assert sample.contexts == (Chunk("a", "x"), Chunk("b", "y"))
    with pytest.raises(BadRow, match="column 'retrieved_context_ids': 1 ids for 2 contexts; give one id for each"):
        list(read([{**row, "retrieved_context_ids": ["x"]}]))


def test_labels_of_documents_stay_with_the_documents() -> None:
    """Whether a question is answerable is what its own column says; what follows from the documents is not guessed."""
    docs = [{"text": "a", "answers_found": [0, 0]}, {"text": "b"}]
    (by_docs,) = read([{"question": "q", "docs": docs}])
    (by_column,) = read([{"question": "q", "docs": docs, "answerable": "yes"}])
    assert (by_docs.answerable, by_column.answerable) == (None, True)
    assert [chunk.metadata for chunk in by_docs.contexts or ()] == [{"answers_found": [0, 0]}, {}]


def test_a_title_in_the_metadata_is_the_title() -> None:
    """LangChain's loaders keep the title there; the document's own goes before it, and what is no text is none."""
    found = contexts(
        [
            {"page_content": "Hot.", "metadata": {"title": "Tea", "page": 3}},
            {"text": "Hot.", "title": "Own", "metadata": {"title": "Tea"}},
            {"text": "Hot.", "metadata": {"title": 7}},
        ]
    )
    chunk, own, odd = found or ()
    assert (chunk.title, chunk.metadata) == ("Tea", {"title": "Tea", "page": 3})
    assert (own.title, odd.title) == ("Own", "")


def test_contexts_in_one_cell_are_split_where_the_caller_says_so_and_noted_elsewhere() -> None:
    """What separates chunks is given in the map; without it, joined chunks are counted where no sample has several."""
    rows = [{"query": "q", "chunks": "a|b ||| c"}, {"query": "q", "chunks": "d"}]
    split = read(rows, map={"contexts": "chunks", "contexts.split": " ||| "})
    assert [[chunk.text for chunk in sample.contexts or ()] for sample in split] == [["a|b", "c"], ["d"]]
    run = evaluate(rows, "max_words(9)", map={"response": "query", "contexts": "chunks", "query": ""})
    assert "one context may be several chunks joined: 1;" in " ".join(str(run).split())
    assert not split.unmeasured["joined_contexts"]
    with pytest.raises(BadParameter, match="no column of contexts; name it, too"):
        read([{"query": "q", "response": "r"}], map={"contexts.split": " ||| "})
    with pytest.raises(BadParameter, match=r"contexts\.split is empty"):
        read(rows, map={"contexts": "chunks", "contexts.split": ""})
    reading = read([*rows, {"query": "q", "chunks": ["e", "f"]}], map={"contexts": "chunks"})
    assert len(list(reading)) == 3
    assert not reading.unmeasured["joined_contexts"]
