"""Floor 4: measuring judges on sets that people labelled."""

from ragauge.measure.figures import Against, Measured, adjusted
from ragauge.measure.measuring import measure
from ragauge.measure.thresholds import Fitted, fit_threshold, labelled_sets

__all__ = ["Against", "Fitted", "Measured", "adjusted", "fit_threshold", "labelled_sets", "measure"]
