"""Judging by decisions endpoints, which answer typed questions with probabilities and write no text."""
