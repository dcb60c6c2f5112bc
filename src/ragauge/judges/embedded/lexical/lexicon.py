"""Small closed tables of English: function words, irregular forms, nationalities, synonyms, antonyms, negation, months.

All are written by hand, as facts of the language; none is drawn from a data set.
"""

from __future__ import annotations

from functools import cache

FUNCTION_WORDS = frozenset(
    """
    a an the this that these those there here it its he him his she her hers they them their theirs we us our
    ours i me my mine you your yours who whom whose which what when where why how and or but if then than as at
    by for from in into of on onto to with within about over under between among through during per via upon is
    are was were be been being am do does did done doing has have had having will would shall should can could
    may might must ought also too very just so such both each any some other own same s t ve re ll d m up out
    off while because although though however thus therefore hence whether ever even still yet already again
    once itself himself herself themselves myself yourself one ones etc according accord say says
    said note notes mention mentions mentioned provide provided passage context contexts text document article
    information based base certain particular various likely typically generally usually often commonly actually
    indeed well like as please
    """.split()
)

NEGATIONS = frozenset(
    "not no never none nobody nothing nowhere neither nor without cannot hardly barely scarcely nt".split()
)

TITLES = frozenset(
    """president king queen prince princess emperor empress pope mister mrs ms miss lord lady sir dame dr doctor
    professor judge general captain colonel senator governor duke count baron chancellor minister""".split()
)

AUXILIARIES = frozenset(
    """
    is are was were am do does did has have had will would shall should can could may might must isn aren wasn
    weren don doesn didn hasn haven hadn won wouldn shouldn couldn can't
    """.split()
)

QUESTION_WORDS = frozenset("who whom whose which what when where why how".split())

MONTHS = {
    **{
        name: name
        for name in """january february march april may june july august september october november december""".split()
    },
    **dict(
        pair.split("=")
        for pair in """jan=january feb=february mar=march apr=april jun=june jul=july aug=august sep=september
        sept=september oct=october nov=november dec=december""".split()
    ),
}
MONTH_NAMES = frozenset(MONTHS.values())

FACTIVES = "know notice realize forget remember understand aware".split()
"""Words of which a negation leaves standing what follows: "she did not know that it was late"."""

_IRREGULAR = """
be am is are was were been being; have has had; do does did done; go goes went gone; say said; make made; get got
gotten; take took taken; come came; see saw seen; know knew known; give gave given; find found; think thought; tell
told; become became; leave left; feel felt; bring brought; begin began begun; keep kept; hold held; write wrote
written; stand stood; hear heard; mean meant; meet met; run ran; pay paid; sit sat; speak spoke spoken; lead led;
read; grow grew grown; lose lost; fall fell fallen; send sent; build built; understand understood; draw drew drawn;
break broke broken; spend spent; rise rose risen; drive drove driven; buy bought; wear wore worn; choose chose
chosen; win won; teach taught; catch caught; fight fought; sell sold; seek sought; deal dealt; throw threw thrown;
fly flew flown; eat ate eaten; sing sang sung; swim swam swum; sink sank sunk; sleep slept; steal stole stolen;
strike struck stricken; swear swore sworn; tear tore torn; forget forgot forgotten; forgive forgave forgiven; freeze
froze frozen; hide hid hidden; ride rode ridden; ring rang rung; shake shook shaken; shoot shot; show showed shown;
shrink shrank shrunk; beat beaten; bite bit bitten; blow blew blown; breed bred; feed fed; flee fled; lay laid; lie
lay lain; lend lent; light lit; overcome overcame; overthrow overthrew overthrown; prove proved proven; bind bound;
bear bore born borne; dig dug; dream dreamt; drink drank drunk; withdraw withdrew withdrawn; undergo underwent
undergone; arise arose arisen; awake awoke awoken; wake woke woken; weave wove woven; wind wound; stick stuck; sweep
swept; swing swung; spring sprang sprung; spin spun; shine shone; learn learnt; burn burnt; bleed bled; bend bent;
cling clung; creep crept; kneel knelt; leap leapt; spell spelt; spill spilt; spoil spoilt; weep wept; wring wrung;
undertake undertook undertaken; mistake mistook mistaken; foresee foresaw foreseen; child children; man men; woman
women; person people persons; foot feet; tooth teeth; mouse mice; goose geese; wife wives; life lives; leaf leaves;
half halves; wolf wolves; knife knives; criterion criteria; datum data; phenomenon phenomena; analysis analyses;
basis bases; crisis crises; thesis theses; index indices; medium media; good better best; bad worse worst; far
farther further farthest; large larger largest; big bigger biggest; mitochondrion mitochondria; bacterium bacteria;
nucleus nuclei; fungus fungi; cactus cacti; alumnus alumni; vertebra vertebrae; hypothesis hypotheses; stimulus stimuli;
larva larvae; antenna antennae; formula formulae; matrix matrices; vertex vertices; axis axes; oasis oases; diagnosis
diagnoses; ovum ova; spectrum spectra; curriculum curricula; stratum strata; radius radii; genus genera; appendix
appendices; ox oxen; louse lice
"""

_NATIONALITIES = """
germany german germans; france french; italy italian italians; spain spanish spaniard spaniards; england english;
britain british briton britons; scotland scottish scots scot; wales welsh; ireland irish; america american
americans; russia russian russians; china chinese; japan japanese; india indian indians; canada canadian canadians;
mexico mexican; brazil brazilian; australia australian australians; austria austrian; switzerland swiss; sweden
swedish swede swedes; norway norwegian; denmark danish dane danes; finland finnish finn finns; poland polish pole
poles; netherlands dutch; belgium belgian; portugal portuguese; greece greek greeks; turkey turkish turk turks;
egypt egyptian; israel israeli; iran iranian; iraq iraqi; korea korean koreans; vietnam vietnamese; thailand thai;
indonesia indonesian; malaysia malaysian; pakistan pakistani; ukraine ukrainian; hungary hungarian; romania
romanian; bulgaria bulgarian; serbia serbian; croatia croatian; cuba cuban; chile chilean; peru peruvian; argentina
argentine argentinian; colombia colombian; venezuela venezuelan; nigeria nigerian; kenya kenyan; ethiopia ethiopian;
morocco moroccan; algeria algerian; tunisia tunisian; libya libyan; syria syrian; lebanon lebanese; jordan
jordanian; afghanistan afghan; philippines filipino philippine; singapore singaporean; taiwan taiwanese; europe
european europeans; africa african africans; asia asian asians; arctic; iceland icelandic; estonia estonian; latvia
latvian; lithuania lithuanian; czechia czech; slovakia slovak; slovenia slovenian slovene; albania albanian; bosnia
bosnian; cyprus cypriot; malta maltese; nepal nepalese nepali; bangladesh bangladeshi; uganda ugandan; ghana
ghanaian; senegal senegalese; zimbabwe zimbabwean; jamaica jamaican; haiti haitian; bolivia bolivian; ecuador
ecuadorian; paraguay paraguayan; uruguay uruguayan; rome roman romans; texas texan; california californian;
scandinavia scandinavian; sicily sicilian; venice venetian; paris parisian
"""

_SYNONYMS = """
buy purchase acquire acquisition; begin start commence; end finish conclude; film movie; near close nearby; large big
huge; small little tiny; help aid assist assistance; show demonstrate reveal; use utilize employ; need require
necessity; get obtain receive; get gain; keep retain; choose select pick; answer reply response; mistake error; fast
quick rapid; important significant crucial vital essential key; many numerous several multiple; main primary principal
chief; allow permit enable; stop cease halt; build construct construction; die death dead decease; kill murder; child
kid; car automobile vehicle; doctor physician; job occupation profession; author writer; company firm corporation;
country nation; city town; ocean sea; road street; illness disease sickness; method technique approach; benefit
advantage; problem issue; result outcome; cause reason; aim goal objective purpose; type kind sort; part portion;
amount quantity; area region; difficult hard; easy simple; rich wealthy; famous renowned; attend go; talk speak; look
appear; think believe; want desire; try attempt; happen occur; live reside; job employment; earn make; create produce;
destroy ruin; repair fix mend; describe depict; contain include comprise; lessen decrease reduce decline drop;
increase rise grow growth; wed marry marriage; film movie; located situate location; about approximately roughly
around; movie picture; currently presently; annual yearly year; monthly month; weekly week; daily day; percent
percentage; attorney lawyer; baby infant; teenager adolescent; weapon arm; assist support; start launch; agree
consent; argue contend; assert claim; photo photograph; phone telephone; tv television; football soccer; autumn fall;
deep depth; long length; wide width; high height; strong strength; hot heat
"""

_NICKNAMES = """
william bill billy; robert bob bobby; elizabeth liz beth lizzie; richard dick rick; james jim jimmy; john jack johnny;
thomas tom tommy; joseph joe; michael mike mick; daniel dan danny; david dave; edward ed eddie ted; charles charlie
chuck; margaret maggie peggy meg; katherine kate kathy; catherine kate cathy; alexander alex; samuel sam; benjamin ben;
anthony tony; andrew andy; christopher chris; matthew matt; nicholas nick; stephen steve; steven steve; jennifer jen
jenny; rebecca becky; susan sue; patricia pat patty; barbara barb; deborah debbie; donald don; kenneth ken; ronald ron;
timothy tim; gregory greg; jeffrey jeff; lawrence larry; leonard leo; theodore ted teddy; walter walt; abraham abe;
albert al; alfred alf; frederick fred; gerald gerry; harold hal; henry harry; jacob jake; jonathan jon; joshua josh;
philip phil; raymond ray; vincent vince; victoria vicky
"""

_ANTONYMS = """
increase decrease; rise fall; up down; more less; more fewer; before after; first last; win lose; above below; high
low; higher lower; highest lowest; early late; earlier later; old new; old young; older younger; oldest youngest;
north south; east west; northern southern; eastern western; left right; open close; start end; begin end; buy sell;
accept reject; accept refuse; allow prohibit; allow forbid; allow ban; include exclude; agree disagree; approve
reject; best worst; better worse; large small; larger smaller; largest smallest; long short; longer shorter; strong
weak; stronger weaker; positive negative; gain loss; profit loss; success failure; succeed fail; true false; safe
dangerous; rich poor; hot cold; warm cool; wet dry; fast slow; faster slower; alive dead; male female; man woman;
boy girl; husband wife; father mother; son daughter; brother sister; king queen; maximum minimum; major minor;
majority minority; public private; always never; all none; love hate; like dislike; heavy light; heavier lighter;
hard easy; deep shallow; wide narrow; thick thin; strengthen weaken; improve worsen; improve deteriorate; expand
contract; expand shrink; enter exit; arrive depart; arrive leave; remember forget; permit forbid; legal illegal;
import export; upper lower; inside outside; ancient modern; guilty innocent; victory defeat; ally enemy; attack
defend; day night; morning evening; full empty; often rarely; frequently rarely; common rare; appear disappear;
raise lower; support oppose; encourage discourage; possible impossible; present absent; temporary permanent;
voluntary mandatory; optional mandatory; necessary unnecessary; healthy sick; good bad; happy sad; beautiful ugly;
clean dirty; cheap expensive; add remove; add subtract; borrow lend; create destroy; divorce marry; exceed miss;
outperform underperform; overweight underweight; plural singular; quiet loud; tall short; taller shorter; vacant
occupied; visible invisible; winner loser; stand sit
"""


def _groups(table: str) -> list[list[str]]:
    return [group.split() for group in table.split(";")]


@cache
def irregular_forms() -> dict[str, str]:
    """Inflected form to base form."""
    return {form: base for base, *forms in _groups(_IRREGULAR) for form in forms if form != base}


@cache
def nationalities() -> dict[str, str]:
    """Word for the people or the language to the country."""
    return {form: country for country, *forms in _groups(_NATIONALITIES) for form in forms}


@cache
def synonyms() -> dict[str, frozenset[str]]:
    """Word to the words that may stand in its place, itself left out; first names in short too. Not transitive."""
    return _related(f"{_SYNONYMS};{_NICKNAMES}")


@cache
def antonyms() -> dict[str, frozenset[str]]:
    """Word to its opposites."""
    return _related(_ANTONYMS)


def _related(table: str) -> dict[str, frozenset[str]]:
    related: dict[str, frozenset[str]] = {}
    for group in _groups(table):
        for word in group:
            related[word] = related.get(word, frozenset()) | (frozenset(group) - {word})
    return related
