"""Floor 4: measuring judges on sets that people labelled."""

from ragauge.measure.measuring import Measured, measure
from ragauge.measure.thresholds import Fitted, fit_threshold, labelled_sets

__all__ = ["Fitted", "Measured", "fit_threshold", "labelled_sets", "measure"]
