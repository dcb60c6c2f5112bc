"""LLM judges: questions packed into few calls, replies checked, over any transport."""
