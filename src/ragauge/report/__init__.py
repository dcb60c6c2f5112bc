"""Floor 3: the report. It turns the record of a run and its samples into documents, tables and files."""
