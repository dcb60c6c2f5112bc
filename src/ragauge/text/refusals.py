"""Rule-based detection of refusals: sentences that decline to answer, and responses with no other content.

Some name the speaker ("I don't know") or the sources ("the documents do not say"). Others ("not enough information")
may equally be an answer, so they must end the sentence, and apply only to sentences without citations.
"""

from __future__ import annotations

import re

from ragauge.text.citations import citation_marks, unmarked
from ragauge.text.patterns import any_of, phrases
from ragauge.text.sentences import sentences
from ragauge.types import Span

_GIVEN = any_of(
    "provided given available supplied retrieved above following relevant specific enough sufficient any other"
)
_NOUN = any_of(
    "contexts? documents? passages? texts? articles? sources? search_results? excerpts? snippets? paragraphs?"
)
_COUNT = any_of(r"two three four five first second third fourth fifth other \d+")
_DETERMINER = any_of("the this that these those your my both all any each either")
_MATERIAL = rf"{_GIVEN} (?:\w+ )?{any_of('information data details? content material results? reports? records?')}"

_DOCUMENTS = rf"(?:{_DETERMINER}|{_GIVEN}) (?:{_COUNT} )?(?:(?:\w+ )?{_GIVEN} )*{_NOUN}(?:'s?)?(?! of\b)"

#: The sources of an answer: "the documents", "these two passages", "the given context", "document 2".
_SOURCE = (
    rf"(?:{_DOCUMENTS}|{_MATERIAL}|the (?:information|data|details|content) {_GIVEN}|{_NOUN} \d+"
    r"|what (?:i (?:was|am|have been) (?:given|shown)|you (?:gave|sent|showed|provided|shared)(?: me)?))"
)
_FROM = any_of("in by within from among on part_of based_on with using given according_to")
_IN_SOURCE = rf"(?:anywhere )?{_FROM} (?:any of )?{_SOURCE}"
_SOURCE_THAT = rf"\b{_SOURCE}(?: \w+){{0,3}}"

_INFORMATION = any_of("information info mention answers? details? data context indication reference")
_SCARCE = any_of("no not_enough not_any insufficient not_sufficient too_little")
_LY = r"(?!(?:only|just|merely|simply) )(?:\w+ly |yet |also |even |seem to |appear to |actually )*"
_STATE = any_of("""say mention specify contain provide include state address answer discuss indicate give cover
    explain reveal describe offer tell refer list show clarify disclose detail go_into talk_about touch_on name
    elaborate have_(?:any|enough|the|an?)_(?:answer|information|details?|data|mention)
    make_(?:any_)?(?:mention|reference|clear)""")
_STATES = any_of("""says? mentions? specif(?:y|ies) contains? provides? includes? states? address(?:es)? answers? gives?
    discuss(?:es)? indicates? covers? explains? tells? help describes? names? lists?""")
_REPORT = any_of("""says? states? shows? notes? reports? mentions? indicates? explains? confirms? describes? lists?
    names? gives? contains? tells?""")
_TREATS = any_of("""mentions? names? lists? discuss(?:es)? describes? covers? gives? includes? refers? talks? explains?
    speaks? deals? focus(?:es)? concerns?""")
_HOLDS = any_of("contains? provides? includes? gives? offers? makes? has have")
_STATED = any_of("""mentioned specified stated provided given included discussed addressed found available clear
    disclosed answered listed covered described explained said indicated""")
_ABLE = any_of("""find answer provide determine locate help assist confirm verify tell say give comply fulfill
    identify see access offer respond know be_certain be_sure share generate discuss recall speculate""")
_HAVE = any_of("any enough sufficient access specific personal real-time information data details")
_FOUND_OUT = any_of("determined answered inferred established found confirmed stated told said")
_PARTICIPLE = any_of("saying mentioning revealing giving stating naming explaining telling")
_STATING = rf"(?:{_STATE}|{_STATES}|{_STATED}|{_PARTICIPLE})"
_WH = any_of("who what when where which why how whether if")
_ITS = any_of("the an? any its his her their this that these those")

_DO_NOT = r"(?:do|does|did)(?: not|n't)"
_CANNOT = r"(?:cannot|can't|can not|could not|couldn't)"
_IS_NOT = r"(?:(?:is|are|was|were)(?: not|n't)|(?<=\w)'s not)"
_THERE_IS = r"there(?: is|'s| are| was| were)"
_SORRY = (
    r"(?:(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|(?:my )?apologies|unfortunately|regrettably),? (?:but )?)"
)
_I = (
    r"(?:\A|[,;:–—] ?|\b(?:and|but|so|because|since|as|that|afraid|sorry|unfortunately|however|while|though|although"
    r"|regret|currently) )i"
)

_SPEAKERS = (
    rf"{_I} (?:do not|don't) {_LY}(?:know|recall)\b",
    rf"{_I} {_DO_NOT} {_LY}(?:see any|find|have (?:{_HAVE}|{_ITS} {_INFORMATION}))\b",
    rf"{_I} (?:have not|haven't) {_LY}(?:found|seen) (?:anything|{_ITS} (?:\w+ ){{0,2}}{_INFORMATION})\b",
    rf"{_I} (?:have |could |can )?(?:found|find|see) (?:nothing|no (?:\w+ ){{0,2}}(?:{_INFORMATION}|{_NOUN}))\b",
    rf"{_I} (?:do not|don't) (?:think|believe) (?:that )?{_SOURCE_THAT} (?:{_STATE}|{_STATES})\b",
    rf"{_I}(?:'m| am| was| would be|'d be) {_LY}(?:unable|not {any_of('able aware familiar certain in_a_position')})\b",
    rf"{_I} (?:won't|will not|would not|wouldn't|wasn't|was not|haven't been|have not been) (?:be )?able\b",
    rf"{_I}(?:'m| am) not sure (?:about|{_WH})\b",
    rf"{_I}(?:'m| am) not (?:finding|seeing)\b",
    rf"{_I} {_CANNOT} {_LY}{_ABLE}\b",
    rf"{_I} (?:have to|must) leave .{{0,40}}\b(?:open|unanswered)\b",
    rf"(?:\bnot|n't) something (?:that )?i (?:can|could) {_ABLE}\b",
    rf"{_I}(?: have|'ve) {_SCARCE} (?:\w+ )?(?:{_INFORMATION}|{any_of('idea clue knowledge access way_of_knowing')})\b",
    rf"{_I}(?:'d| would|'ll| will)? need (?:more|additional|further) {_INFORMATION}\b",
    rf"{_I} lack\b",
    rf"\A{_SORRY}?(?:unable|not able) to {_LY}{_ABLE}\b",
    rf"\A{_SORRY}(?:{_CANNOT}|didn't|don't) {_LY}{_ABLE}\b",
    rf"\A{_SORRY}?no (?:idea|clue)(?: {_WH}\b.*| about\b.*)?\Z",
    r"\bas an? (?:ai|(?:large )?language model)\b.*(?:n't|\bnot|\bno)\b",
    r"\A(?:cannot answer|can't answer|can't say|don't know|i refuse\b.*|(?:i'm )?not sure)\Z",
)

_SOURCES = (
    rf"{_SOURCE_THAT} {_DO_NOT} {_LY}{_STATE}\b",
    rf"\A{_SORRY}.*\b{_DO_NOT} {_LY}{_STATE}\b",
    rf"\A{_SORRY}?(?:does|do)(?: not|n't) {_LY}{any_of('say mention specify state address discuss indicate explain')} "
    rf"(?:{_WH}|the|its|his|her|their|this|that)\b",
    rf"{_SOURCE_THAT} (?:fails? to {_STATE}|never {_STATES}|lacks?|omits?|leaves? out)\b",
    rf"{_SOURCE_THAT} (?:is|are) (?:silent|unclear|not clear)\b",
    rf"{_SOURCE_THAT} (?:is|are)(?: not|n't) {_LY}{any_of('sufficient enough relevant helpful about related')}\b",
    rf"{_SOURCE_THAT} leaves? (?:it |this |that )?(?:open|unanswered|unclear)\b",
    rf"{_SOURCE_THAT} {_HOLDS} no(?:thing)?\b",
    rf"{_SOURCE_THAT} {_STATES} (?:nothing|not enough|insufficient|too little)\b",
    rf"{_SOURCE_THAT} {_TREATS}\b.* but not (?:(?:about|for|on|to|with) )?(?:{_WH}|{_ITS})\b",
    rf"{_SOURCE_THAT} {_TREATS}\b.* (?:but|and|yet) {_DO_NOT} {_LY}{_STATE}\b",
    rf"{_SOURCE_THAT} only {_TREATS}\b.*, (?:and )?not\b",
    rf"(?:\bnot|n't) (?:something|anything|information|an? \w+) (?:that |which )?{_SOURCE_THAT} {_STATES}\b",
    rf"\b(?:nothing|none|neither) (?:in|of|from) {_SOURCE_THAT} {_STATES}\b",
    rf"\b(?:neither|no)(?: of the)? {_NOUN}(?: \w+){{0,2}} {_STATES}\b",
    rf"\b{_IS_NOT} (?:{_LY}{_STATED}(?: \w+){{0,2}} )?{_IN_SOURCE}\b",
    rf"\b(?:nowhere|not|nothing)(?: {_STATED}| to be found)? {_IN_SOURCE}\b",
    rf"\b{_DO_NOT} {_LY}(?:appear|occur|come up) {_IN_SOURCE}\b",
    rf"\b{_CANNOT} be {_LY}{_FOUND_OUT} {_IN_SOURCE}\b",
    rf"\b{_THERE_IS} (?:no|nothing|not|n't)\b.* {_IN_SOURCE}\b",
    rf"\bthere {_DO_NOT} (?:seem|appear) to be\b.* {_IN_SOURCE}\b",
    rf"\bno (?:\w+ ){{0,2}}{_INFORMATION}\b.* {_IN_SOURCE}\b",
    rf"\b(?:unclear|unknown|impossible|not possible|not clear)\b.* {any_of('from based_on in with')} {_SOURCE}\b",
    rf"\A{any_of('based_on from with given using in')} (?:any of )?{_SOURCE}\b.*\b"
    rf"(?:not possible|impossible|unclear|not clear|{_CANNOT} be {_LY}{_FOUND_OUT}|no (?:\w+ ){{0,2}}{_INFORMATION})\b",
    rf"\b(?:is|are|falls?|lies?|goes|go) (?:well )?(?:outside|beyond) (?:the scope of )?{_SOURCE}",
    rf"\b(?:missing|absent|omitted|left out) (?:from|of) {_SOURCE}",
    rf"{_SOURCE_THAT}.* (?:says?|tells?|mentions?) nothing\b",
    rf"\bnothing here {_STATES}\b",
)

_NO_INFORMATION = rf"{_SCARCE} (?:\w+ ){{0,2}}{_INFORMATION}"
_FINITE = any_of("is are was were be been has have had did does do could would can will came led made became went got")
_ELSEWHERE = rf"(?:in|by|from|to|at) (?!{_SOURCE}){any_of('the an? his her its their our')}"
_MATTER = rf"(?:{_WH}\b.*|(?:(?!(?:{_FINITE}|{_ELSEWHERE})\b)[\w'-]+,?(?: |\Z))*\b)"
_ON_IT = rf"(?: (?:about|on|regarding|concerning|as to|of|for) {_MATTER})?"
_TO_CONCLUDE = rf" to (?:{_ABLE}|conclude|draw|establish|support|make|judge)\b.*"
_END = rf"(?:{_TO_CONCLUDE}| (?:that|which) (?:says?|tells?|answers?|would|could)\b.*| here| above)?\Z"

_NEVER = rf"(?:\b{any_of('no not never none nothing neither nowhere without')}|n't)"
_REPORTED = rf"\b(?:according to|until|{_DOCUMENTS} (?:\w+ly )?{_REPORT}\b)"

#: Patterns of refusals in sentences without citations.
_UNNAMED = (
    rf"\A(?!.*{_REPORTED})(?=.*\b{_DOCUMENTS}).*{_NEVER} (?!only)(?:[\w'-]+ ){{0,4}}?{_STATING}\b",
    rf"\b{_THERE_IS} {_NO_INFORMATION}(?: {_STATED})?{_ON_IT}(?: {_STATED})?{_END}",
    rf"\bthere (?:is|are|was|were)n't (?:any|enough|sufficient) (?:\w+ )?{_INFORMATION}(?: {_STATED})?{_ON_IT}{_END}",
    rf"\A{_SORRY}?{_NO_INFORMATION}{_ON_IT}"
    rf"(?: (?:(?:is|was|are|were|could be|has been) )?{_LY}{_STATED})?{_ON_IT}{_END}",
    rf"\A{_SORRY}?no (?:relevant )?(?:{_NOUN}|results) (?:was|were|could be) found{_ON_IT}\Z",
    rf"\A{_SORRY}?(?:(?:it|this|that|these|the (?:question|answer)) )?{_CANNOT} be {_LY}{_FOUND_OUT}\Z",
    rf"\A{_SORRY}?{_ITS} (?:\w+ ){{1,3}}(?:cannot|can't) be {_LY}{_FOUND_OUT}\Z",
    rf"\b(?:question|answer) {_CANNOT} be {_LY}{_FOUND_OUT}\b",
    rf"\b{_IS_NOT} {_LY}(?:mentioned|specified|stated)\Z",
    rf"\b(?:is|are)(?: not|n't) {_LY}(?:given|disclosed|indicated)\Z",
    rf"\A{_SORRY}?it (?:is not|isn't) {_LY}(?:mentioned|specified|stated|said|disclosed|indicated) {_WH}\b",
    rf"\A{_SORRY}?(?:it|this|that)(?:'s| is| was| would be) {_LY}(?:impossible|not possible|hard|difficult) to "
    r"(?:determine|answer|say|tell|know)(?: for (?:sure|certain)| with certainty| from (?:this|that|here))?\Z",
    rf"\Awithout {any_of('more further additional any')} {_INFORMATION}\b.* (?:impossible|not possible|{_CANNOT})\b",
    rf"\A(?:more|further|additional) {_INFORMATION} (?:is|are|would be) (?:needed|required|necessary){_TO_CONCLUDE}\Z",
    rf"\A(?:the |this |that )?(?:{_INFORMATION} )?(?:is )?(?:not|un)[ -]?(?:{_STATED}|answerable|known)\Z",
    r"\A(?:n/a|no answers?|none given|nothing found|no results)\Z",
    rf"\bwe {_CANNOT} {_LY}{any_of('answer provide help assist')}\b",
    rf"\bwe {_CANNOT} {_LY}(?:find|locate) (?:anything|{_ITS} (?:\w+ )?{_INFORMATION})\b",
    rf"\bwe (?:do not|don't) (?:know|have (?:any |enough )?{_INFORMATION})\b",
    rf"\bwe have no (?:{_INFORMATION}|{any_of('idea knowledge access')})\b",
)

_DOKUMENTE = any_of("dokumente?n?s? kontexte?s? texte?n?s? quellen? textstellen? passagen?")
_DOKUMENTE_DER = rf"(?:die|der|den|diese|dieser) (?:\w+ ){{0,2}}{_DOKUMENTE}"
_FOREIGN = (
    # German
    r"\bich (?:weiß|weiss) (?:es |das |leider |dazu |auch )*nicht",
    r"\b(?:weiß|weiss) ich (?:es |das |leider |auch )*nicht",
    r"\b(?:ich (?:kann|konnte|habe|finde|fand|sehe)|(?:kann|konnte|habe|finde|fand|sehe) ich)\b.{0,80}\b"
    r"(?:nichts|nicht|keine\w* (?:\w+ )?\w+)(?: (?:dazu |darüber |hierzu |auf \w+ \w+ )?"
    r"(?:beantworten|finden|gefunden|sagen|beurteilen|vor)\b|\Z| (?:in|zu|zum|zur|über|darüber)\b)",
    rf"\b{_DOKUMENTE} .{{0,60}}\b(?:nichts?|keine\w*)\b(?: (?:\w+ )?"
    rf"{any_of('hervor erwähnt enthalten angaben auskunft informationen genannt angegeben beschrieben')}|\Z)",
    rf"\b(?:sagen|sagt|enthalten|enthält|nennen|nennt|erwähnen|erwähnt|steht|stehen)\b.{{0,40}}\b{_DOKUMENTE}\b"
    r".{0,40}\b(?:nichts|nicht|keine\w*)\b",
    rf"\b(?:frage|das|dies|es) .{{0,40}}\b(?:lässt sich|kann) .{{0,60}}\bnicht "
    rf"{any_of('beantworten beantwortet bestimmen bestimmt sagen feststellen ermitteln')}\b",
    r"\bkeine (?:\w+ )?(?:informationen|angaben) "
    rf"{any_of('zu zum zur über darüber dazu gefunden vorhanden verfügbar')}",
    rf"\breich\w* {_DOKUMENTE_DER} nicht(?: aus)?\b|\b{_DOKUMENTE_DER} reich\w* nicht\b",
    rf"\b(?:steht|stehen|findet sich|finden sich) .{{0,20}}(?:nichts|keine\w*)\b.{{0,40}}\b{_DOKUMENTE}",
    r"\A(?:leider )?keine ahnung\b",
    # Spanish
    r"\A(?:lo siento, )?(?:pero )?no (?:lo )?sé\b",
    r"\bno (?:puedo|pude|he podido) (?:encontrar|responder|determinar|proporcionar)",
    r"\bno (?:encontré|encuentro|he encontrado)\b.{0,40}\b(?:respuesta|información)",
    r"\bno hay (?:\w+ )?información\b",
    rf"\b{any_of('documentos? contexto textos? pasajes?')} .{{0,30}}no "
    rf"{any_of('menciona contiene proporciona dice especifica indica')}n?\b",
    # French
    r"\bje ne (?:le )?sais pas\b",
    r"\bje ne (?:peux|trouve|suis) pas (?:\w+ )?(?:répondre|trouver|en mesure|d'information)",
    r"\bje n'ai (?:pas |rien )?(?:pu )?trouvé?r?\b.{0,40}\b(?:réponse|information)",
    r"\baucune (?:information|mention)\b",
    rf"\b{any_of('documents? contexte textes? passages?')} .{{0,30}}ne "
    rf"{any_of('mentionne contient contiennent précise dit disent')}(?:nt)? pas\b",
    # Italian
    r"\bnon (?:lo )?so\b(?=\Z|[.,])",
    r"\bnon (?:ho trovato|riesco a trovare|posso (?:rispondere|trovare))\b",
    rf"\b{any_of('documenti contesto testi? passaggi fonti')} .{{0,30}}non "
    rf"{any_of('contien conten menzion specific indic dic forni')}\w*",
    # Portuguese
    r"\A(?:desculpe, )?(?:mas )?(?:eu )?não (?:o )?sei\b",
    r"\bnão (?:encontrei|consegui (?:encontrar|responder)|posso (?:encontrar|responder))\b",
    rf"\b{any_of('documentos? contexto textos? fontes?')} .{{0,30}}não "
    rf"{any_of('mencion cont[êé]m especific indic diz informa fornece')}\w*",
    # Dutch
    r"\bik weet het niet\b",
    r"\bik (?:kan|kon)\b.{0,60}\b(?:niet|geen \w+) (?:vinden|beantwoorden)",
    rf"\b{any_of('documenten context teksten bronnen')} .{{0,20}}\b(?:vermeld|noem|bevat|zeg|geef|geven)\w* "
    r".{0,30}\b(?:niet|niets|geen)\b",
    # Polish
    r"\bnie (?:wiem|znalazłe?a?m|(?:mogę|potrafię|umiem) (?:\w+ )?odpowiedzieć)\b",
    rf"\b{any_of('dokumenty? kontekst teksty? źródła')}\b.{{0,30}}\bnie "
    rf"{any_of('podaj wspomin zawier mówi określa')}\w*",
    # Russian
    r"\bя не (?:знаю|наш[ёе]л|нашла|(?:могу|смогу|смог|смогла) (?:\w+ )?(?:ответить|найти))\b",
    rf"\b{any_of('документа?ы?х? контексте? текста?е? источниках?')}\b.{{0,30}}\bне "
    rf"{any_of('указан упомин содерж сообща говор')}\w*",
    # Japanese and Chinese
    "(?:答え|回答|情報)[^。]{0,12}(?:見つかりません|ありません|見つけられません)",
    "(?:わかりません|分かりません|答えられません|記載(?:され|が|は)[^。]{0,6}(?:いません|ありません))",
    "我(?:不知道|无法回答|無法回答)|(?:找不到|没有找到|沒有找到|未找到)[^。]{0,12}(?:答案|信息|資訊|资料)",
    "(?:文档|文件|资料|上下文|文中)[^。]{0,10}(?:没有|沒有|未)(?:提到|提及|提供|说明|說明)",
)

#: A cheap pattern that every refusing sentence matches.
_HINT = re.compile(
    rf"n't|n'ai|\b(?:un(?:{_STATED}|answerable|answered|known|able|clear)|in(?:sufficient|adequate)|impossible|n/a)\b"
    rf"|\b{any_of('no not cannot refuse nothing nowhere none neither never silent lacks? omits? fails? without')}\b"
    rf"|\b{any_of('difficult hard too_little need(?:ed)? required necessary missing absent leaves? left omitted')}\b"
    rf"|\b{any_of('outside beyond nicht nichts keine[mnrs]? ne aucune non não niet geen nie не')}\b"
    "|[没沒未无無不]|ません"
)


_ANYWHERE, _UNCITED = re.compile(phrases(*_SPEAKERS, *_SOURCES, *_FOREIGN)), re.compile(phrases(*_UNNAMED))
_CONCESSION = re.compile(r"(?:although|though|while|even though|whereas)\b[^,]*, ")
_MAX_EXAMINED = 400

_ABOUT = any_of("""discuss focus cover deal talk describe concern mention contain are_about is_about do_not
    does_not""")
_INSTEAD, _MOSTLY = any_of("however instead but though rather"), "(?:only |mainly |mostly )?"
_ASIDE = re.compile(
    phrases(
        r"(?:(?:i'm |i am )?(?:very |so )?sorry|i apologi[sz]e|(?:my )?apologies|unfortunately)\Z",
        r"(?:(?:es )?tut mir leid|leider|(?:je suis )?désolée?|lo siento|mi dispiace|desculpe|het spijt me)\Z",
        r"(?:please|if you|let me know|feel free|i (?:recommend|suggest|can help)|you (?:may|might|could|can))\b",
        rf"(?:{_INSTEAD},? )?(?:they|it|these) {_MOSTLY}{_ABOUT}",
        rf"(?:{_INSTEAD},? )?{_SOURCE} {_MOSTLY}(?:{_ABOUT}|{_TREATS})",
        r"(?:bitte|wenn sie|por favor|veuillez|per favore)\b",
    )
)
_NEGATION = re.compile(rf"(?:not|nor|nothing|never|(?:do|does)(?: not|n't) {_STATE})\b")
_TURN = re.compile(r"[,;]?\s(?:but|however|though|aber|pero|mais|ma|mas)\s|;\s")
_QUOTED = re.compile(
    r"""\"[^\"]{1,200}\"|“[^”]{1,200}”|„[^“”]{1,200}[“”]|«[^»]{1,200}»
      |(?<!\w)['‘](?:[^'’]|(?<=\w)['’](?=\w)){1,200}['’](?!\w)""",
    re.VERBOSE,
)
_TITLE = re.compile(r"\b[A-Z][\w'’]*(?:\s[A-Z][\w'’]*){2,}")


def is_refusal_sentence(sentence: str, instructed: str = "", *, cited: bool = False) -> bool:
    """Whether a sentence states that the speaker or the sources have no answer, and nothing else.

    "I don't know." and "The documents do not say when." are refusals. A sentence that goes on to give information
    ("Although the text gives no date, it names the place.") is not, nor are quotations and titles. Covers English, and
    the most common forms in German, Spanish, French, Italian, Portuguese, Dutch, Polish, Russian, Japanese, Chinese.

    instructed: the refusal that the speaker was instructed to give, of which each sentence is one. cited: whether the
    sentence has citations besides the marks in it; "There is no mention of slavery" is then content of the source.
    """
    marks = citation_marks(sentence)
    bare = unmarked(sentence, (0, len(sentence)), marks)
    if instructed and _normalised(bare) in {_normalised(instructed[slice(*span)]) for span in sentences(instructed)}:
        return True  # up to case, spaces, citations and the full stop
    if not _HINT.search(_normalised(sentence)):
        return False
    wording = _CONCESSION.sub("", _without_quotations(bare), count=1)
    cited = cited or bool(marks)
    return _refuses(wording, cited) and all(
        _refuses(clause, cited) or _ASIDE.match(clause) or _NEGATION.match(clause) for clause in _TURN.split(wording)
    )


def _refuses(wording: str, cited: bool) -> bool:
    return bool(_ANYWHERE.search(wording) or (not cited and _UNCITED.search(wording)))


def _without_quotations(sentence: str) -> str:
    """The normalised sentence without quotations and titles, unless it has no other words."""
    for pattern in (_QUOTED, _TITLE):
        if any(map(str.isalnum, pattern.sub("", sentence))):
            sentence = pattern.sub("x", sentence)
    return _normalised(sentence)


def refusal(text: str, instructed: str = "") -> list[Span]:
    """The sentences by which a response declines to answer; none if it answers, even in part, or is empty.

    Apologies, advice and descriptions of what the documents are about may accompany them, without citations.
    """
    refuses = {span: is_refusal_sentence(text[slice(*span)], instructed) for span in sentences(text)}
    others = [text[slice(*span)] for span, refusing in refuses.items() if not refusing]
    if any(citation_marks(sentence) or not _ASIDE.match(_normalised(sentence)) for sentence in others):
        return []
    return [span for span, refusing in refuses.items() if refusing]


def _normalised(sentence: str) -> str:
    return " ".join(sentence[:_MAX_EXAMINED].replace("’", "'").lower().split()).strip(" .!\"'*。")
