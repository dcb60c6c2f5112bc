"""The report. It turns the record of a run and its samples into documents, tables and files."""
