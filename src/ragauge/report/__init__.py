"""Floor 3: the report. From the record of a run and its samples to a document, a table, a file. It asks nobody."""
