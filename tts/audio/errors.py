"""Errors of the audio package.

AudioError
├── UnsupportedFormat      no such audio format
├── UnsupportedSampleRate  the format does not take this sample rate
├── UnsupportedBitrate     the format does not take this bitrate
├── InvalidSamples         audio that is not whole, finite, mono samples
├── InvalidSetting         a speed, gain or length that is out of range
├── SilentAudio            audio without anything to measure
├── AudioUnreadable        a recording in no format that can be read
├── AudioTooLong           a recording longer than is taken
├── EncodingFailed         the codec library reported a failure
└── StreamFinished         used after it was finished or closed
"""


class AudioError(Exception):
    """Base of all audio errors; the message says what is allowed."""


class UnsupportedFormat(AudioError):
    """There is no such audio format."""


class UnsupportedSampleRate(AudioError):
    """The format does not take this sample rate."""


class UnsupportedBitrate(AudioError):
    """The format does not take this bitrate."""


class InvalidSamples(AudioError):
    """The audio is not whole, finite, mono samples."""


class InvalidSetting(AudioError):
    """A speed, gain or length is out of range."""


class SilentAudio(AudioError):
    """The audio has nothing that could be measured."""


class AudioUnreadable(AudioError):
    """A recording is in no format that can be read."""


class AudioTooLong(AudioError):
    """A recording is longer than is taken."""


class EncodingFailed(AudioError):
    """The codec library reported a failure."""


class StreamFinished(AudioError):
    """A stream was used after it was finished or closed."""
