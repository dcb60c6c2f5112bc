"""The public names and their modules, for `ragauge.lazy` and type checkers."""

from ragauge.statistics.agreement import auc as auc
from ragauge.statistics.agreement import balanced_accuracy as balanced_accuracy
from ragauge.statistics.agreement import calibration_error as calibration_error
from ragauge.statistics.agreement import corrected_mean as corrected_mean
from ragauge.statistics.agreement import kappa as kappa
from ragauge.statistics.agreement import spearman as spearman
from ragauge.statistics.intervals import Interval as Interval
from ragauge.statistics.intervals import aggregate_interval as aggregate_interval
from ragauge.statistics.intervals import mean_interval as mean_interval
from ragauge.statistics.paired import Paired as Paired
from ragauge.statistics.paired import detectable as detectable
from ragauge.statistics.paired import holm as holm
from ragauge.statistics.paired import paired_aggregate as paired_aggregate
from ragauge.statistics.paired import paired_mean as paired_mean
from ragauge.statistics.ranking import bradley_terry as bradley_terry

__all__: list[str]
