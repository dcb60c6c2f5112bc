"""Floor 4: measuring judges on sets that people labelled."""

from ragauge.measure.measuring import Measured, measure

__all__ = ["Measured", "measure"]
