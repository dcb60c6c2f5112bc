"""Refusals: sentences that say there is no answer, instead of giving one, and responses that do no more than that."""

from __future__ import annotations

import re

from ragauge.nouns.statements import Span
from ragauge.text.citations import citation_marks
from ragauge.text.phrases import any_of, phrases
from ragauge.text.sentences import sentences

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
_TELLS = any_of("""says? mentions? specif(?:y|ies) contains? provides? includes? states? address(?:es)? answers? gives?
    discuss(?:es)? indicates? covers? explains? tells? help""")
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
    r"\A(?:n/a|no answer|none given|cannot answer|can't answer|no idea|i refuse\b.*|i'm not sure)\Z",
    rf"\A(?:i'm |i am )?(?:very |so )?sorry,? (?:but )?{_CANNOT} {_LY}{_ABLE}\b",
    rf"\bwe {_CANNOT} {_LY}(?:find|locate) {any_of('an the any')} (?:\w+ )?{_INFORMATION}\b",
    rf"\b(?:nothing|none|neither) (?:in|of|from) {_SOURCE}(?: \w+){{0,3}} {_TELLS}\b",
    rf"\bthe (?:answer|information) {_IS_NOT} (?:in|among|part of) {_WITHIN}\b",
    rf"\A(?:the |this |that )?(?:{_INFORMATION}|data) (?:is )?(?:not|un)[ -]?{_TOLD}\Z",
    rf"\A(?:not|nowhere) {_TOLD} (?:in|by|within|from) {_WITHIN}\b",
    rf"\bno (?:relevant )?(?:{_NOUN}|results|information) (?:was|were|could be) found\b",
    rf"\b{_SOURCE} (?:is|are) silent\b",
)
_GERMAN = (
    r"\bich (?:weiß|weiss) (?:es |das |leider )*nicht",
    r"\bich (?:kann|konnte)\b.{0,80}\b(?:nicht|keine (?:\w+ )?\w+) (?:beantworten|finden|sagen|beurteilen)",
    rf"\b{any_of('dokumente?n? kontext texte?n? quellen?')} .{{0,60}}\b(?:nicht|keine) (?:\w+ )?"
    rf"{any_of('hervor erwähnt enthalten angaben informationen genannt')}",
    rf"\bkeine (?:\w+ )?(?:informationen|angaben) {any_of('zu über gefunden vorhanden verfügbar')}",
)
_SPANISH = (
    r"\A(?:lo siento, )?(?:pero )?no (?:lo )?sé\b",
    r"\bno (?:puedo|pude|he podido) (?:encontrar|responder|determinar|proporcionar)",
    r"\bno (?:encontré|encuentro|he encontrado)\b.{0,40}\b(?:respuesta|información)",
    r"\bno hay (?:\w+ )?información\b",
    rf"\b{any_of('documentos? contexto textos? pasajes?')} .{{0,30}}no "
    rf"{any_of('menciona contiene proporciona dice especifica indica')}n?\b",
)
_FRENCH = (
    r"\bje ne (?:le )?sais pas\b",
    r"\bje ne (?:peux|trouve|suis) pas (?:\w+ )?(?:répondre|trouver|en mesure|d'information)",
    r"\bje n'ai (?:pas |rien )?(?:pu )?trouvé?r?\b.{0,40}\b(?:réponse|information)",
    r"\baucune (?:information|mention)\b",
    rf"\b{any_of('documents? contexte textes? passages?')} .{{0,30}}ne "
    rf"{any_of('mentionne contient contiennent précise dit disent')}(?:nt)? pas\b",
)
_ITALIAN = (
    r"\bnon (?:lo )?so\b(?=\Z|[.,])",
    r"\bnon (?:ho trovato|riesco a trovare|posso (?:rispondere|trovare))\b",
    rf"\b{any_of('documenti contesto testi? passaggi fonti')} .{{0,30}}non "
    rf"{any_of('contien conten mention specific indic dic forni')}\w*",
)
_PORTUGUESE = (
    r"\A(?:desculpe, )?(?:mas )?(?:eu )?não (?:o )?sei\b",
    r"\bnão (?:encontrei|consegui (?:encontrar|responder)|posso (?:encontrar|responder))\b",
    rf"\b{any_of('documentos? contexto textos? fontes?')} .{{0,30}}não "
    rf"{any_of('mencion cont[êé]m especific indic diz informa fornece')}\w*",
)
_DUTCH = (
    r"\bik weet het niet\b",
    r"\bik (?:kan|kon)\b.{0,60}\b(?:niet|geen \w+) (?:vinden|beantwoorden)",
    rf"\b{any_of('documenten context teksten bronnen')} .{{0,20}}\b(?:vermeld|noem|bevat|zeg|geef|geven)\w* "
    r".{0,30}\b(?:niet|niets|geen)\b",
)
_EAST_ASIAN = (
    "(?:答え|回答|情報)[^。]{0,12}(?:見つかりません|ありません|見つけられません)",
    "(?:わかりません|分かりません|記載(?:され|が|は)[^。]{0,6}(?:いません|ありません))",
    "我(?:不知道|无法回答|無法回答)|(?:找不到|没有找到|沒有找到|未找到)[^。]{0,12}(?:答案|信息|資訊|资料)",
    "(?:文档|文件|资料|上下文|文中)[^。]{0,10}(?:没有|沒有|未)(?:提到|提及|提供|说明|說明)",
)
_REFUSAL = re.compile(phrases(*_ENGLISH, *_GERMAN, *_SPANISH, *_FRENCH, *_ITALIAN, *_PORTUGUESE, *_DUTCH, *_EAST_ASIAN))
_HINT = re.compile(
    rf"n't|n'ai|\A(?:answer )?un|\b{any_of('no not cannot unable unclear insufficient inadequate impossible n/a')}\b"
    rf"|\b{any_of('unknown refuse nicht keine ne aucune none nothing neither nowhere silent non não niet geen')}\b"
    r"|[没沒未无無不]|ません"
)
_CONCESSION = re.compile(r"(?:although|though|while|even though|whereas)\b[^,]*, ")
_EXAMINED = 400

_ABOUT = any_of("""discuss focus cover deal talk describe concern mention contain are_about is_about do_not
    does_not""")
_ASIDE = re.compile(
    phrases(
        r"(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|my apologies|unfortunately)\Z",
        r"(?:please|if you|let me know|feel free|i (?:recommend|suggest|can help)|you (?:may|might|could|can))\b",
        rf"(?:(?:however|instead|but|though|rather),? )?(?:they|it|these|{_SOURCE}) (?:only |mainly |mostly )?{_ABOUT}",
        r"(?:bitte|wenn sie|por favor|veuillez|per favore)\b",
    )
)
_TURN = re.compile(r"[,;]?\s(?:but|however|though|aber|pero|mais|ma|mas)\s")


def is_refusal_sentence(sentence: str) -> bool:
    """Does the sentence, instead of an answer, say that the speaker or the sources have none?

    "I don't know.", "The documents do not say when." A concession that goes on to tell something ("Although the text
    gives no date, it names the place.") is no refusal. English; the commonest forms in German, Spanish, French,
    Italian, Portuguese, Dutch, Japanese and Chinese.
    """
    plain = _plain(sentence)
    if not _HINT.search(plain):
        return False
    return bool(_REFUSAL.search(_CONCESSION.sub("", plain, count=1)))


def refusal(text: str) -> list[Span]:
    """The sentences by which a response declines to answer; none where it answers, if only in part.

    Apologies, advice and words on what the documents are about instead may stand beside them. A sentence that tells
    something, or that cites a document, makes the whole an answer. An empty text is no refusal.
    """
    spans = sentences(text)
    refusing = [span for span in spans if _declines(text[slice(*span)])]
    others = [text[slice(*span)] for span in spans if span not in refusing]
    return refusing if all(map(_is_aside, others)) else []


def _declines(sentence: str) -> bool:
    """Whether a sentence refuses and does not go on to tell something after all."""
    if not is_refusal_sentence(sentence):
        return False
    *_, last = _TURN.split(_plain(sentence))
    return is_refusal_sentence(last) or bool(_ASIDE.match(last))


def _is_aside(sentence: str) -> bool:
    return not citation_marks(sentence) and bool(_ASIDE.match(_plain(sentence)))


def _plain(sentence: str) -> str:
    return " ".join(sentence[:_EXAMINED].replace("’", "'").lower().split()).strip(" .!\"'*。")
