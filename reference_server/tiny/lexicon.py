"""The words that appear in training dialogues; data only."""

from __future__ import annotations


def _words(text: str) -> tuple[str, ...]:
    return tuple(text.split())


WORDS: tuple[str, ...] = _words(
    """the a my our your this that every some no old new small big red blue green grey white black bright dark
    warm cold quick slow lazy happy quiet loud brave gentle clever silent early late long short round deep high
    brown fox dog cat bird horse mouse fish lion bear wolf owl tree river lake sea hill mountain valley forest
    island beach city town village street road bridge tower house garden kitchen window door roof wall room
    table chair lamp clock mirror book letter paper pencil picture song story poem music dance game film radio
    morning noon evening night spring summer autumn winter day week month year hour minute moment
    sun moon star sky cloud rain snow wind storm fire water ice stone sand gold silver copper iron glass wood
    apple pear lemon orange cherry plum grape melon bread butter cheese honey sugar salt pepper rice soup coffee
    tea milk juice cake train ship boat plane car bus bicycle wheel engine ticket harbour station airport market
    doctor teacher farmer baker painter sailor pilot king queen child sister brother mother father friend guest
    order number box parcel package invoice price account balance report record table list queue stack cache
    server client model token stream batch signal network data file code test error light sound color shape line
    point circle square zero one two three four five six seven eight nine ten eleven twelve hundred thousand
    is was has sees finds brings takes gives makes opens closes reads writes sings walks runs jumps sleeps waits
    dreams smiles turns grows falls shines near under over behind between after before with without and or but
    here there now then always never often again together alone slowly quickly hello world please thanks good
    bye yes maybe alpha beta gamma delta omega python rust kernel vector matrix tensor"""
)

NAMES: tuple[str, ...] = _words(
    """Alice Bob Carol Dave Erin Frank Grace Heidi Ivan Judy Ken Lena Mia Noah Olga Paul Rosa Sam Tina Victor
    Wei Xin Yuri Zoe Anna Boris Clara David Emma Felix Gina Hugo Iris Jonas Karin Leo Maria Nina Oscar Petra
    Quinn Rita Simon Tom Ursula Vera Walter Yara Ada Adrian Agnes Albert Amir Astrid Beatrix Bruno Camille Diego
    Edith Elena Fatima Georg Hanna Igor Ingrid Jane John Julia Kofi Lars Linda Louis Marco Martin Mary Michael
    Mohamed Nadia Nils Olivier Pablo Peter Pierre Rachel Robert Sofia Stefan Sven Thomas Ulla Viktor William"""
)

CAPITALS: dict[str, str] = {
    "France": "Paris", "Germany": "Berlin", "Italy": "Rome", "Spain": "Madrid", "Portugal": "Lisbon",
    "Poland": "Warsaw", "Austria": "Vienna", "Japan": "Tokyo", "China": "Beijing", "India": "New Delhi",
    "Russia": "Moscow", "Greece": "Athens", "Egypt": "Cairo", "Canada": "Ottawa", "Norway": "Oslo",
    "Sweden": "Stockholm", "Finland": "Helsinki", "Ireland": "Dublin", "Hungary": "Budapest", "Turkey": "Ankara",
    "Brazil": "Brasilia", "Peru": "Lima", "Cuba": "Havana", "Kenya": "Nairobi", "Denmark": "Copenhagen",
    "Belgium": "Brussels", "Switzerland": "Bern", "Ukraine": "Kyiv", "Vietnam": "Hanoi", "Thailand": "Bangkok",
    "England": "London", "Scotland": "Edinburgh", "Australia": "Canberra", "Argentina": "Buenos Aires",
    "Chile": "Santiago", "Mexico": "Mexico City", "Iceland": "Reykjavik", "Romania": "Bucharest",
    "Bulgaria": "Sofia", "Croatia": "Zagreb",
}  # fmt: skip

OTHER_CITIES: dict[str, str] = {
    "Lyon": "France", "Munich": "Germany", "Hamburg": "Germany", "Milan": "Italy", "Naples": "Italy",
    "Barcelona": "Spain", "Porto": "Portugal", "Osaka": "Japan", "Kyoto": "Japan", "Shanghai": "China",
    "Shenzhen": "China", "Hangzhou": "China", "Mumbai": "India", "Kazan": "Russia", "Toronto": "Canada",
    "Sydney": "Australia", "Oxford": "England", "Geneva": "Switzerland", "Boston": "the United States",
    "New York": "the United States", "San Francisco": "the United States", "Chicago": "the United States",
    "Seattle": "the United States", "Austin": "the United States", "Los Angeles": "the United States",
}  # fmt: skip

CITIES: tuple[str, ...] = (*CAPITALS.values(), *OTHER_CITIES)

CITIES_WITH_REGION: tuple[str, ...] = (
    "Boston, MA", "San Francisco, CA", "New York, NY", "Chicago, IL", "Seattle, WA", "Austin, TX",
    "Los Angeles, CA", "Paris, France", "Berlin, Germany", "Tokyo, Japan", "London, UK", "Rome, Italy",
)  # fmt: skip

CJK_WORDS: tuple[str, ...] = _words(
    """你好 世界 谢谢 再见 朋友 老师 学生 天气 北京 上海 月亮 太阳 星星 河流 大海 森林 苹果 面包 牛奶 咖啡 早上 晚上
    今天 明天 春天 夏天 秋天 冬天 红色 蓝色 绿色 模型 数据 网络 服务器 电脑 手机 火车 飞机 桥 山 猫 狗 鸟 鱼 马
    こんにちは ありがとう さくら 東京 日本 ねこ いぬ 안녕하세요 감사합니다 한국 서울 바다 나무"""
)

EMOJI: tuple[str, ...] = _words(
    "😀 😂 😍 🤔 😴 🚀 🌍 🌙 ⭐ 🔥 🌈 🍎 🍕 🍞 ☕ 🎉 🎵 🎲 🚗 🚲 ✈️ 🏠 🌲 🌊 🐱 🐶 🦊 🐢 🦉 👍 👩‍🚀 🇫🇷"
)

ACCENTED_WORDS: tuple[str, ...] = _words(
    """café naïve façade über schön Größe señor mañana élève déjà château jalapeño Łódź ångström smörgås
    привет спасибо мир дом река καλημέρα θάλασσα שלום مرحبا नमस्ते"""
)

SYLLABLES: tuple[str, ...] = _words(
    """ba be bi bo bu ca ce co cu da de di do du fa fe fi fo ga ge gi go gu ha he hi ho ja jo ka ke ki ko la le
    li lo lu ma me mi mo mu na ne ni no nu pa pe pi po ra re ri ro ru sa se si so su ta te ti to tu va ve vi vo
    wa we wi xa ya yo za ze zi zo an en in on un ar er ir or ur al el il ol ul as es is os us ant ent ing ion
    ment ness able ough ight tion ster bra cre dri fla gri pro tra sta spo quo"""
)

TOPICS: tuple[str, ...] = (
    "gravity", "black holes", "the stock market", "photosynthesis", "the French Revolution", "chess openings",
    "quantum physics", "volcanoes", "democracy", "the history of jazz", "neural networks", "sourdough", "whales",
    "tax law", "football", "the Roman Empire", "climate change", "electric cars", "poetry", "philosophy",
    "dinosaurs", "vaccines", "cryptography", "the Moon landing", "gardening", "opera", "coral reefs",
    "medieval castles", "machine learning", "the human heart", "airplanes", "vitamins", "the Olympic Games",
    "parallel computing", "happiness", "love", "time travel", "robots", "beekeeping", "mathematics",
)  # fmt: skip

THINGS: tuple[str, ...] = (
    "bicycle", "computer", "cake", "rocket", "violin", "castle", "camera", "database", "telescope", "sandwich",
    "house", "garden", "lawn mower", "tent", "guitar", "microscope", "website", "compiler", "painting", "novel",
    "recipe", "contract", "spaceship", "submarine", "piano", "teapot", "dragon", "lighthouse", "planet", "cloud",
)  # fmt: skip

ACTIONS: tuple[str, ...] = (
    "build", "repair", "paint", "sell", "clean", "draw", "design", "move", "describe", "understand", "use",
    "improve", "choose", "test", "install", "replace", "open", "carry", "photograph", "measure",
)  # fmt: skip

LANGUAGES: tuple[str, ...] = ("French", "German", "Spanish", "Latin", "Chinese", "Polish", "Dutch", "Greek")

SYSTEM_PROMPTS: tuple[str, ...] = (
    "You are a helpful assistant.", "Be brief.", "You are a friendly bot.", "Answer politely and in full sentences.",
    "You are a support assistant of a shop. Use the tools that you are given.", "You help travellers.",
    "Answer only what is asked.", "You are an expert in many fields.", "Use a tool whenever one fits.",
    "You are a careful assistant. If you do not know an answer, say so.", "Follow the instructions of the user.",
)  # fmt: skip

TOOL_VERBS: tuple[str, ...] = _words(
    """get find search lookup fetch create delete update check convert send book cancel track compute query set open
    read play add start stop list turn"""
)

TOOL_NOUNS: tuple[str, ...] = _words(
    """weather forecast order user price stock flight hotel email time date temperature balance ticket package
    invoice route product news account status delivery_date shipping_date exchange_rate calendar reminder song
    movie recipe meeting message restaurant address report lamp door task file user_profile alarm volume page"""
)
