"""Batches: the questions of a run, exported for a provider's batch and imported when they are answered.

export writes what is pending, importing reads results, sending drives the provider's endpoints; a Folder keeps what was
asked of whom, so that each can be killed and called again.
"""
