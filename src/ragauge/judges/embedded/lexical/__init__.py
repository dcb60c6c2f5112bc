"""The lexical heart: entailment and relevance from words alone."""
