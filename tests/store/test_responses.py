from __future__ import annotations

from ragauge.store import Store
from ragauge.types import Call, Identity, ModelResponse

SYSTEM = Identity("openai/m", (("temperature", "0"),))
LONG = ModelResponse("0a" * 16, "Tea is hot [1]. " * 100, SYSTEM, "call-1")
SHORT = ModelResponse("0b" * 16, "", SYSTEM)


def test_responses_are_read_back(place: str) -> None:
    """What is kept is found by its key in another process, with the call that brought it; what is not there is not."""
    with Store.open(place) as store:
        store.keep_responses([LONG, SHORT], [Call("call-1", model="m")])
    with Store.open(place) as store:
        assert store.find_responses([LONG.key, SHORT.key, "0c" * 16]) == {LONG.key: LONG, SHORT.key: SHORT}
        assert [call.id for call in store.calls()] == ["call-1"]


def test_the_first_response_stays(place: str) -> None:
    """A second response under a key does not replace the first."""
    with Store.open(place) as store:
        store.keep_responses([LONG])
        store.keep_responses([ModelResponse(LONG.key, "Another.", SYSTEM), SHORT])
        assert store.find_responses([LONG.key])[LONG.key] == LONG
