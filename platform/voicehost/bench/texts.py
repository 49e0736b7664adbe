"""What the benchmarks have spoken: plain English, so that the distilled voice can serve it."""

SHORT = (
    "The next train to the airport leaves from platform four in six minutes.",
    "Your parcel has arrived and waits for you at the front desk.",
    "Please turn left at the second traffic light and keep to the right.",
    "The library closes at eight this evening and opens again on Monday.",
    "Thank you for calling, an agent will be with you in a moment.",
    "Rain is likely in the north, while the south stays dry and bright.",
    "The meeting has moved to the large room on the third floor.",
    "Your table is ready, please follow me to the window.",
)
"""About four seconds each."""

WARM_UP = "Everything is ready now."

CROWD = " ".join(SHORT[:5])
"""What every listener of a crowd hears: about twenty seconds in tones."""
