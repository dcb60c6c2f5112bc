"""The embedded judge: rules, word lists and small tables, on the machine at hand, without a network."""
