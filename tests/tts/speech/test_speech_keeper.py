"""One task renews what every running request of the process holds."""

from tests.tts.speech.speech_fakes import ORDER, PRINCIPAL, Platform, held_by


async def test_renews_every_running_request(platform: Platform) -> None:
    service = platform.service
    async with (
        service.session(PRINCIPAL, ORDER, "One.", transport="test") as first,
        service.session(PRINCIPAL, ORDER, "Two.", transport="test") as second,
    ):
        await service.keeper.renew_all()
        assert sorted(platform.limiter.renewed) == sorted(
            [held_by(first.request_id), held_by(second.request_id)]
        )
    await service.keeper.renew_all()
    assert len(platform.limiter.renewed) == 2


async def test_lost_lease_is_taken_again(platform: Platform) -> None:
    service = platform.service
    async with service.session(PRINCIPAL, ORDER, "One.", transport="test") as speech:
        platform.leases.held.clear()
        platform.leases.lost = frozenset(
            {held_by(speech.request_id), held_by("req_ended_meanwhile")}
        )
        await service.keeper.renew_all()
        assert platform.leases.held == {("tone@1", held_by(speech.request_id))}
    platform.assert_nothing_left()


async def test_failing_renewal_does_not_stop_the_others(platform: Platform) -> None:
    async def refuse(version: str, request_ids: object) -> frozenset[str]:
        raise ConnectionError("redis")

    platform.leases.renew = refuse  # type: ignore[method-assign]
    async with platform.service.session(PRINCIPAL, ORDER, "One.", transport="test") as speech:
        await platform.service.keeper.renew_all()
        assert platform.limiter.renewed == [held_by(speech.request_id)]
