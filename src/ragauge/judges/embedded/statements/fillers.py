"""Fillers: greetings, announcements, offers of help and labels, which assert nothing."""

from __future__ import annotations

import re

from ragauge.judges.embedded.statements.frames import SOURCE, SUPPLIED
from ragauge.text.patterns import any_of, phrases

_ASSENT = phrases(
    any_of("""sure sure_thing certainly of_course absolutely definitely okay ok alright all_right got_it no_problem
        understood with_pleasure gerne? natürlich klar claro claro_que_sí por_supuesto bien_sûr volontiers"""),
    r"(?:that's an? )?(?:very )?(?:great|good|excellent|interesting) question",
)
_GREETING = (
    any_of("""hi hello hey greetings welcome good_morning good_afternoon good_evening good_day hallo guten_tag
        guten_morgen guten_abend hola buenos_días bonjour salut""")
    + rf"(?:[\s,]+{any_of('there everyone all again team to_you')})?"
)
_SALUTATIONS = (
    rf"{any_of('hi hello hey hallo hola bonjour')}(?: \w+){{1,2}}[,!]",
    r"dear .{1,60}[,!:]",
)
_CLOSINGS = (
    r"(?:(?:best|kind|warm|many) )?regards",
    any_of("sincerely sincerely_yours yours_truly yours_sincerely yours_faithfully cheers bye goodbye take_care"),
    r"good luck(?: (?:with|on|in)\b.*)?",
    r"have an? (?:great|nice|good|wonderful|lovely)(?: \w+){1,3}",
    r"(?:viele grüße|mit freundlichen grüßen)",
    r"\[[^\]]*\]",
)
_THANKS = (
    rf"{any_of('thanks many_thanks thank_you danke gracias merci')}"
    rf"(?:,? {any_of('for so very in and für por pour')}\b.*)?",
    any_of("you're_welcome you_are_welcome my_pleasure"),
)
_OFFERS = (
    r"(?:please )?(?:let me know|feel free|(?:don't|do not) hesitate)\b.*",
    r"(?:i'm|i am|i'd be|i would be|i'll be|we're|we are) (?:always )?(?:happy|glad|here) to"
    rf" {any_of('help assist provide answer do explain')}\b.*",
    r"i can help (?:you )?with that\b.*",
    r"if (?:you(?:'d)?|there)\b.*\b(?:let me know|feel free|(?:do not|don't) hesitate|just ask|ask away)\b.*",
    r"(?:i )?hope (?:this|that|it|these)(?: \w+){0,3} (?:helps?|helped|finds?|answers?|clarif\w+|useful|helpful)\b.*",
    r"(?:wenn|falls) (?:sie|du) (?:weitere |noch )?fragen\b.*",
    r"ich hoffe,? (?:das|dies) hilft\b.*",
    r"espero que (?:esto|te|le)\b.*",
    r"(?:j'espère que (?:cela|ça)|n'hésitez pas)\b.*",
)
_SYMPATHIES = (
    r"sorry",
    r"(?:i'm|i am) (?:so |very |really )?sorry(?: (?:to hear|for (?:the|any|your|my))\b.*)?",
    r"i (?:sincerely )?apologi[sz]e(?: for\b.*)?",
    r"my apologies(?: for\b.*)?",
    r"i (?:completely )?understand your (?:frustration|concerns?|situation|question)\b(?!.*\bbut\b).*",
)
_THINGS = any_of("""answers? summary list overview response explanation breakdown examples? information details
    points steps facts version translation draft results? features reasons ways instructions comparison takeaways
    highlights findings""")
_BEGIN = any_of("explain break see think help start walk take_a_look go_through summarize begin")
_ANNOUNCEMENTS = (
    rf"(?:so,? |now,? )?here(?:'s| is| are) (?:\w+ ){{0,3}}{_THINGS}"
    rf"(?: {any_of('to of for from based_on about in on that')}\b[^:]*:?)?",
    r"here(?:'s| is| are) (?:what (?:i|you|we)\b[^:]*:?|why|how)",
    any_of("here_it_is here_you_go here_you_are here_we_go as_follows for_example for_instance that_said"),
    r"in the following (?:cases|ways|order|table)",
    rf"(?:based on|according to|from|given|using) (?:the |your |these |this )?(?:\w+ ){{0,3}}{SOURCE}"
    rf"(?: {SUPPLIED}| you \w+)?(?:, (?:here\b[^:]*:?|the answer is|the following(?: \w+)? (?:is|are)))?",
    rf"(?:the )?{_THINGS} (?:is|are)(?: as follows| the following| (?:listed |shown |given )?below)?",
    r"(?:to|in) (?:answer your question|summar\w+|sum up|conclu\w+|short|other words|brief|addition)",
    rf"(?:let me|let's|i will|i'll) {_BEGIN}\b[^:]*:?",
    rf"{any_of('hier_ist hier_sind aquí_está aquí_están aquí_tienes? voici')}\b[^:]*:",
    any_of("or and but however therefore also additionally"),
)
_LABELS = (
    r"(?:the )?(?:final |short |direct |detailed )?"
    + any_of("""answer summary conclusion explanation overview notes? sources? references? citations? response
        introduction example key_points key_takeaways key_facts details background antwort quellen respuesta fuentes
        réponse conclusión zusammenfassung résumé""")
    + ":",
    r"step \d+:",
)
_LINK = r"(?:[<(]|\[[^\]]*\]\()?https?://[^\s>)]+[>)]?"
_PAGES = any_of("""documentation docs guides? manual pages? websites? links? articles? sections? tutorials? reference
    resources? chapters? faq""")
_FURTHER = r"for (?:more|further|additional|full) (?:\w+ )?(?:information|details|examples|help|guidance)\b[^.]*,"
_POINTER = re.compile(
    phrases(
        rf"(?:{any_of('sources? links? urls? references? see see_also')}:? )?{_LINK}",
        rf"(?:{_FURTHER} )?(?:please |you can |also |and )*(?:see|refer to)(?: also)? .*\b(?:{_PAGES}|{_LINK})\b.*",
        rf"{_FURTHER} (?:please |you can )*{any_of('see check consult visit read refer_to')} .*",
    )
)
_WHOLES = (*_SALUTATIONS, *_CLOSINGS, *_THANKS, *_OFFERS, *_SYMPATHIES, *_ANNOUNCEMENTS, *_LABELS)
_OPENING = phrases(_ASSENT, _GREETING)
_FILLER = re.compile(rf"(?:{_OPENING}[\s,.!;–—-]*(?:and )?)*(?:{phrases(_OPENING, *_WHOLES)})?")
_DIGIT = re.compile(r"\d")
_STEP = re.compile(r"\W*step ", re.IGNORECASE)
_LONGEST = 240


def is_filler(sentence: str) -> bool:
    """Is the whole sentence a greeting, thanks, announcement, offer or label ("Sure!", "Here is the answer:")?"""
    if is_pointer(sentence):
        return True
    if len(sentence) > _LONGEST or (_DIGIT.search(sentence) and not _STEP.match(sentence)):
        return False
    plain = " ".join(sentence.replace("’", "'").lower().split()).strip(" *_#\"'")
    bare = plain.rstrip(".!,;:")
    return bool(bare) and any(_FILLER.fullmatch(form) for form in (plain, bare))


def is_pointer(sentence: str) -> bool:
    """Does the whole sentence only send the reader elsewhere ("See the documentation.", a link)?"""
    return bool(_POINTER.fullmatch(" ".join(sentence[:_LONGEST].lower().split()).rstrip(".!,;: ")))
