"""What an engine asks of its step loop."""

import pytest

from tts.engines.chattts.generation import Generation
from tts.engines.chattts.loop import StepLoop


def joined_noted(monkeypatch: pytest.MonkeyPatch) -> list[Generation]:
    """Filled with every generation that joins a loop from now on, in their order."""
    found: list[Generation] = []
    join = StepLoop.join

    def noted(loop: StepLoop, generation: Generation) -> int:
        found.append(generation)
        return join(loop, generation)

    monkeypatch.setattr(StepLoop, "join", noted)
    return found
