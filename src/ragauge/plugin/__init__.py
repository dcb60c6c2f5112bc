"""The pytest plugin: a fixture `ragauge` for tests of a system that answers; see docs/ci.md.

pytest loads this module in every session, so it imports nothing else before a test asks. PYTEST_DONT_REWRITE
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from ragauge.plugin.scoring import Scoring


@pytest.fixture(name="ragauge")
def scoring(request: pytest.FixtureRequest) -> Scoring:
    """Measure a system: `ragauge.assert_scores(data, {"faithfulness": 0.8})`, and `ragauge.evaluate(data)`."""
    from ragauge.plugin.scoring import Scoring

    properties = request.node.user_properties  # the fixture `record_property` warns under pytest's default xunit2
    return Scoring(lambda name, value: properties.append((name, value)))
