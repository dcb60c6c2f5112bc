"""Refusals: sentences that decline to answer, in several languages, and responses that do no more than that."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragauge.text.refusals import is_refusal_sentence, refusal

DECLINING = """
I apologize, but I couldn't find an answer to your question in the search results.
Sorry, I couldn't find that.
Sorry, couldn't find anything on this.
I'm sorry, but I couldn't find an answer in the documents [1][2].
I don't know.
I have no information about that.
No answer found.
Information not available.
The documents do not say.
The provided passages don't mention who founded it.
Nothing in the documents says who founded it.
None of the provided passages answers the question.
The answer is not in the context.
Not stated in the documents.
No relevant documents were found.
The documents are silent on this.
The question cannot be answered with the given documents.
Ich weiß es nicht.
Es tut mir leid, aber ich konnte keine Antwort finden.
Dazu liegen mir keine Informationen vor.
Uns liegen hierzu leider keine Angaben vor.
Auf Basis der vorliegenden Dokumente lässt sich die Frage nicht beantworten.
提供された情報からは回答できません。
お答えいたしかねます。
Je suis désolé, mais je n'ai pas trouvé de réponse.
Lo siento, pero no pude encontrar una respuesta.
I documenti non contengono informazioni al riguardo.
Não encontrei uma resposta nos documentos.
De documenten vermelden dit niet.
申し訳ありませんが、答えが見つかりませんでした。
文档中没有提到。
""".strip().split("\n")

TELLING = """
Paris is the capital of France [1].
Find
No.
I found an answer, but I apologize
He apologized but couldn't find the murderer.
Police were unable to find the suspect.
It is unknown who built it.
Vitamin D is not found in many food sources.
No, Orthodox Jewish people do not eat shellfish.
There is no king of France.
The contract does not specify a price.
Although the text gives no date, it names the place.
I couldn't find the exact date, but it was built in the 19th century [1].
I don't know, but I think it was 1901.
The ferry takes 40 minutes, but I don't know the price.
The documents do not say when; it is in Paris [1].
Der Patientin liegen keine Daten zum Verlauf vor [1].
Daher lässt sich die Frage nach dem Täter bis heute nicht beantworten [2].
彼は質問に回答できませんでした。
""".strip().split("\n")


#: Sentences of many domains, each with whether it refuses, and whether the rules were written with it in view.
TABLE = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "golden" / "refusals.jsonl").read_text(encoding="utf-8").splitlines()
]


@pytest.mark.parametrize("row", [row for row in TABLE if row["seen"] == "known"], ids=lambda row: row["text"])
def test_sentences_that_the_rules_were_written_with(row: dict[str, Any]) -> None:
    """Each is classified correctly: what declines, and what only sounds like it."""
    assert bool(refusal(row["text"])) == row["refusal"]


def test_sentences_that_were_written_after_the_rules() -> None:
    """Of those that were first seen unseen only one is mistaken today, and none that tells something."""
    wrong = [row["text"] for row in TABLE if row["seen"] != "known" and bool(refusal(row["text"])) != row["refusal"]]
    assert wrong == ["The report's authors are named in the text, but their employer is not."]


@pytest.mark.parametrize(
    ("sentence", "refuses"),
    [
        ("There is no mention of slavery.", False),
        ("Not enough information is given.", False),
        ("In the text the king is never mentioned.", False),
        ("The document does not mention slavery.", True),
        ("Does not mention the king.", True),
        ("I couldn't find it in the documents.", True),
    ],
)
def test_what_cites_refuses_only_if_it_names_who_does_not_say(sentence: str, refuses: bool) -> None:
    """With a citation what names nobody is a fact; that the document cited is silent, or the speaker, is no fact."""
    assert is_refusal_sentence(sentence)
    assert is_refusal_sentence(sentence, cited=True) == refuses
    assert is_refusal_sentence(f"{sentence[:-1]} [1].") == refuses


@pytest.mark.parametrize("text", ["I Don't Know", '"I don\'t know."', "**The documents do not say.**"])
def test_a_refusal_that_is_quoted_whole_is_one(text: str) -> None:
    """Quotation marks, emphasis and capitals around the whole text change nothing."""
    assert is_refusal_sentence(text)


@pytest.mark.parametrize("text", DECLINING)
def test_a_sentence_that_declines_is_a_refusal(text: str) -> None:
    """The sentence is recognised, and is where the span says."""
    assert is_refusal_sentence(text)
    assert [text[a:b] for a, b in refusal(text)] == [text]


@pytest.mark.parametrize("text", TELLING)
def test_a_sentence_that_tells_something_is_none(text: str) -> None:
    """Neither a negation nor a search that somebody else gave up makes a refusal."""
    assert refusal(text) == []


@pytest.mark.parametrize(
    ("text", "declining"),
    [
        ("I'm sorry. The context does not specify. Please consult the manual.", ["The context does not specify."]),
        ("I don't know. The documents discuss cats.", ["I don't know."]),
        ("I couldn't find an answer, but the documents discuss cats.", None),
        ("The documents do not say when. It is in Paris [1].", []),
        ("The documents do not contain the answer. However, they mention that Paris is big [2].", []),
        ("I apologize, but I couldn't find an answer. However, note the bridge [3].", []),
        ("", []),
        (" \n", []),
    ],
)
def test_a_response_that_only_declines_is_a_refusal(text: str, declining: list[str] | None) -> None:
    """Apologies, advice and words about the documents may accompany it; any information makes it an answer."""
    assert [text[a:b] for a, b in refusal(text)] == ([text] if declining is None else declining)


@given(text=st.text(max_size=200))
def test_any_text_can_be_examined(text: str) -> None:
    """Spans of a refusal lie within the text, in order."""
    ends = [place for span in refusal(text) for place in span]
    assert ends == sorted(ends)
    assert all(0 <= place <= len(text) for place in ends)
