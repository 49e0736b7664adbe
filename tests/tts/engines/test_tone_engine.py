"""The tone engine's modes, costs and failures."""

import json
import time

import pytest

from tests.tts.engines.tone_bench import JsonShards, ToneBench, joined
from tts.engine.errors import SynthesisFailed, VersionUnavailable
from tts.engine.request import Profile
from tts.engines.base import Device, EngineKind
from tts.engines.tone.engine import ToneEngine


def test_a_step_gives_every_row_its_audio() -> None:
    bench = ToneBench(mode="step", step_seconds=0.1)
    assert bench.engine.traits.kind is EngineKind.STEP
    assert bench.engine.traits.step_seconds == 0.1
    rows = [bench.prepare("abcdefghij"), bench.prepare("abc")]
    results = bench.engine.step(rows)
    assert [len(r.audio) for r in results] == [2_400, 2_400]
    assert [r.finished for r in results] == [False, False]
    (last,) = [r for r in bench.engine.step(rows) if r.finished]
    assert (last.utterance_id, len(last.audio)) == (rows[1].utterance_id, 1_920)


def test_a_paused_row_goes_on_where_it_was() -> None:
    bench = ToneBench()
    (whole,) = bench.sound(bench.prepare("abcdefghij"))
    row, other = bench.prepare("abcdefghij"), bench.prepare("zzzzzzzzzz")
    first = bench.engine.step([row])
    bench.engine.step([other])
    rest = bench.speak(row)[row.utterance_id]
    assert joined([*first, *rest]).tolist() == whole.tolist()


def test_a_step_costs_what_the_settings_say() -> None:
    bench = ToneBench(cost_ms=5.0, row_cost_ms=1.0, audio_cost_ms=10.0, step_seconds=0.1)
    bench.engine.step([bench.prepare(), bench.prepare()])
    assert bench.spent == [pytest.approx(0.005 + 0.002 + 0.002)]


def test_a_call_costs_what_the_settings_say() -> None:
    bench = ToneBench(
        mode="utterance", cost_ms=5.0, row_cost_ms=1.0, audio_cost_ms=10.0, character_seconds=0.1
    )
    bench.speak(bench.prepare("x" * 15))
    assert bench.spent == [pytest.approx(0.006), pytest.approx(0.010), pytest.approx(0.005)]
    bench.engine.close()


def test_utterances_that_come_together_are_one_call() -> None:
    bench = ToneBench(mode="utterance", batches=True, cost_ms=5.0, row_cost_ms=1.0)
    results = bench.speak(*(bench.prepare() for _ in range(4)))
    assert bench.engine.traits.batches
    assert bench.spent[0] == pytest.approx(0.009)
    assert len([s for s in bench.spent if s]) == 1
    assert all(rows[-1].finished for rows in results.values())
    bench.engine.close()


@pytest.mark.parametrize(
    "config", [{"mode": "step"}, {"mode": "utterance"}, {"mode": "utterance", "batches": True}]
)
def test_failures_are_asked_for_by_style(config: dict[str, object]) -> None:
    bench = ToneBench(**config)
    with pytest.raises(SynthesisFailed):
        bench.prepare(style="fail:prepare")
    bad, good, silent = (
        bench.prepare(style="fail:row"),
        bench.prepare(),
        bench.prepare(style="silent"),
    )
    results = bench.speak(bad, good, silent)
    assert isinstance(results[bad.utterance_id][-1].error, SynthesisFailed)
    assert len(joined(results[good.utterance_id])) > 0
    assert results[silent.utterance_id][-1].finished
    assert len(joined(results[silent.utterance_id])) == 0
    bench.engine.close()


def test_a_whole_step_can_be_made_to_fail() -> None:
    bench = ToneBench()
    with pytest.raises(RuntimeError):
        bench.engine.step([bench.prepare(), bench.prepare(style="fail:step")])


def test_a_whole_call_can_be_made_to_fail() -> None:
    bench = ToneBench(mode="utterance", batches=True)
    results = bench.speak(bench.prepare(), bench.prepare(style="fail:step"))
    assert all(isinstance(rows[-1].error, SynthesisFailed) for rows in results.values())
    bench.engine.close()


def test_a_released_utterance_is_forgotten() -> None:
    for config in ({"mode": "step"}, {"mode": "utterance"}):
        bench = ToneBench(**config)
        gone, kept = bench.prepare("x" * 50), bench.prepare("abc")
        bench.engine.step([gone, kept])
        bench.engine.release(gone)
        results = bench.speak(kept)
        assert set(results) == {kept.utterance_id}
        assert not bench.engine._position
        assert not bench.engine._sound
        assert not bench.engine._calls
        bench.engine.close()


def test_a_released_call_ends_when_nobody_wants_it() -> None:
    bench = ToneBench(mode="utterance", batches=True, audio_cost_ms=1.0)
    members = [bench.prepare("x" * 30) for _ in range(2)]
    bench.engine.step(members)
    bench.engine.release(members[0])
    (rest,) = bench.sound(members[1])
    assert len(rest) > 0
    members = [bench.prepare("x" * 30) for _ in range(2)]
    bench.engine.step(members)
    for member in members:
        bench.engine.release(member)
    assert not bench.engine._calls
    bench.engine.close()


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (b"{", "config shard"),
        (b"[]", "JSON object"),
        (json.dumps({"speed": 1}).encode(), "'speed' is not one of mode"),
        (json.dumps({"cost_ms": "1"}).encode(), "cost_ms must be a float"),
        (json.dumps({"cost_ms": True}).encode(), "cost_ms must be a float"),
        (json.dumps({"batches": 1}).encode(), "batches must be a bool"),
        (json.dumps({"cost_ms": -1}).encode(), "cost_ms must not be negative"),
        (json.dumps({"step_seconds": 0}).encode(), "step_seconds must be above 0"),
        (json.dumps({"mode": "fast"}).encode(), "step or utterance"),
        (json.dumps({"mode": "step", "batches": True}).encode(), "step mode batches always"),
    ],
)
def test_wrong_settings_are_named(config: bytes, message: str) -> None:
    with pytest.raises(VersionUnavailable, match=message):
        ToneEngine().load(JsonShards(config), Device(), Profile.STANDARD, lambda: None)


def test_an_empty_shard_means_the_defaults() -> None:
    engine = ToneEngine()
    engine.load(JsonShards(b""), Device(), Profile.HQ, lambda: None)
    assert engine.traits.languages == ("zh", "en")


@pytest.mark.parametrize("busy", [True, False])
def test_cost_is_computed_or_waited(busy: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    waited: list[float] = []
    monkeypatch.setattr("tts.engines.tone.engine.time.sleep", waited.append)
    engine = ToneEngine()
    shards = JsonShards(json.dumps({"cost_ms": 2.0, "busy": busy}).encode())
    engine.load(shards, Device(), Profile.STANDARD, lambda: None)
    began = time.perf_counter()
    engine.step([])
    computed = time.perf_counter() - began
    assert computed >= 0.002 if busy else waited == [0.002]
