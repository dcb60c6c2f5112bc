"""The embedded judge's answer to Decompose: a text as statements, by rules and word lists."""
