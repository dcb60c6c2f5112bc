"""Eleven languages: reading files, splitting sentences, refusals, which language it is, and judges by language."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

import ragauge as rg
from ragauge.judges.base import ContextJudge
from ragauge.questions import Entail, Relevant, language
from ragauge.text.language import foreign
from ragauge.text.refusals import refusal
from ragauge.text.sentences import sentences

#: Per language three sentences of one text, with titles, decimals and days that end none.
SENTENCES = {
    "en": ("Dr. Smith paid $3.50 on Jan. 5.", "The parcel came late!", "Who pays?"),
    "de": ("Dr. Müller zahlte am 5. Januar ca. 3,50 Euro.", "Das Paket kam z. B. zu spät!", "Wer zahlt?"),
    "fr": ("M. Dupont a payé 3,50 € le 5 janvier.", "Le colis est arrivé en retard !", "Qui paie ?"),
    "es": ("El Sr. García pagó 3,50 € el 5 de enero.", "¡El paquete llegó tarde!", "¿Quién paga?"),
    "it": ("Il sig. Rossi ha pagato 3,50 € il 5 gennaio.", "Il pacco è arrivato in ritardo!", "Chi paga?"),
    "pt": ("O Sr. Silva pagou 3,50 € em 5 de janeiro.", "A encomenda chegou tarde!", "Quem paga?"),
    "nl": ("Dhr. de Vries betaalde op 5 januari 3,50 euro.", "Het pakket kwam te laat!", "Wie betaalt?"),
    "pl": ("Pan Kowalski zapłacił 5 stycznia 3,50 euro.", "Paczka przyszła za późno!", "Kto płaci?"),
    "ru": ("Г-н Иванов заплатил 3,50 евро 5 января.", "Посылка пришла поздно!", "Кто платит?"),
    "zh": ("王先生在1月5日支付了3.50欧元。", "包裹迟到了！", "谁付款？"),
    "ja": ("田中さんは1月5日に3.50ユーロを支払いました。", "荷物は遅れて届きました！", "誰が払いますか？"),
}

#: Per language four refusals, and two answers in similar words.
REFUSALS = {
    "en": (
        ("I don't know.", "The documents do not mention the price.", "I could not find an answer.", "I cannot answer."),
        ("The price is not included in the fee; it is 5 euros.", "I know that Paris is the capital."),
    ),
    "de": (
        (
            "Das weiß ich leider nicht.",
            "Die Dokumente enthalten keine Angaben zum Preis.",
            "Ich konnte keine Antwort auf diese Frage finden.",
            "Die Frage kann anhand des Kontexts nicht beantwortet werden.",
        ),
        ("Der Preis ist nicht im Tarif enthalten.", "Ich weiß, dass Paris die Hauptstadt ist."),
    ),
    "fr": (
        (
            "Je ne sais pas.",
            "Les documents ne mentionnent pas le prix.",
            "Je n'ai pas trouvé de réponse à cette question.",
            "Je ne peux pas répondre à cette question.",
        ),
        ("Le prix n'est pas compris dans le tarif.", "Je sais que Paris est la capitale."),
    ),
    "es": (
        (
            "No lo sé.",
            "Los documentos no mencionan el precio.",
            "No encontré una respuesta a esta pregunta.",
            "No puedo responder a esta pregunta.",
        ),
        ("El precio no está incluido en la tarifa.", "Sé que París es la capital."),
    ),
    "it": (
        (
            "Non lo so.",
            "I documenti non menzionano il prezzo.",
            "Non ho trovato una risposta a questa domanda.",
            "Non posso rispondere a questa domanda.",
        ),
        ("Il prezzo non è compreso nella tariffa.", "So che Parigi è la capitale."),
    ),
    "pt": (
        (
            "Não sei.",
            "Os documentos não mencionam o preço.",
            "Não encontrei uma resposta para esta pergunta.",
            "Não posso responder a esta pergunta.",
        ),
        ("O preço não está incluído na tarifa.", "Sei que Paris é a capital."),
    ),
    "nl": (
        (
            "Ik weet het niet.",
            "De documenten vermelden de prijs niet.",
            "Ik kan geen antwoord vinden op deze vraag.",
            "Ik kan deze vraag niet beantwoorden.",
        ),
        ("De prijs is niet bij het tarief inbegrepen.", "Ik weet dat Parijs de hoofdstad is."),
    ),
    "pl": (
        (
            "Nie wiem.",
            "Dokumenty nie podają ceny.",
            "Nie znalazłam odpowiedzi na to pytanie.",
            "Nie mogę odpowiedzieć na to pytanie.",
        ),
        ("Cena nie jest wliczona w taryfę.", "Wiem, że Paryż jest stolicą."),
    ),
    "ru": (
        (
            "Я не знаю.",
            "В документах не указана цена.",
            "Я не нашёл ответа на этот вопрос.",
            "Я не могу ответить на этот вопрос.",
        ),
        ("Цена не входит в тариф.", "Я знаю, что Париж — столица."),
    ),
    "zh": (
        ("我不知道。", "文档中没有提到价格。", "我没有找到这个问题的答案。", "我无法回答这个问题。"),
        ("价格不包含在费用中。", "我知道巴黎是首都。"),
    ),
    "ja": (
        (
            "わかりません。",
            "文書には価格が記載されていません。",
            "この質問の答えは見つかりませんでした。",
            "この質問には答えられません。",
        ),
        ("価格は料金に含まれていません。", "パリが首都だと知っています。"),
    ),
}

OTHERS = [code for code in SENTENCES if code != "en"]


def text_of(code: str) -> str:
    """The three sentences as one text; Chinese and Japanese have no spaces between them."""
    return ("" if code in ("zh", "ja") else " ").join(SENTENCES[code])


@pytest.mark.parametrize("code", SENTENCES)
def test_sentences_of_a_language(code: str) -> None:
    """A text splits into its sentences, at no title, day or decimal."""
    text = text_of(code)
    assert tuple(text[slice(*span)] for span in sentences(text)) == SENTENCES[code]


@pytest.mark.parametrize(
    "expected",
    [
        ("საქართველო მდებარეობს კავკასიაში.", "თბილისი არის მისი დედაქალაქი."),
        ("die rückgabe ist nach dreißig tagen ausgeschlossen.", "bitte wenden sie sich an den kundendienst."),
        ("la devolución no es posible después de treinta días.", "por favor contacte con el servicio."),
        ("Die Rückgabe ist nach dreißig Tagen ausgeschlossen.", "iPhones werden nicht ersetzt."),
        ("El precio de la habitación cuesta aprox. cien euros.", "La entrega tarda máx. tres días."),
    ],
)
def test_a_sentence_may_begin_with_a_small_letter(expected: tuple[str, ...]) -> None:
    """Texts without capitals split, and sentences before iPhone; abbreviations before small letters end none."""
    text = " ".join(expected)
    assert tuple(text[slice(*span)] for span in sentences(text)) == expected


def test_what_a_quotation_is_followed_by() -> None:
    """A Japanese quotation goes on before the particle と, and ends before words that begin with it."""
    went_on, ended = "「行きます。」と彼は言った。", "「行きます。」ところが彼は来なかった。"
    assert [len(sentences(text)) for text in (went_on, ended, "「はい。」とにかく急いだ。")] == [1, 2, 2]


@pytest.mark.parametrize("code", REFUSALS)
def test_refusals_of_a_language(code: str) -> None:
    """The common refusals of a language are found, and answers in similar words are none."""
    refusals, answers = REFUSALS[code]
    assert [text for text in refusals if not refusal(text)] == []
    assert [text for text in answers if refusal(text)] == []


@pytest.mark.parametrize("code", OTHERS)
def test_a_text_in_another_language_is_recognised(code: str) -> None:
    """Three sentences of a language are evidently in it."""
    assert foreign(text_of(code)) == code


@pytest.mark.parametrize(
    "text",
    ["", "42", "Herr Müller", "IBM", "Paris.", "café", text_of("en"), "x = f(y)", "Can it be taken in pregnancy?"],
)
def test_english_and_what_is_too_short_to_tell(text: str) -> None:
    """English, names, numbers and fragments are taken for no other language."""
    assert foreign(text) is None


def test_the_language_of_a_question_is_that_of_any_of_its_texts() -> None:
    """A German claim about an English text is German, and so is an English claim about a German text."""
    german, english = text_of("de"), text_of("en")
    assert language(Entail((english,), german)) == "de"
    assert language(Entail((german,), english)) == "de"
    assert language(Relevant(english, german)) == "de"
    assert language(Entail((english,), english, query=english)) == "en"


def rows() -> list[dict[str, object]]:
    """A sample per language, whose response its context holds word for word."""
    return [
        {"id": code, "query": said[2], "response": said[1], "contexts": [text_of(code)]}
        for code, said in SENTENCES.items()
    ]


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_files_in_any_language_are_read_as_written(encoding: str, tmp_path: Path) -> None:
    """JSON Lines and CSV with texts of all languages give the same samples in three encodings."""
    jsonl, table = tmp_path / "a.jsonl", tmp_path / "a.csv"
    jsonl.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows()), encoding=encoding)
    with table.open("w", encoding=encoding, newline="") as file:
        written = csv.DictWriter(file, ["id", "query", "response", "contexts"])
        written.writeheader()
        written.writerows({**row, "contexts": json.dumps(row["contexts"], ensure_ascii=False)} for row in rows())
    for path in (jsonl, table):
        run = rg.evaluate(path, ["refusal"])
        assert [(one.sample.id, one.sample.response) for one in run.records()] == [
            (row["id"], row["response"]) for row in rows()
        ]


def test_the_embedded_judge_abstains_from_other_languages() -> None:
    """Scores of English are values; all others are undefined, none failed, and the reason says what to do."""
    run = rg.evaluate(rows(), ["faithfulness", "context_relevance"])
    by_id = dict(zip(SENTENCES, run.scores, strict=True))
    assert by_id["en"]["faithfulness"].value is not None
    for code in OTHERS:
        for score in by_id[code].values():
            assert score.value is None
            assert score.failed is None
            assert "reads English" in str(score.undefined)
            assert "name a judge for it" in str(score.undefined)


def test_opinions_in_other_languages_are_not_passed_over() -> None:
    """Toxicity of other languages is undefined, and a judge that reads them is asked about each of their sentences."""
    insults = ["You are a stupid idiot.", "Du bist ein dummer Idiot.", "Tu es un sale con, je te déteste."]
    data = [{"response": f"{insult} The lid is closed." if "You" in insult else insult} for insult in insults]
    english, german, french = (scores["toxicity"] for scores in rg.evaluate(data, ["toxicity"]).scores)
    assert english.value == 1
    assert all("reads English" in str(score.undefined) for score in (german, french))
    biased = rg.judge_from(classify=lambda text, trait: True, name="biased/1")
    run = rg.evaluate(data, ["bias"], judge={"classify": biased, "*": "embedded"})
    assert [scores["bias"].value for scores in run.scores] == [1, 1, 1]


def test_the_lexical_judge_compares_words_of_other_languages() -> None:
    """Words alone are compared in any language."""
    run = rg.evaluate(rows(), ["faithfulness"], judge="lexical")
    assert run.estimates["faithfulness"].n == len(SENTENCES)


def agreeing(name: str) -> rg.judges.Judge:
    """A judge to whom everything is entailed."""
    return rg.judge_from(entail=lambda premise, hypothesis: ("entailed", 0.9), name=name)


def test_each_language_has_its_judge() -> None:
    """Questions go to the judge of their language; the judge for all others answers what that one cannot."""
    run = rg.evaluate(
        rows(), ["faithfulness"], judge={"de": agreeing("german/1"), "fr": agreeing("french/1"), "*": "embedded"}
    )
    valued = {code for code, scores in zip(SENTENCES, run.scores, strict=True) if scores["faithfulness"].value == 1}
    assert valued == {"en", "de", "fr"}
    names = {judgment.judge.name for judgment in run.store.judgments() if judgment.question.__class__ is Entail}
    assert {"german/1", "french/1"} <= names


def test_a_cascade_asks_the_next_judge_about_other_languages() -> None:
    """A judge that abstains hands the question on."""
    run = rg.evaluate(rows(), ["faithfulness"], judge=rg.cascade("embedded", agreeing("all/1"), threshold=0.0))
    assert run.estimates["faithfulness"].n == len(SENTENCES)


def test_one_judge_for_several_languages_is_asked_as_one() -> None:
    """The same judge under several languages is one member."""
    judge = rg.load_judges({"de": "lexical", "fr": "lexical", "*": "embedded"}).judges["*"]
    assert str(judge.identity) == "by_language(lexical, embedded)"
    assert isinstance(judge, ContextJudge)


@pytest.mark.parametrize(
    ("judges", "message"),
    [
        ({"de": "lexical"}, "need one for all others"),
        ({"de": "lexical", "entail": "lexical", "*": "embedded"}, "by language or by kind"),
        ({"xx": "lexical", "*": "embedded"}, "unknown language 'xx'"),
        ({"de": "embedded", "*": "embedded"}, "needs at least two judges"),
    ],
)
def test_judges_by_language_that_cannot_be(judges: dict[str, str], message: str) -> None:
    """A mapping that names no judge for the rest, mixes kinds and languages, or errs in a code, says what to write."""
    with pytest.raises(rg.errors.UsageError, match=message):
        rg.load_judges(judges)
