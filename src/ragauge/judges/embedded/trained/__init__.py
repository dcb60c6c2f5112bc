"""The trained heart: entailment, relevance and toxicity with a small model."""
