"""Human labels on a run: what to label next, sessions, scores that follow, and the agreement of judge and people."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import cache, cached_property
from itertools import combinations
from typing import NamedTuple, cast

import msgspec

from ragauge.errors import UnknownName, UsageError
from ragauge.metrics.base import DatasetMetric, Measure
from ragauge.metrics.registry import registered_metrics
from ragauge.needs.base import Rounds
from ragauge.questions import Judgment, Question, invalid_reason, judgment_key
from ragauge.report.explain import chooser
from ragauge.report.wording import counted, number, with_interval
from ragauge.run.asking import NOBODY
from ragauge.run.judge_error import stored_judgments
from ragauge.run.results import Run
from ragauge.scores import Better, Evidence, RunRecord, SampleRecord, Score
from ragauge.statistics.agreement import corrected_mean, kappa_interval
from ragauge.statistics.intervals import Interval, mean_interval
from ragauge.store import Store, label, opinions, settled
from ragauge.store.recording import MEAN, person_of
from ragauge.types import PEOPLE, Answer, Failure, Grade, Label, Verdict

_TWO_WAY = (Label.ENTAILED, Label.NOT_ENTAILED)


class LabelPair(NamedTuple):
    """The answers of judge and people to one question. sample: the position of its sample."""

    question: Question
    judge: Answer
    people: Answer
    sample: int


class Agreement(msgspec.Struct, frozen=True):
    """The agreement of judge and people on n questions of one kind; `apart` is for grades.

    table: (judge's answer, people's answer, count).
    """

    kind: str
    n: int
    samples: int
    raw: Interval
    kappa: Interval | None
    apart: float | None
    table: tuple[tuple[str, str, int], ...]


def _agreements(pairs: Sequence[LabelPair]) -> list[Agreement]:
    kinds = dict.fromkeys(pair.question.kind for pair in pairs)
    return [_agreement([pair for pair in pairs if pair.question.kind == kind]) for kind in kinds]


def _agreement(pairs: Sequence[LabelPair]) -> Agreement:
    """The agreement on questions of one kind; samples are clusters. For a two-way judge people's labels are reduced."""
    two_way = any(isinstance(pair.judge, Verdict) and pair.judge.two_way for pair in pairs)
    possible = _TWO_WAY if two_way else tuple(pairs[0].question.labels.values())
    names = [(_label_name(pair.judge, two_way), _label_name(pair.people, two_way)) for pair in pairs]
    clusters = [str(pair.sample) for pair in pairs]
    both = ((pair.judge, pair.people) for pair in pairs)
    grades = [abs(a.value - b.value) for a, b in both if isinstance(a, Grade) and isinstance(b, Grade)]
    return Agreement(
        kind=pairs[0].question.kind,
        n=len(pairs),
        samples=len(set(clusters)),
        raw=mean_interval([float(judge == people) for judge, people in names], clusters=clusters),
        kappa=None if grades else kappa_interval(names, possible, clusters=clusters),
        apart=sum(grades) / len(grades) if grades else None,
        table=tuple((judge, people, times) for (judge, people), times in sorted(Counter(names).items())),
    )


def _label_name(answer: Answer, two_way: bool) -> str:
    if isinstance(answer, Grade):
        return f"{answer.value:g}"
    assert isinstance(answer, Verdict)
    if two_way and answer.label is not Label.ENTAILED:
        return Label.NOT_ENTAILED
    # A person who only saw that support is missing has not called the claim contradicted.
    return Label.NEUTRAL if answer.label is Label.NOT_ENTAILED else answer.label


class LabelSummary(msgspec.Struct, frozen=True):
    """A metric by the judge alone, and corrected by labels: the estimated mean that people would give all samples.

    drawn: number drawn at random and labelled in full; counted: those of them with a score by judge and people.
    """

    better: Better
    judge: Interval
    corrected: Interval
    samples: int
    labelled: int
    drawn: int
    counted: int
    agreement: tuple[Agreement, ...]


class PeopleSummary(NamedTuple):
    """Several people's labels of a metric.

    questions: how many it has. counts: how many each person answered. agreement: of each two people, by kind of
    question. differing: the questions on which people differ and nobody has decided, by key; undecided: how many of
    them have no majority.
    """

    questions: int
    counts: dict[str, int]
    agreement: dict[tuple[str, str], list[Agreement]]
    differing: dict[str, Question]
    undecided: int

    def lines(self) -> Iterator[str]:
        """The same in words; nothing for fewer than two people."""
        if len(self.counts) > 1:
            yield (
                ", ".join(f"{person} {count} of {self.questions}" for person, count in self.counts.items())
                + " questions"
            )
            for pair, agreements in self.agreement.items():
                yield from (f"  {' and '.join(pair)}: {_agreement_words(agreement)}" for agreement in agreements)
            without = f" ({self.undecided} without a majority, left out of the figures)" if self.undecided else ""
            yield f"  {counted(len(self.differing), 'difference')} to decide{without}: ragauge label --differences"


class LabelItem(NamedTuple):
    """By metric, the keys of the judgments of a sample that it counts, and how informative a label of one is."""

    every: frozenset[str]
    keys: dict[str, tuple[str, ...]]
    yields: dict[str, float]
    group: str | None


def _item(record: SampleRecord) -> LabelItem:
    every = frozenset(piece.judgment for pieces in record.evidence.values() for piece in pieces if piece.judgment)
    item = LabelItem(every, {}, {}, record.sample.group)
    for metric, score in record.scores.items():
        needs = [_pieces_to_label(need, record.evidence.get(need, ())) for need in score.evidence]
        keys = tuple(dict.fromkeys(piece.judgment for pieces in needs for piece in pieces))
        if keys:
            weights = ((pieces, len({piece.judgment for piece in pieces})) for pieces in needs if pieces)
            doubt = sum(sum(piece.doubt for piece in pieces) / len(pieces) * weight for pieces, weight in weights)
            item.keys[metric], item.yields[metric] = keys, doubt / len(keys) ** 2
    return item


def _pieces_to_label(need: str, pieces: Sequence[Evidence]) -> list[Evidence]:
    """The judged pieces of a need; of a pair of texts one order by chance, as keys are hashes, so that none leads."""
    judged = [piece for piece in pieces if piece.judgment]
    return sorted(judged, key=lambda piece: piece.judgment)[:1] if need.startswith("compared_with(") else judged


class HumanLabels:
    """The human labels of a store. by: only this person's; "" for everybody's.

    opinions: what people say, by question. questions: the same questions, by the keys that their judgments have in the
    run. labels: those that count, by question. blind: by key, those that count of the labels given without seeing the
    judge's verdict, on this data. answered: the keys of all that were; chance: those of samples drawn at random.
    """

    def __init__(self, store: Store, run: RunRecord, by: str = "") -> None:
        def own(labels: Iterable[Judgment]) -> list[Judgment]:
            return [label for label in labels if by in ("", person_of(label))]

        given_labels = own(store.labels())
        self.opinions = opinions(given_labels)
        self.labels = settled(self.opinions)
        of_blind = opinions(own(store.labels(blind=run.data_hash)))
        drawn = {label.question for label in own(store.labels(blind=run.data_hash, chance=True))}
        self.questions: dict[str, Question] = {}
        for stored in given_labels:
            question, keys = stored.question, [stored.key]
            if judge := run.judge_of(question.topic):
                keys.append(judgment_key(question, judge))
            if isinstance(stored.answer, Grade):
                keys.append(label(question, stored.answer, MEAN).key)
            self.questions |= dict.fromkeys(keys, question)
        blind = settled(of_blind)
        self.blind = {key: blind[question] for key, question in self.questions.items() if question in blind}
        self.answered = {key for key, question in self.questions.items() if question in of_blind}
        self.chance = {key for key, question in self.questions.items() if question in drawn}


class SampleDraw(msgspec.Struct, frozen=True):
    """A sample to label: its position in the run, and whether it was drawn at random or as most informative."""

    position: int
    at_random: bool


class LabelPiece(msgspec.Struct, frozen=True):
    """A piece of evidence to label, with all texts of its question, and the answers of judge and people so far."""

    evidence: Evidence
    question: Question
    judge: Answer | None
    label: Judgment | None


_UNKNOWN = Failure("not_stored", "the store holds no answer to a question that the labels raise")


class Labelling:
    """Human labels on an ended run (else UsageError). Its records are read once, the store's labels on every call."""

    def __init__(self, run: Run) -> None:
        if run.record.status == "running":
            raise UsageError(f"run {run.id} has not ended; label it when it has")
        self.run = run
        self._store = run.store

    @cached_property
    def metrics(self) -> list[str]:
        """The metrics over samples that count judgments; first the one that chooses the worst samples."""
        first = chooser(self.run.record)
        counting = dict.fromkeys(metric for item in self._items for metric in item.keys)
        return sorted(counting, key=lambda metric: metric != first)

    def metric(self, wanted: str | None = None) -> str:
        """`wanted`, or the first of `metrics`. Raises UnknownName if `wanted` counts no judgments."""
        if not self.metrics:
            raise UsageError(f"run {self.run.id} has no metric over samples that counts judgments; nothing to label")
        if wanted is not None and wanted not in self.metrics:
            raise UnknownName("metric with judgments in this run", wanted, self.metrics)
        return wanted or self.metrics[0]

    def next(
        self, metric: str, skipped: Collection[int] = (), by: str = "", differing: bool = False
    ) -> SampleDraw | None:
        """The next sample to label, if any: one at random, and in turn one where a label is expected to settle most.

        by: whose labels count as done; "" for anybody's. differing: only samples in which people differ.
        """
        human, keys = self._human(by), self._keys(metric)
        if differing:
            apart = self.people(metric).differing.keys()
            left = [position for position, judgments in keys.items() if not apart.isdisjoint(judgments)]
            return next((SampleDraw(position, False) for position in left if position not in skipped), None)
        complete = {position for position, judgments in keys.items() if human.answered.issuperset(judgments)}
        left = [position for position in keys if position not in skipped and position not in complete]
        if not left or len(complete) >= (self.run.record.to_label or len(keys)):
            return None
        informative = max(left, key=lambda position: self._items[position].yields[metric])
        by_chance = len(complete.intersection(_drawn_by_chance(keys, human)))
        if informative == left[0] or by_chance <= len(complete) - by_chance:
            return SampleDraw(left[0], True)
        return SampleDraw(informative, False)

    def people(self, metric: str) -> PeopleSummary:
        """Who has labelled how many questions of a metric, how far people agree, and where they differ."""
        place_of = {key: position for position, judgments in self._keys(metric).items() for key in judgments}
        human = self._human()
        labelled = {key: question for key, question in human.questions.items() if key in place_of}
        latest = {key: human.opinions[question].latest for key, question in labelled.items()}
        differing = {key: question for key, question in labelled.items() if human.opinions[question].disputed}
        counts = Counter(person for said in latest.values() for person in said)
        pairs = {}
        for pair in combinations(sorted(counts), 2):
            both = [
                LabelPair(first.question, cast(Answer, first.answer), cast(Answer, second.answer), place_of[key])
                for key, said in latest.items()
                if (first := said.get(pair[0])) and (second := said.get(pair[1]))
            ]
            if both:
                pairs[pair] = _agreements(both)
        undecided = sum(question not in human.labels for question in differing.values())
        return PeopleSummary(len(place_of), dict(counts), pairs, differing, undecided)

    def asked(self, labels: Iterable[Judgment]) -> int:
        """How many of these labels, which the store has, answer a question of the run."""
        keys = {key for item in self._items for key in item.every}
        questions = {question for key, question in self._human().questions.items() if key in keys}
        return sum(judgment.question in questions for judgment in labels)

    def pieces(self, position: int, metric: str, by: str = "", first: str = "") -> list[LabelPiece]:
        """The judged pieces of one metric of a sample, each question once, in the order of the evidence.

        by: whose labels are shown; "" for what everybody's come to, after that of the person `first`.
        """
        record = self._store.sample(self.run.id, position)
        wanted = self._items[position].keys.get(metric, ())
        shown = {piece.judgment: piece for piece in record.score(metric).evidence if piece.judgment in wanted}
        labels = self._human(by).labels | (self._human(first).labels if first else {})
        everybody = self._human().questions
        questions = {key: everybody[key] for key in shown if key in everybody}
        questions |= {key: judgment.question for key, judgment in self._store.find(list(shown)).items()}
        judged = self._judged(questions.values())
        return [
            LabelPiece(piece, question, _answer(judged.get(question)), labels.get(question))
            for key, piece in shown.items()
            if (question := questions.get(key)) is not None
        ]

    def open(self, drawn: SampleDraw, metric: str, by: str = "", differing: bool = False) -> list[LabelPiece]:
        """The pieces of a drawn sample that have no blind label yet, or on which people differ; see `next`."""
        pieces = self.pieces(drawn.position, metric, by)
        if differing:
            apart = set(self.people(metric).differing.values())
            return [piece for piece in pieces if piece.question in apart]
        human = self._human(by)
        answered = {human.questions[key] for key in human.answered}
        return [piece for piece in pieces if piece.question not in answered]

    def keep(
        self, question: Question, answer: Answer, by: str, drawn: SampleDraw | None = None, decides: bool = False
    ) -> None:
        """Store a person's answer.

        drawn: how the sample was drawn; None if the judge's verdict had been shown. decides: whether the answer settles
        a difference of people.
        """
        blind = self.run.record.data_hash if drawn else ""
        judgment = label(question, answer, by, decides)
        self._store.keep_labels([judgment], blind=blind, chance=bool(drawn and drawn.at_random))

    def scores(self, position: int) -> dict[str, Score]:
        """The scores of a sample with human labels in place of the judge's answers, without evidence."""
        return self._by_people(position, self._human().labels)

    def summaries(self, metrics: Sequence[str] = (), by: str = "") -> dict[str, LabelSummary]:
        """The judge's score, the score corrected by human labels, and the agreement, of these metrics or of all.

        by: whose labels count; "" for everybody's.
        """
        human = self._human(by)
        labels = {**human.labels, **{label.question: label for label in human.blind.values()}}
        by_people = cache(lambda position: self._by_people(position, labels))
        return {metric: self._summary(metric, human, by_people) for metric in metrics or self.metrics}

    def _summary(
        self, metric: str, human: HumanLabels, by_people: Callable[[int], Mapping[str, Score]]
    ) -> LabelSummary:
        measure = next((measure for measure in self._measures if metric in measure.values), None)
        scale = (0.0, 1.0) if measure is None else measure.scale
        by_judge, keys = self._by_judge(metric), self._keys(metric)
        drawn = _drawn_by_chance(keys, human)
        complete = [place for place in drawn if human.blind.keys() >= set(keys[place])]
        values = {place: by_people(place)[metric].value for place in complete if place in by_judge} if measure else {}
        people = {place: value for place, value in values.items() if value is not None}
        rest = [place for place in by_judge if place not in people]
        corrected = corrected_mean(
            list(people.values()),
            [by_judge[place] for place in people],
            [by_judge[place] for place in rest],
            scale=scale,
            clusters=self._groups(people),
            rest_clusters=self._groups(rest),
        )
        estimate = self.run.estimates[metric]
        judge = Interval(estimate.value, estimate.low, estimate.high, estimate.method)
        if self._given and measure is not None:
            judge = mean_interval(list(by_judge.values()), scale=scale, clusters=self._groups(by_judge))
        return LabelSummary(
            estimate.better,
            judge,
            corrected,
            samples=len(by_judge),
            labelled=sum(not human.questions.keys().isdisjoint(judgments) for judgments in keys.values()),
            drawn=len(complete),
            counted=len(people),
            agreement=tuple(_agreements(self._pairs(keys, human, drawn))),
        )

    def _human(self, by: str = "") -> HumanLabels:
        return HumanLabels(self._store, self.run.record, by)

    @cached_property
    def _items(self) -> list[LabelItem]:
        return list(map(_item, self.run.records()))

    @cached_property
    def _order(self) -> list[int]:
        """All positions in random order, seeded by the data: the same in all runs over the same data."""
        positions = list(range(len(self._items)))
        random.Random(self.run.record.data_hash).shuffle(positions)
        return positions

    def _keys(self, metric: str) -> dict[int, tuple[str, ...]]:
        """By position, in random order, the keys of the judgments that a metric counts; of samples that have any."""
        items = ((position, self._items[position].keys) for position in self._order)
        return {position: keys[metric] for position, keys in items if metric in keys}

    def _groups(self, positions: Iterable[int]) -> list[str | None] | None:
        groups = [self._items[position].group for position in positions]
        return groups if any(group is not None for group in groups) else None

    def _judged(self, questions: Iterable[Question]) -> dict[Question, Judgment]:
        return stored_judgments(questions, self.run.record.judge_of, self._store)

    def _pairs(self, keys: Mapping[int, tuple[str, ...]], human: HumanLabels, drawn: Sequence[int]) -> list[LabelPair]:
        """The answers of judge and people to the questions of samples drawn at random, each question once."""
        places: dict[str, int] = {}
        for position in drawn:
            for key in keys[position]:
                if key in human.blind:
                    places.setdefault(key, position)
        labels = {key: human.blind[key] for key in places}
        judged = self._judged(label.question for label in labels.values())
        return [
            LabelPair(label.question, judge, label.answer, places[key])
            for key, label in labels.items()
            if (judge := _answer(judged.get(label.question))) is not None
            if not isinstance(label.answer, Failure)
        ]

    @cached_property
    def _measures(self) -> list[Measure]:
        """The run's metrics over samples that the catalogue has; others cannot be scored again."""
        return [measure for measure in registered_metrics(self.run.record) if not isinstance(measure, DatasetMetric)]

    @cached_property
    def _given(self) -> set[str]:
        """The keys of evidence whose answers were human labels given with the run."""
        if not (self.run.record.labelled or self.run.record.to_label):  # of a window it is not counted
            return set()
        keys = {key for item in self._items for key in item.every}
        judged = self._store.find(list(keys))
        return {key for key in keys if key not in judged or judged[key].judge.name == PEOPLE}

    @cached_property
    def _alone(self) -> dict[int, dict[str, Score]]:
        """The judge's own scores of the samples that the run scored with human labels."""
        affected = (position for position, item in enumerate(self._items) if not self._given.isdisjoint(item.every))
        return {position: self._scores(self._store.sample(self.run.id, position), {}) for position in affected}

    def _by_judge(self, metric: str) -> dict[int, float]:
        """The judge's own score of each sample that has one, even if the run was made with human labels."""
        values = self.run.values(metric)
        for position, scores in self._alone.items():
            if score := scores.get(metric):
                values[position] = score.value
        return {position: value for position, value in enumerate(values) if value is not None}

    def _by_people(self, position: int, labels: Mapping[Question, Judgment]) -> dict[str, Score]:
        """The scores of a sample with these labels and with those that the run was made with."""
        record = self._store.sample(self.run.id, position)
        stored = self._store.find(list(self._given & self._items[position].every))
        return self._scores(record, {**{judgment.question: judgment for judgment in stored.values()}, **labels})

    def _scores(self, record: SampleRecord, labels: Mapping[Question, Judgment]) -> dict[str, Score]:
        """The scores without evidence, failed if a judgment is not known; without metrics over the data set."""
        rounds = Rounds(record.sample, [need for metric in self._measures for need in metric.needs])
        while questions := rounds.questions:
            judgments = self._judged(questions)
            judgments |= {question: labels[question] for question in questions if question in labels}
            rounds.advance({q: judgments.get(q) or Judgment(q, _UNKNOWN, NOBODY, "") for q in questions})
        scores: dict[str, Score] = {}
        for metric in self._measures:
            scores |= metric.scores({need.name: rounds.outcomes[need.name] for need in metric.needs})
        return scores


def _drawn_by_chance(keys: Mapping[int, tuple[str, ...]], human: HumanLabels) -> list[int]:
    """The samples up to the last one drawn at random, in random order, whether they are labelled in full or not.

    Samples labelled for another reason count once the random order has passed them, or when everything is labelled.
    """
    seen: set[str] = set()
    last = -1
    for rank, judgments in enumerate(keys.values()):
        if any(key in human.chance and key not in seen for key in judgments):
            last = rank
        seen.update(judgments)
    return list(keys) if seen <= human.answered else list(keys)[: last + 1]


def _answer(judgment: Judgment | None) -> Answer | None:
    return None if judgment is None or isinstance(judgment.answer, Failure) else judgment.answer


def parse_answer(question: Question, typed: str) -> Answer:
    """The answer that was typed: a grade is a number, a verdict one key.

    For entailment, numbers of the texts it holds for and further keys may follow: "s 1 c 3". Raises UsageError.
    """
    answer = question.typed_answer(typed)
    if fault := invalid_reason(question, answer):
        raise UsageError(f"the answer does not fit the question: {fault}")
    return answer


def summary_lines(summaries: Mapping[str, LabelSummary]) -> Iterator[str]:
    """The judge's score, the corrected score and the agreement, metric by metric."""
    for metric, summary in summaries.items():
        if not summary.labelled:
            continue
        yield f"{metric}: judge {with_interval(summary.judge)} over {counted(summary.samples, 'sample')}"
        yield f"  corrected by people: {corrected_words(summary)}"
        yield from (f"  {_agreement_words(agreement)}" for agreement in summary.agreement)


def corrected_words(summary: LabelSummary) -> str:
    """The corrected score with its interval, or why there is none yet."""
    if summary.corrected.value is None:
        return "not yet; it needs samples drawn at random and labelled in full"
    return f"{with_interval(summary.corrected)}, from {counted(summary.counted, 'sample')} drawn at random"


def _agreement_words(agreement: Agreement) -> str:
    """Raw agreement and kappa, or for grades the mean difference, with the number of questions."""
    raw = f"raw agreement {with_interval(agreement.raw)} on {counted(agreement.n, 'question')} ({agreement.kind})"
    if agreement.apart is not None:
        return f"{raw}, grades differ by {number(agreement.apart)} on average"
    if agreement.kappa is None or agreement.kappa.value is None:
        return f"{raw}, kappa undefined: both always gave the same label"
    return f"{raw}, kappa {with_interval(agreement.kappa)}"
