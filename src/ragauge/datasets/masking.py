"""Personal data in texts, masked by the pattern recognizers of Microsoft Presidio: without a model, and offline."""

from __future__ import annotations

from functools import cache
from typing import Any

from ragauge.host import optional

#: Of Presidio's recognizers, those whose patterns alone say enough.
_RECOGNIZED = "Phone Iban CreditCard Ip MacAddress UsSsn".split()
#: The least score of what is masked; Presidio gives telephone numbers 0.4.
_LEAST_SCORE = 0.4


def masked(text: str) -> str:
    """The text with the kind of each personal datum in its place, as in "<EMAIL_ADDRESS>".

    Found are e-mail addresses, telephone numbers, IBANs, card numbers, IP and MAC addresses, and social security
    numbers of the United States; names and addresses of people are not. Raises MissingExtra without presidio-analyzer.
    """
    findings = [
        finding
        for recognizer in recognizers()
        for finding in recognizer.analyze(text, recognizer.supported_entities, None)
        if finding.score >= _LEAST_SCORE
    ]
    pieces, end = list[str](), 0
    for finding in sorted(findings, key=lambda finding: (finding.start, -finding.end)):
        if finding.start >= end:
            pieces += [text[end : finding.start], f"<{finding.entity_type}>"]
        end = max(end, finding.end)
    return "".join([*pieces, text[end:]])


@cache
def recognizers() -> list[Any]:
    """Presidio's recognizers. Raises MissingExtra."""
    presidio = optional("masking personal data", "masking", "presidio_analyzer.predefined_recognizers")
    email = presidio.EmailRecognizer()
    email.validate_result = lambda _: None  # the pattern decides; the library's own check downloads a list of domains
    return [email, *(getattr(presidio, f"{name}Recognizer")() for name in _RECOGNIZED)]
