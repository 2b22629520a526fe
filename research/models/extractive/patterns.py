"""Regular expressions for words that compare, count and refer to time; they match lower-case text."""

from __future__ import annotations

import re

BORDERS = re.compile(
    r"(?<!crossing )(?<!crossing a)(?<!cross )\b(?:neighbou?r(?:s|ing)?(?: (?:countr(?:y|ies)|nations?|states?))?(?: (?:of|to))?"
    r"|(?:countr(?:y|ies)|nations?|states?|ones?|that|which|and|land)?\s?border(?:s|ed|ing)?"
    r"(?: (?:on|by|with|countries))?"
    r"|(?:shar(?:e[sd]?|ing)|has|have|with) (?:an?|its|their|the|the longest|the shortest|longest|shortest)?\s?"
    r"(?:common |land )*(?:border|frontier|boundary)s?(?: with)?"
    r"|adjacent to|adjoin(?:s|ing)?|next door to|abut(?:s|ting)?|surround(?:s|ing)?|touch(?:es|ing)?|hemmed in by|"
    r"(?:countr(?:y|ies)|lands?|states?|nations?) around|frontiers? with)(?!\w)|接壤|邻国|相邻|边[界境]|国界"
)
THE_MOST = r"(?<!\bdo )(?<!\bby )(?<!\bof )most(?! recent)"
"""Not the majority of `do most people` and `by most people`."""
MOST = (
    rf"largest|biggest|greatest|{THE_MOST}|highest|longest|maximum|richest|wealthiest|oldest|tallest|heaviest|top|"
    r"leading|(?:最|第[二三四五六七八九十])[多大高长富老]"
)
LEAST = (
    r"smallest|least|lowest|fewest|shortest|minimum|poorest|youngest|tiniest|lightest|"
    r"(?:最|第[二三四五六七八九十])(?:[少小低短穷]|年轻)"
)
NUMBER = r"\d+|one|two|three|four|five|six|seven|eight|nine|ten"
"""How many things are asked for: `the three largest`."""
START, END = r"(?:(?<![a-z0-9])|(?![ -~]))", r"(?:(?![a-z0-9])|(?<![ -~]))"
"""Edges of a word; a Chinese one may stand next to Latin letters, as in `GDP最高`."""
SUPERLATIVE = re.compile(rf"{START}(?:(?P<most>{MOST})|(?P<least>{LEAST})){END}")
ORDERED = re.compile(
    rf"\b(?:from )?(?:the )?"
    rf"(?:(?P<down>(?:{MOST})(?: \w+)? to (?:the )?(?:{LEAST}))|(?:{LEAST})(?: \w+)? to (?:the )?(?:{MOST}))\b|"
    r"从(?:(?P<zh_down>[大高多长]到[小低少短])|[小低少短]到[大高多长])(?:的顺序)?|"
    r"(?P<ranks>\b(?:rank|order|sort)\b(?=.*\bby\b)|怎么排|排[名序列])"
)
"""Matches what asks for all of a group in their order, not for the first of them."""
MORE = (
    r"exceed(?:s|ed|ing)?|dwarf(?:s|ed)?|outnumber(?:s|ed)?|surpass(?:es|ed)?|outliv(?:e|es)|outstrips?|beat(?:s|en)?|"
    r"heavier|worse|larger|bigger|greater|more|higher|longer|richer|wealthier|older|taller|ahead|above|faster|tops|"
    r"(?:更|(?<![最多])(?=.(?:吗|[？?]|$|多少)))[多大高长富]|更老"
)
LESS = (
    r"trail(?:s|ed|ing)?|lag(?:s|ged|ging)?|lighter|smaller|less|fewer|lower|shorter|poorer|younger|behind|below|slower|"
    r"(?:更|(?<![最多])(?=.(?:吗|[？?]|$|多少)))[少小低短穷]|更年轻"
)
DENIES = re.compile(
    r"(?<!\bwhether or )\b(?:(?:can)?not(?! only| \w+ than)|never|neither|nor|except|excluding|other than|no longer|"
    r"apart from|aside from|leaving out|not counting)\b|"
    r"(?<!^)\b(?:do|does|did|is|are|was|were|has|have|ca|wo|must|should|could|would)n['’]t\b(?! (?:it|they|he|she|there)\b)|"
    r"(?:没有?|未(?![来满])|除了|不(?![同过少久足到仅断超低丹满]))"
)
"""Matches a negation, which turns the answer round: `isn't` that opens a question, or ends it in `isn't it`, does not."""
OF_ALL = re.compile(r"\b(?:countr(?:y|ies)|nations?|states?|world|earth|globe|planet)\b|世界|国家|全球")
COMPARATIVE = re.compile(rf"{START}(?:(?P<most>{MORE})|(?P<least>{LESS})){END}")
HOW = re.compile(rf"比[^，。？]{{1,12}}?(?:(?P<zh_most>[多大高长富])|(?P<zh_least>[少小低短穷]))|{COMPARATIVE.pattern}")
"""Matches which way round two things are compared."""
WEIGHS = re.compile(
    rf"{START}(?:{MORE}|{LESS}|{MOST}|{LEAST}){END}|"
    r"\b(?:which|or|than|times|compar\w+|versus|vs|differ\w*|gap|ratio|relative|rank|as \w+ as)\b|"
    r"哪(?![里儿年天些])|谁|差|比(?!例|率|重|利)|倍|还是|不如|对照"
)
"""Matches a question that asks which of several things has more, or by how much."""
GROWTH = re.compile(
    r"\b(?:gr[oe]w(?:s|th|ing)?|(?<!\bis )(?<!\bare )grown|increas(?:e[sd]?|ing)|r[io]s(?:e[sn]?|ing)|chang(?:e[sd]?|ing)|"
    r"declin(?:e[sd]?|ing)|f[ae]ll(?:en|s|ing)?|drop(?:s|ped)?|shr[aiu]nk|decreas(?:e[sd]?|ing)|expand(?:ed|s)?|"
    r"contracted|contract(?= by| in \d)|gain(?:ed)?|develop(?:ed)?|"
    r"mov(?:e|ed)|evol(?:ve|ved)|climb(?:ed)?|soar(?:ed)?|jump(?:ed)?|slip(?:ped)?|"
    r"year[- ]on[- ]year|year[- ]over[- ]year|percent(?:age)? change)\b|增长|增加|上升|下降|减少|变化|[升降涨跌]了"
)
RATE = re.compile(r"\bgrowth rate\b|^Rate of ")
"""Matches a label whose figures say how fast something grows."""
BEFORE = re.compile(
    r"\b(?:(?:the )?(?:year|twelve months) (?:before|earlier)|(?:the )?(?:previous|preceding|prior) year|"
    r"year[- ]on[- ]year|year[- ]over[- ]year|the year before that)\b|上一年|前一年"
)
SUM = re.compile(
    r"\b(?:combined|together|altogether|between them|all told|jointly|in total between|sum of|add(?:ed)? up|"
    r"(?:you|we|to) total|total of both)\b|"
    r"合计|总和|一共|总共|加起来|加在一起"
)
TOTAL = re.compile(r"\btotal\b|总(?![统理督部])")
"""Matches what asks for a sum if several things are named, unless their measure has it in its name and cannot be added."""
MEAN = re.compile(r"\b(?:average|mean)\b(?! (?:elevation|age|height|of (?:its|their) age))(?<!on average)|平均")
COUNT = re.compile(r"\bhow many (?:countries|nations|states|neighbou?rs|land neighbou?rs)\b|(?:几|多少)个(?:国家|邻国)")
YEAR_OF = re.compile(r"\b(?:which|what) (?:of these |of the )?years?\b|哪一?年")
"""Matches a question for a year, which no line of a series states if it is that of the highest figure."""
OWN_BORDERS = re.compile(
    r"\b(?:cross(?:es|ed|ing)?|within|inside|beyond)\b(?: (?:an?|the|its|their|our|any|national))*[ -]?.?$"
)
"""Matches before borders that are only the edge of a country, as in `without crossing a border`."""
YEAR = re.compile(r"(?<![\d.,$])(?<![^\d]-)(?<!per )(?<!every )(1[0-9]\d\d|20\d\d)(?!\d|,\d|\.\d| ?[十百千万亿])")
NAME = re.compile(
    r"(?<![\w])(?:(?:[A-ZÀ-ÞŠŽČŚŁ]|\d+[A-Z])[\w.’'\-]*)(?:\s+(?:(?:of|the|de|da|do|du|del|la|le|el|al|von|van)\s+){0,2}"
    r"[A-ZÀ-ÞŠŽČŚŁ][\w.’'\-]*)*"
)
YARDSTICK = re.compile(
    r"(?:of|to|against|relative to|% of|per ?cent of|share of|slice of|in terms of|measured against|by) "
    r"(?:its |the |their |national |real )*(?:gdp|output|economy|gross domestic product|national (?:output|income))|"
    r"[占与]gdp(?:的)?(?:比|百分|份额|几|多少)"
)
POPULACE = re.compile(
    r"\b(?:old|young|oldest|youngest|older|younger|median age|population is|"
    r"of (?:the |its |their )?(?:population|people)|'s (?:population|people)\b(?!\s*(?:[,?.]|and\b|$))|"
    r"(?:%|share|per ?cent|percentage|fraction|proportion) of [^,;.?]{0,30}(?:population|people)|"
    r"people (?:live|speak|are|who|pay|use)|its people|their people|most people)\b"
)
