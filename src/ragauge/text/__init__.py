"""Floor 0: pure text processing: tokens, sentences, citations, refusals, and overlap metrics."""
