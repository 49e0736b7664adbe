"""Chinese numbers that name and count nothing: codes, rooms, lines, days that became names.

They are read digit by digit, where the grammars would read an amount.
"""

import re

from tts.text.normalise.mandarin_numbers import Rule, counted, read_digits

# Words behind which a number of three digits or more is a code.
_CODED = (
    "验证码|校验码|动态码|激活码|邀请码|兑换码|取件码|提货码|识别码|密码|口令|邮编|邮政编码|代码|号码"
    "|序列号|区号|工号|学号|考号|座位号|编号|账号|帐号|卡号|尾号|单号|票号|批号|证号|房号|微信号|手机号"
    "|频道号|会议号|取餐号|房间|车牌|证件|身份证|QQ|电话|热线|型号|端口|订单|运单|银行卡|信用卡"
)
_LINK = r"(?:号|号码)?(?:\s?[是为：:]\s?|\s)?"
_GROUPS = r"\d{3,12}(?:[ -]\d{3,6}){0,5}"
_NOT_COUNTED = r"(?![\d.,:%％]|\s?[间个元块次年月万亿千百件人条张名位行股多余几来]|\s?以[内上下])"
_AFTER_WORD = re.compile(rf"((?:{_CODED}){_LINK})({_GROUPS}){_NOT_COUNTED}")
# 大号, 小号 and a numeral before it are no names of numbers.
_AFTER_NUMBER_OF = re.compile(
    r"((?<![\d零一二三四五六七八九十百千万两大小老近信口])号(?:\s?[是为：:]\s?|\s)?)"
    rf"({_GROUPS}){_NOT_COUNTED}"
)
_PICK_UP = re.compile(r"(?<=[件货餐]码)(\s?[是为：:]?\s?)(\d{1,4}(?:-\d{1,4}){1,3})(?![\d-])")
_NAMES = (
    r"(?<![\d.,:/¥$€£-])(?:"
    r"(?:985|211)(?=[、/和]?(?:985|211|高校|大学|院校|工程|名校|毕业))|(?<=985[、/和])211|996(?=工作|制|福报|模式)"
    r"|(?:315|618|520)(?=晚会|大促|购物|活动|年中|表白|当天|期间)|911(?=事件|恐)"
    r"|[48]00(?=电话|热线|客服)|360(?=安全|浏览|杀毒|软件|公司|手机))"
)


def _grouped(match: re.Match[str]) -> str:
    return match[1] + "，".join(read_digits(group) for group in re.findall(r"\d+", match[2]))


def _pick_up(match: re.Match[str]) -> str:
    groups = match[2].split("-")
    return match[1] + "杠".join(
        read_digits(group) if len(group) > 2 or group[0] == "0" else counted(int(group))
        for group in groups
    )


def _numbered(match: re.Match[str]) -> str:
    return f"{read_digits(match[1])}杠{read_digits(match[2])}"


def _digits(match: re.Match[str]) -> str:
    return read_digits(match[0])


CODES: tuple[Rule, ...] = (
    (_PICK_UP, _pick_up),
    (re.compile(r"(?<!\d)((?:19|20)\d{2})-(\d{1,3})(?=号文|号令|号公告|号文件)"), _numbered),
    (_AFTER_WORD, _grouped),
    (_AFTER_NUMBER_OF, _grouped),
    (
        re.compile(r"()(?<![\d.,-])(\d{4}(?: \d{4}){2,4}(?: \d{1,3})?)(?![\d.,])"),
        _grouped,
    ),
    (
        re.compile(r"(?<=股票|基金|证券)(\s?)(\d{6})(?![\d.元股块万亿])"),
        lambda m: m[1] + read_digits(m[2]),
    ),
    (re.compile(r"(?<=群)(\d{6,12})(?!\d)"), _digits),
    (re.compile(r"(?<![\d.:：/-])0\d{2,11}(?![\d.:：/%-])"), _digits),
    (re.compile(r"(?<![\d.])(?!\d00)\d{3}(?=路(?:公交|巴士|汽车|电车|公共|车))"), _digits),
    (re.compile(r"(?<=\d)\s?#(?=\s?[楼栋幢座门机炉车])"), "号"),
    # Days that became names: 九一一, 三一五.
    (
        re.compile(r"(?<![\d.·])(\d{1,2})·(\d{1,2})(?![\d.·])"),
        lambda m: read_digits(m[1] + m[2]),
    ),
    (
        re.compile(r"(?<!\d)5\.1(?=假期|长假|放假|小长假|劳动节|黄金周)|(?<!\d)51(?=假期|长假)"),
        "五一",
    ),
    (re.compile(r"(?<!\d)10\.1(?=国庆|长假|假期|黄金周)"), "十一"),
    (re.compile(r"(?<!\d)7-?11(?=便利|超市|门店)"), "七幺幺"),
    (re.compile(_NAMES), _digits),
)
"""Before any rule that reads amounts."""
