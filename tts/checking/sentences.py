"""What every profile has to say: ordinary sentences, without digits and names.

A recogniser that writes "20" for "twenty" would measure itself.
"""

SENTENCES: dict[str, tuple[str, ...]] = {
    "zh": (
        "今天天气很好，我们一起去公园走走吧。",
        "请问附近有没有安静一点的咖啡馆？",
        "我昨天晚上看了一部很有意思的电影。",
        "火车晚点了，请大家在候车室耐心等候。",
        "这道菜的做法很简单，在家也能学会。",
        "孩子们在操场上高兴地踢着足球。",
        "会议改到下午举行，请提前做好准备。",
        "他每天早上都坚持跑步锻炼身体。",
        "医生说多喝水、早睡觉，很快就会好起来。",
        "春天来了，路边的花都开了。",
        "这家书店的老板对客人非常热情。",
        "手机没电了，你能借我充电器吗？",
        "我们明天一早出发，晚上就能到家。",
        "请把窗户关上，外面的风太大了。",
        "图书馆里很安静，大家都在认真看书。",
        "妈妈做的饭菜总是最好吃的。",
        "如果你有任何问题，可以随时给我打电话。",
        "这座城市的夜景让人难以忘记。",
        "学习一门新的语言需要时间和耐心。",
        "下雨天开车要慢一点，注意安全。",
    ),
    "en": (
        "The weather is lovely today, so let us take a walk in the park.",
        "Could you tell me where the nearest train station is?",
        "She put the letter on the kitchen table and closed the door.",
        "Please remember to bring a warm coat and a pair of good shoes.",
        "We had dinner at a small restaurant near the river.",
        "The children were playing in the garden until it got dark.",
        "He reads the newspaper every morning before he goes to work.",
        "Your order has been sent and should arrive by the end of the week.",
        "I would like a cup of coffee with a little milk, please.",
        "The meeting was moved to the afternoon because of the storm.",
        "Nobody knew why the old house on the hill was empty.",
        "If you have any questions, please call us at any time.",
        "My brother is learning to play the piano.",
        "Turn left at the next corner and follow the road to the bridge.",
        "The museum is closed on Monday but open for the rest of the week.",
        "It took them a long time to find the right answer.",
        "Fresh bread and butter is all that I need for breakfast.",
        "The doctor told him to rest and to drink plenty of water.",
        "There is a quiet place by the lake where we can talk.",
        "Learning a new language takes time and patience.",
    ),
}
"""By language; twenty of each."""
