"""Code inside a text, as a pattern: what stands in it is no prose."""

from __future__ import annotations

#: A fenced block or a span in backticks; to be compiled with re.DOTALL.
CODE = r"```.*?```|`[^`\n]*`"
