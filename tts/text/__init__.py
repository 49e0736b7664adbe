"""Text to segments: language spans, normalisation, splitting. Pure Python, no Django.

`validate.text_validate` says whether a text can be spoken; `split.Segmenter`,
`split.segment_text` and `split.iter_segments` make segments of it;
`normalise.warm_up` loads what the first call would wait for.
"""
