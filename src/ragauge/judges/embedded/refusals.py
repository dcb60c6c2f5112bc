"""Refusals: sentences that say there is no answer, instead of giving one."""

from __future__ import annotations

import re

from ragauge.judges.embedded.phrases import any_of, phrases

_GIVEN = any_of(
    "provided given available supplied retrieved above following relevant specific enough sufficient any other"
)
_NOUN = any_of(
    "contexts? documents? passages? texts? articles? sources? search_results? excerpts? snippets? paragraphs?"
)
_SOURCE = rf"(?:the|this|these|those|your|my|{_GIVEN}) (?:(?:\w+ )?{_GIVEN} )*{_NOUN}"
_MATERIAL = rf"{_GIVEN} (?:\w+ )?{any_of('information data details? content material results? reports? records?')}"
_WITHIN = rf"(?:the|this|these|your|my|any of the|{_GIVEN}) (?:\w+ ){{0,3}}(?:{_NOUN}|information|data|content)"
_INFORMATION = any_of("information mention answer")
_LY = r"(?:\w+ly |yet |also )*"
_TELL = any_of("""say mention specify contain provide include state address answer discuss indicate give cover
    explain reveal describe have offer make tell refer list show clarify disclose detail""")
_TOLD = any_of("""mentioned specified stated provided given included discussed addressed found available clear
    disclosed answered listed covered described explained""")
_ABLE = any_of("""find answer provide determine locate help assist confirm verify tell say give comply fulfill
    identify see access offer respond know be_certain be_sure share generate discuss recall speculate""")
_HAVE = any_of("any enough sufficient access specific personal real-time information data details")
_FOUND_OUT = any_of("determined answered inferred established found confirmed")
_DO_NOT = r"(?:do|does|did)(?: not|n't)"
_CANNOT = r"(?:cannot|can't|can not|could not|couldn't)"
_IS_NOT = r"(?:is|are|was|were)(?: not|n't)"

_ENGLISH = (
    rf"\bi {_DO_NOT} {_LY}(?:know|see any|find|have {_HAVE})\b",
    rf"\bi(?:'m| am| was) {_LY}(?:unable|not {any_of('able aware familiar certain')})\b",
    rf"\b(?:i'm|i am) not sure {any_of('about how what who when where which why if whether')}\b",
    rf"\bi {_CANNOT} {_LY}{_ABLE}\b",
    rf"\bwe {_CANNOT} {_LY}{any_of('answer provide help assist')}\b",
    r"\bwe (?:do not|don't) (?:know|have (?:any |enough )?information)\b",
    rf"\b(?:i|we) have no {any_of('information idea knowledge data way_of_knowing access')}\b",
    rf"\b(?:{_SOURCE}|{_MATERIAL})(?: \w+){{0,3}} {_DO_NOT} {_LY}{_TELL}\b",
    rf"\b{_SOURCE}(?: \w+){{0,3}} {any_of('contains? provides? includes? gives? offers? makes? has have')} no\b",
    rf"\A(?:i(?:'m| am) )?(?:sorry|afraid)\b.*\b{_DO_NOT} {_LY}{_TELL}\b",
    rf"\bthere(?: is| are|'s| was) no (?:\w+ ){{0,2}}{_INFORMATION}\b",
    rf"\A(?:unfortunately,? )?no (?:\w+ ){{0,2}}(?:{_INFORMATION}|details)\b",
    rf"\b{_IS_NOT} {_LY}{_TOLD}(?: \w+){{0,2}} (?:in|by|within|from) {_WITHIN}\b",
    rf"\b{_IS_NOT} {_LY}(?:mentioned|specified|stated)\Z",
    rf"\b{_CANNOT} be {_LY}{_FOUND_OUT} (?:from|based on|with|using|in) {_WITHIN}\b",
    rf"\b(?:question|answer) {_CANNOT} be {_LY}{_FOUND_OUT}\b",
    r"(?:\A|\b(?:is|have|has|contains?|provides?) )(?:not enough|insufficient) (?:\w+ )?(?:information|details)\b",
    rf"\b(?:impossible|not possible) to (?:determine|answer|say|tell|know)\b.*\b(?:{_NOUN}|information)\b",
    rf"\Aunable to {_LY}{_ABLE}\b",
    rf"\b(?:unclear|unknown) (?:from|based on|in|according to) {_WITHIN}\b",
    r"\bas an? (?:ai|(?:large )?language model)\b.*(?:n't|\bnot|\bno)\b",
    rf"\A(?:answer )?(?:not|un)[ -]?(?:{_TOLD}|answerable|known)\Z",
    r"\A(?:n/a|no answer|none given|cannot answer|can't answer|no idea|i refuse\b.*)\Z",
)
_GERMAN = (
    r"\bich (?:weiß|weiss) (?:es |das |leider )*nicht",
    r"\bich kann\b.{0,80}\bnicht (?:beantworten|finden|sagen|beurteilen)",
    rf"\b{any_of('dokumente?n? kontext texte?n? quellen?')} .{{0,60}}\b(?:nicht|keine) (?:\w+ )?"
    rf"{any_of('hervor erwähnt enthalten angaben informationen genannt')}",
    rf"\bkeine (?:\w+ )?(?:informationen|angaben) {any_of('zu über gefunden vorhanden verfügbar')}",
)
_SPANISH = (
    r"\A(?:lo siento, )?(?:pero )?no (?:lo )?sé\b",
    r"\bno (?:puedo|pude|he podido) (?:encontrar|responder|determinar|proporcionar)",
    r"\bno hay (?:\w+ )?información\b",
    rf"\b{any_of('documentos? contexto textos? pasajes?')} .{{0,30}}no "
    rf"{any_of('menciona contiene proporciona dice especifica indica')}n?\b",
)
_FRENCH = (
    r"\bje ne (?:le )?sais pas\b",
    r"\bje ne (?:peux|trouve|suis) pas (?:\w+ )?(?:répondre|trouver|en mesure|d'information)",
    r"\baucune (?:information|mention)\b",
    rf"\b{any_of('documents? contexte textes? passages?')} .{{0,30}}ne "
    rf"{any_of('mentionne contient contiennent précise dit disent')}(?:nt)? pas\b",
)
_REFUSAL = re.compile(phrases(*_ENGLISH, *_GERMAN, *_SPANISH, *_FRENCH))
_HINT = re.compile(
    rf"n't|\A(?:answer )?un|\b{any_of('no not cannot unable unclear insufficient inadequate impossible n/a unknown')}\b"
    rf"|\b{any_of('refuse nicht keine ne aucune none')}\b"
)
_CONCESSION = re.compile(r"(?:although|though|while|even though|whereas)\b[^,]*, ")
_EXAMINED = 400


def is_refusal_sentence(sentence: str) -> bool:
    """Does the sentence, instead of an answer, say that the speaker or the sources have none?

    "I don't know.", "The documents do not say when." A concession that goes on to tell something ("Although the text
    gives no date, it names the place.") is no refusal. English; the commonest German, Spanish and French forms.
    """
    plain = " ".join(sentence[:_EXAMINED].replace("’", "'").lower().split()).strip(" .!\"'*")
    if not _HINT.search(plain):
        return False
    return bool(_REFUSAL.search(_CONCESSION.sub("", plain, count=1)))
