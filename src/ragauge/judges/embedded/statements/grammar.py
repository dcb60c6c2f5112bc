"""Closed classes of English words and the commonest verbs, as far as taking sentences apart needs them.

Facts of the language, written by hand. Where a form belongs to two classes, it stands in the one that splits less.
"""

from __future__ import annotations

PRONOUNS = frozenset("he she it they we you i this these those".split())
POSSESSIVES = frozenset("his her its their my our your".split())
DETERMINERS = frozenset("the a an this these those some any each every another several many all both".split())
PREPOSITIONS = frozenset(
    """of in on at by for with from to into onto near under over through during between among against about
    after before since until throughout across along around behind beyond despite inside outside within
    without toward towards upon via per like as than following including""".split()
)
SUBORDINATE = frozenset(
    """that whether if because although though when whenever while who whom whose which where wherever unless
    whereas what how why whoever whatever lest once till so""".split()
)
JOINING = frozenset("and but yet while whereas so though although".split())
CONNECTIVES = frozenset(
    """however additionally also furthermore moreover therefore thus hence consequently meanwhile nevertheless
    nonetheless finally overall indeed similarly likewise besides instead then later subsequently eventually""".split()
)
ADVERBS = CONNECTIVES | frozenset(
    """now still soon once often usually always sometimes never ever already even just again first last
    originally initially currently formerly typically generally mainly mostly primarily widely twice today
    not""".split()
)
NEGATIVE = frozenset("not no never none nobody nothing neither nor cannot hardly barely scarcely rarely seldom".split())

PLURAL_AUXILIARIES = frozenset("are were have do aren't weren't haven't don't".split())
SINGULAR_AUXILIARIES = frozenset("is was has does isn't wasn't hasn't doesn't".split())
#: Singular nouns that look like plurals.
SINGULAR = frozenset("series species means news bus basis analysis crisis class glass boss process address".split())
BE = frozenset("is are was were".split())
HAVE = frozenset("has have had".split())
DO = frozenset("does do did".split())
MODALS = frozenset("will would can could may might must shall should".split())
PAST_AUXILIARIES = frozenset("was were had did".split())
AUXILIARIES = BE | HAVE | DO | MODALS | PLURAL_AUXILIARIES | SINGULAR_AUXILIARIES | frozenset(
    "cannot can't couldn't won't wouldn't didn't hadn't shouldn't".split()
)  # fmt: skip

#: Past forms that are never participles.
PAST = frozenset(
    """arose ate awoke became began bit blew broke came chose drank drew drove fell flew forbade forgot forgave
    froze gave grew hid knew overcame overtook overthrew oversaw ran rang rode rose sang sank saw shook
    shrank spoke sprang stole strode swam swore threw took tore underwent undertook went withdrew woke wore
    wrote""".split()
)
#: Irregular forms that are past and participle.
PAST_OR_PARTICIPLE = frozenset(
    """bought brought built caught fed fled fought found gained got heard held kept laid led left lent lost made
    meant met paid rebuilt said sent shot slept sold sought spent spun stood struck stuck swept taught
    thought told understood won""".split()
)
#: Past forms that are as often something else.
UNCHANGED_PAST = frozenset("beat bet burst cost cut felt hit hurt let put quit read set shut split spread".split())
PARTICIPLES = frozenset(
    """beaten begun bitten blown born borne broken chosen done drawn driven drunk eaten fallen flown forbidden
    forgotten frozen given gone grown hidden known mistaken overthrown proven ridden risen seen sewn shaken
    shown spoken stolen sung sunk sworn taken thrown torn withdrawn woken worn woven written been""".split()
)
_NOT_PAST = frozenset(
    """hundred sacred naked wicked indeed infrared kindred hatred embed united unprecedented so-called beloved
    rugged ragged crooked aged supposed limited talented gifted skilled interested experienced red sled shed
    watershed bloodshed""".split()
)

#: Verbs in the third person that are hardly ever nouns, and those that may be.
THIRD = frozenset(
    """achieves adds allows applies appears approves argues arises asks aims assumes attends attracts avoids
    becomes begins believes belongs brings carries chooses collects comes combines comprises connects
    considers consists contains continues converts creates defeats defines delivers depicts depends derives
    describes destroys determines develops differs discovers discusses divides emerges employs enables
    encourages ensures enters establishes exists expands explains explores extends follows gets gives goes
    grows happens hears helps identifies illustrates improves includes incorporates indicates informs
    inherits involves joins keeps knows learns loses maintains makes manages meets operates occurs opposes
    organizes owns participates pays performs prefers prevents proceeds produces prohibits promises promotes
    prevails protects proves provides publishes realizes receives reduces refers reflects refuses regulates
    relates relies remains replaces represents requires resembles resides responds retains reveals says seeks
    seems sells sends sits specializes speaks spends suggests survives takes teaches tells tends thinks
    threatens tries understands uses varies wants wears writes""".split()
)
THIRD_OR_NOUN = frozenset(
    """answers attacks calls causes changes claims contracts costs covers cuts decreases drives ends falls
    features fights finds focuses forces forms functions guides heads holds hosts houses increases influences
    issues kills lacks lands leads leaves lies limits links lists lives looks marks means measures moves
    names needs notes offers opens plans plays points practices presents ranges reads ranks reaches records
    reports returns rises rules runs serves sets shares shows spans stands starts states stays stops stores
    studies supports tests trains travels treats turns visits votes warns wins works""".split()
)
#: Base forms that are hardly ever nouns, which after a plural are finite verbs: "otters eat fish".
PLURAL_VERBS = frozenset(
    """absorb achieve add affect agree allow appear apply argue arise arrive assume attend avoid become begin
    believe belong breathe bring build burn buy carry choose combine come compete comprise connect consider
    consist consume contain continue contribute convert cooperate create deliver depend derive describe
    destroy determine develop die differ disappear discuss distribute eat elect emerge employ enable
    encourage enjoy ensure enter establish evolve exist expand explain explore extend follow generate get
    give go grow happen help hibernate identify illustrate improve include incorporate indicate inhabit
    inherit inhibit involve join keep know lay learn live lose maintain make manage meet migrate multiply
    obtain occupy occur operate oppose organize originate participate perform persist possess prefer prevent
    proceed produce promote prove provide publish pursue receive recognize reduce refer reflect refuse
    regulate rely remain remove repel represent require resemble reside respond retain reveal say seek seem
    sell send sing sit speak specialize spend store suggest surround survive swim take teach tell tend think
    thrive transmit understand undergo utilize vary wear weigh write""".split()
)
#: Verbs in their base form: after a modal, and at the head of an instruction.
BASES = frozenset(
    """add adjust allow apply ask avoid be become begin bring build buy call change check choose clean click
    close connect consider contact contain continue create cut decide delete describe develop disconnect do
    drain draw eat enable enter explain export fill find follow get give go have help hold import improve
    include increase install keep lead learn leave let lift list look lose lower make meet move note offer
    open pay perform place plan plug prepare press prevent produce protect provide pull push put reach read
    reboot receive reduce refer register remove repeat replace require reset restart return rinse run save
    see select sell send serve set show speak start stop store support take tell try turn unplug update use
    visit wait walk want wash wear wipe write""".split()
)

#: Past forms of verbs without an object: after "was born in Rome and" they begin a phrase of their own.
INTRANSITIVE = frozenset(
    """appeared arrived attended collapsed collaborated competed consisted debuted died disappeared drowned
    emerged emigrated enlisted enrolled fled graduated immigrated lasted lived migrated moved originated
    participated performed played relocated remained resided resigned retired returned served settled starred
    stayed studied traveled travelled worked""".split()
)
#: Participles that after "was" continue the passive where a preposition or nothing follows.
PASSIVE = frozenset(
    """abandoned abolished acquired adapted adopted altered annexed approved arranged arrested assassinated
    assembled attributed baptized based beheaded bought brought built buried canceled cancelled captured
    caused certified charged classified closed commissioned completed composed condemned confirmed connected
    constructed controlled converted convicted created cremated cultivated cut decorated defeated demolished
    deported deposed derived described designed destroyed developed directed discontinued discovered
    displayed dissolved distributed divided edited educated eliminated enacted established evacuated
    exhibited executed exiled expanded exported extracted filmed financed fined followed forced formed
    founded funded governed grouped hanged held hospitalized identified imported imprisoned inaugurated
    incorporated influenced injured inspired installed introduced invented jailed killed kidnapped knighted
    launched led located made maintained managed manufactured marketed murdered nominated organized owned
    painted patented performed planned planted praised preserved produced promoted protected provided
    published raised rebuilt recorded rediscovered rejected released removed renovated replaced required
    rescued restored revised ruled seized sentenced shaped shipped shot situated sold sponsored staffed
    stored supported surrounded tested torn trained transferred translated transmitted transported treated
    unveiled used""".split()
)
#: Participles behind a comma that tell what was done to something, and those that tell what it is like for as long.
TELLING = (PASSIVE - {"adapted", "arranged", "forced", "torn", "used", "required", "praised"}) | frozenset(
    "born written headquartered known called named considered regarded".split()
)  # fmt: skip
LASTING = frozenset(
    """located situated based headquartered known called named considered regarded composed derived surrounded
    connected used maintained owned governed divided""".split()
)
#: Participles that may have a noun phrase behind them in the passive: "was named the capital".
NAMING = frozenset(
    """appointed asked assigned awarded called considered created crowned declared deemed elected given granted
    labeled labelled made named nominated offered paid proclaimed promised renamed sent shown taught told
    termed titled voted dubbed""".split()
)


def is_past(lower: str) -> bool:
    """Whether a word may be a past form that is also a participle."""
    if lower in PAST_OR_PARTICIPLE:
        return True
    regular = len(lower) > 3 and lower.endswith("ed") and lower not in _NOT_PAST and "-" not in lower
    return regular and (not lower.endswith("eed") or lower in ("agreed", "freed", "guaranteed", "disagreed"))


def is_adverb(lower: str) -> bool:
    """Whether a word is an adverb that may stand between a subject and its verb."""
    return lower in ADVERBS or (lower.endswith("ly") and len(lower) > 4 and lower not in ("family", "only", "italy"))


#: Nouns for people that do not show it by their ending.
_PEOPLE = frozenset(
    """woman women man men people person king queen president prince princess friend friends student students
    child children son sons boy girl wife husband graduate chief general monk nun priest poet judge expert
    coach athlete nurse pilot critic model captain politician lawyer parents couple uncle aunt cousin baby
    native knight bishop pope duke lord lady saint champion architect chef clerk diplomat dean merchant
    monarch immigrant veteran surgeon sculptor heir servant assistant scientist colleague""".split()
)
_NOT_PEOPLE = frozenset(
    """number paper letter water power matter center winter summer order member corner chapter computer
    newspaper river tower color colour factor sector major minor error motor quarter theater theatre harbor
    labor honor manner border cover offer answer gender fever cancer butter silver copper master career
    december october november september former latter other another rather whether together either neither
    under over after never ever however further later earlier older younger larger smaller higher lower
    greater better proper her per customer consumer user meter interior exterior superior prior senior junior
    his this list first last most best west east test rest process business success address access""".split()
)  # fmt: skip
_PERSONAL_ENDINGS = ("ist", "ists", "ian", "ians", "er", "ers", "or", "ors", "ess")


def is_person(lower: str) -> bool:
    """Whether a noun may be one for a person: it is listed, or ends as such nouns do."""
    if lower in _PEOPLE:
        return True
    ends = lower.endswith(_PERSONAL_ENDINGS) and len(lower) > 4
    return ends and lower not in _NOT_PEOPLE and lower.removesuffix("s") not in _NOT_PEOPLE
