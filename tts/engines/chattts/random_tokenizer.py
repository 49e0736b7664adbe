"""A tokenizer like ChatTTS': Chinese BERT's word pieces, and the fifty special tokens."""

import json
from pathlib import Path

from tokenizers import AddedToken, Tokenizer, decoders, models, normalizers, pre_tokenizers

from tts.engines.chattts.layout import SPECIAL_TOKENS, TOKENIZER

_UNKNOWN = "[UNK]"
_BASE = ("[PAD]", *(f"[unused{index}]" for index in range(1, 100)))
_BERT = (_UNKNOWN, "[CLS]", "[SEP]", "[MASK]")
_MARKS = "，。、？！：；“”‘’（）《》…—"
_COMMON = (
    "你好世界我是的一不了在有人这来大他上个们到说时要就出会可也对生能而子那得于着下自之年过发后作里今天气很"
    "声音语文字中国明电话听见谢欢迎请问什么再"
)
_WORDS = (
    *("the", "of", "and", "to", "in", "is", "it", "hello", "world", "test", "voice", "speech"),
    *("good", "morning", "this", "that", "you", "are", "we", "have", "three", "with", "not"),
)
_IDEOGRAPHS = {"small": 600, "full": 18_000}
FULL_VOCABULARY = 21_128


def tokenizer_write(folder: Path, *, full: bool) -> int:
    """Write the three tokenizer files below `folder`; returns the number of tokens.

    `full`: as many as the release has (21,178), otherwise about 900.
    """
    words = _vocabulary(full)
    ids = {word: index for index, word in enumerate(words)}
    tokenizer = Tokenizer(models.WordPiece(ids, unk_token=_UNKNOWN))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    tokenizer.decoder = decoders.WordPiece(prefix="##")
    special = ("[PAD]", *_BERT, *SPECIAL_TOKENS)
    tokenizer.add_special_tokens(
        [AddedToken(token, normalized=False, special=True) for token in special]
    )
    path = folder / TOKENIZER
    path.parent.mkdir(parents=True, exist_ok=True)
    tokenizer.save(str(path))
    named = {
        "cls_token": "[CLS]",
        "mask_token": "[MASK]",
        "pad_token": "[PAD]",
        "sep_token": "[SEP]",
        "unk_token": _UNKNOWN,
        "additional_special_tokens": list(SPECIAL_TOKENS),
    }
    settings = {"tokenizer_class": "BertTokenizer", "do_lower_case": True, **named}
    _json(path.with_name("special_tokens_map.json"), named)
    _json(path.with_name("tokenizer_config.json"), settings)
    return int(tokenizer.get_vocab_size())


def _vocabulary(full: bool) -> list[str]:
    letters = [chr(code) for code in range(33, 127) if not chr(code).isupper()]
    first = 0x4E00
    ideographs = [chr(first + index) for index in range(_IDEOGRAPHS["full" if full else "small"])]
    pieces = ["##" + letter for letter in letters if letter.isalnum()]
    words = list(
        dict.fromkeys([*_BASE, *_BERT, *letters, *_MARKS, *_COMMON, *ideographs, *pieces, *_WORDS])
    )
    if full:
        words += [f"[spare{index}]" for index in range(FULL_VOCABULARY - len(words))]
    return words


def _json(path: Path, value: object) -> None:
    path.write_text(json.dumps(value, ensure_ascii=False, indent=2) + "\n", encoding="utf-8")
