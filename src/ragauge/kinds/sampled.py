"""The texts of plain questions, which `ragauge.testing` asks."""

QUERY = "When was the lighthouse built?"
RESPONSE = "The lighthouse was built in 1901. It is 30 metres high."
CHUNKS = ("The lighthouse was built in 1901 by two brothers.", "The lighthouse is 28 metres high.")
