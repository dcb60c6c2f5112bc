"""Floor 0: the nouns. Plain frozen data; nothing here asks, computes over a data set, reads or writes."""
