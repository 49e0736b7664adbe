"""Every metric of the platform, by name, once. Labels are bounded: no tenant text, no ids.

Buckets fit what is measured: first audio is wanted within 0.5 s, a step takes
milliseconds, a batch holds a handful of rows.
"""

from prometheus_client import Counter, Gauge, Histogram

REQUESTS = Counter(
    "voicehost_requests_total",
    "Speech requests that ended, by how.",
    ("transport", "model", "version", "tier", "outcome"),
)
FAILURES = Counter(
    "voicehost_failures_total", "Speech requests that failed, by error code.", ("code",)
)
FIRST_AUDIO = Histogram(
    "voicehost_first_audio_seconds",
    "From the request to its first audio, in the web process.",
    ("model", "tier"),
    buckets=(0.02, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10),
)
DURATION = Histogram(
    "voicehost_request_seconds",
    "From the request to its end.",
    ("model", "tier"),
    buckets=(0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60, 120, 300, 600),
)
RTF = Histogram(
    "voicehost_real_time_factor",
    "Seconds the engine spent on a request, per second of its audio.",
    ("model", "tier"),
    buckets=(0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 1.0, 1.2, 1.5, 2, 3, 10),
)
AUDIO = Counter("voicehost_audio_seconds_total", "Audio delivered.", ("model", "tier"))
CHARACTERS = Counter("voicehost_characters_total", "Characters spoken.", ("model", "tier"))
STAGE = Histogram(
    "voicehost_stage_seconds",
    "Where a request's time went.",
    ("stage",),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10),
)
BATCH_SIZE = Histogram(
    "voicehost_batch_rows",
    "Rows computed together by one engine step.",
    ("version", "profile"),
    buckets=(1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 64),
)
STEP = Histogram(
    "voicehost_step_seconds",
    "One turn of an engine's step loop.",
    ("version", "profile"),
    buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.5, 5),
)
WAITING = Gauge("voicehost_waiting_requests", "Requests that wait in a worker.")
ACTIVE = Gauge("voicehost_active_requests", "Requests being spoken by a worker.")
SHARD_LIMIT = Gauge("voicehost_shard_limit_bytes", "What a worker's shards may take of its device.")
SHARD_ACCOUNTED = Gauge(
    "voicehost_shard_accounted_bytes", "What is built from shards, and reserved for loads."
)
SHARD_RESERVED = Gauge("voicehost_shard_reserved_bytes", "What is reserved for loads.")
SHARD_DEVICE = Gauge(
    "voicehost_shard_device_bytes", "What the device reports in use beyond the worker's start."
)
SHARD_RESIDENTS = Gauge("voicehost_shard_residents", "Objects built from shards that are held.")
SHARD_EVENTS = Counter(
    "voicehost_shard_events_total",
    "Objects that were found built (hit), built (load, failed_load), given up (unload), or"
    " refused for want of memory.",
    ("event",),
)
SHARD_BYTES = Counter(
    "voicehost_shard_bytes_total",
    "Bytes loaded and unloaded as accounted, and freed as the device reports.",
    ("event",),
)
SHARD_SECONDS = Counter(
    "voicehost_shard_seconds_total", "Time spent on loads and on making room.", ("event",)
)
LOOP_LAG = Histogram(
    "voicehost_event_loop_lag_seconds",
    "How late an event loop is: every connection of the process waits for so long.",
    buckets=(0.001, 0.002, 0.005, 0.01, 0.015, 0.02, 0.03, 0.05, 0.1, 0.2, 0.5, 1, 2, 5),
)
