"""Having language models answer the questions of a data set from its documents."""
