"""Twenty short reports in the manner of well-known products, each with what its statements cite, written by hand."""

from __future__ import annotations

REPORTS: dict[str, tuple[str, list[tuple[str, str]]]] = {
    "chatgpt sites": (
        """# Heat pumps in Norway

Norway had about 1.6 million heat pumps in 2023 ([iea.org](https://www.iea.org/reports/heat-pumps?utm_source=chatgpt.com)). Sales fell by 12% the year after ([ssb.no](https://www.ssb.no/en/hp?utm_source=chatgpt.com), [reuters.com](https://www.reuters.com/a/1?utm_source=chatgpt.com)).
""",
        [("1.6 million heat pumps", "iea.org"), ("fell by 12%", "ssb.no"), ("fell by 12%", "reuters.com")],
    ),
    "chatgpt deep research": (
        """## Findings

The plant opened in **1974** and has four reactors【12†L101-L109】. It supplies 8 % of the grid's power【3†L20-L24】【12†L5-L6】.

## Sources
【3】 Grid operator, Annual report 2023. https://grid.example/annual
【12】 Plant history. https://plant.example/history
""",
        [("four reactors", "plant.example"), ("8 % of the grid", "grid.example"), ("8 % of the grid", "plant.example")],
    ),
    "perplexity": (
        """The bridge is 1,991 metres long[1]. It was finished in 1998 and cost 3.6 billion dollars[2][3].

Citations:
[1] https://bridges.example/akashi
[2] https://cost.example/akashi
[3] https://enc.example/wiki/Akashi
""",
        [("1,991 metres", "bridges.example"), ("3.6 billion", "cost.example"), ("3.6 billion", "enc.example")],
    ),
    "gemini": (
        """# Tidal power

The Sihwa plant has a capacity of 254 MW.1 La Rance, opened in 1966, has 240 MW.2

#### Works cited

1. Sihwa Lake Tidal Power Station, accessed June 2, 2025, https://tidal.example/sihwa
2. La Rance at fifty, accessed June 2, 2025, https://tidal.example/rance
""",
        [("254 MW", "tidal.example/sihwa"), ("240 MW", "tidal.example/rance")],
    ),
    "gpt researcher": (
        """# Sodium batteries

Energy density reached 160 Wh per kilogram in 2021 ([CATL, 2021](https://catl.example/na)). Costs could be 30% lower than those of lithium cells ([Smith et al., 2023](https://journal.example/10)).

## References

- CATL. (2021). Sodium-ion battery launch. https://catl.example/na
- Smith, A., Doe, B., & Lee, C. (2023). Costs of sodium cells. Journal of Storage. https://journal.example/10
""",
        [("160 Wh", "catl.example"), ("30% lower", "journal.example")],
    ),
    "claude": (
        """The lake covers 31,722 square kilometres, according to [the ministry's survey](https://ministry.example/survey). [A study from 2022](https://lake.example/study) puts its depth at 1,642 metres.
""",
        [("31,722 square", "ministry.example"), ("1,642 metres", "lake.example")],
    ),
    "copilot": (
        """The museum has 9.6 million visitors a year[^1^][1]. It opened in 1793[^2^][2].

[1]: https://museum.example/visitors
[2]: https://museum.example/history
""",
        [("9.6 million", "museum.example/visitors"), ("1793", "museum.example/history")],
    ),
    "copilot superscripts": (
        """The museum has 9.6 million visitors a year¹. It opened in 1793².

Source: Conversation with Copilot, 5/6/2025
(1) Visitors of the museum. https://museum.example/visitors.
(2) History. https://museum.example/history.
""",
        [("9.6 million", "museum.example/visitors"), ("1793", "museum.example/history")],
    ),
    "deepseek": (
        """The dam holds back 39.3 billion cubic metres of water[citation:1]. It has 32 turbines[citation:2][citation:3].

References
[citation:1] https://dam.example/water
[citation:2] https://dam.example/turbines
[citation:3] https://power.example/three-gorges
""",
        [
            ("39.3 billion", "dam.example/water"),
            ("32 turbines", "dam.example/turbines"),
            ("32 turbines", "power.example"),
        ],
    ),
    "kimi": (
        """长江全长约6300公里[^1^]。流域面积约180万平方公里[^2^]。

参考资料

[^1^]: 长江水利网 https://river.example/length
[^2^]: 流域概况 https://river.example/basin
""",
        [("6300公里", "river.example/length"), ("180万", "river.example/basin")],
    ),
    "doubao": (
        """## 概况

2023年全国粮食产量为6.95亿吨【1】。其中稻谷2.07亿吨【2】。

## 参考资料
【1】国家统计局：《2023年粮食产量公告》，https://stats.example/grain
【2】农业农村部：《稻谷生产》，https://agri.example/rice
""",
        [("6.95亿吨", "stats.example"), ("2.07亿吨", "agri.example")],
    ),
    "storm": (
        """# Paper mills

The first mill ran in 1282 in Spain.[1][2] By 1690 paper was made in Pennsylvania.[3]

# References
[1]: History of paper, https://paper.example/history
[2]: Mills of Europe, https://mills.example/europe
[3]: Rittenhouse mill, https://mills.example/rittenhouse
""",
        [("1282 in Spain", "paper.example"), ("1282 in Spain", "mills.example/europe"), ("1690", "rittenhouse")],
    ),
    "analyst with sources under tables": (
        """### Table 1: Vacancies

| City | Vacancies |
| --- | --- |
| Graz | 1,240 |
| Linz | 2,310 |

*Source: City statistics office, https://cities.example/vacancies*

Rents rose by 4.1 percent in 2023.
Source: [Rent index](https://rents.example/2023)
""",
        [("Graz", "cities.example"), ("Linz", "cities.example"), ("4.1 percent", "rents.example")],
    ),
    "academic": (
        """Bee colonies declined by 40% (Garcia-Lopez & van der Berg, 2019; WHO, 2021). Müller et al. (2020) found the opposite in 12 regions.

## Bibliography

Garcia-Lopez, M., & van der Berg, T. (2019). Bees in decline. Insects, 4(2), 11–19. https://doi.org/10.1234/bees.2019
Müller, K., Yamada, S., & Okoro, C. (2020). Growing colonies. Apiology, 7, 3–9. https://doi.org/10.1234/col.2020
WHO. (2021). Pollinators and health. https://who.example/pollinators
""",
        [
            ("declined by 40%", "10.1234/bees"),
            ("declined by 40%", "who.example"),
            ("the opposite in 12", "10.1234/col"),
        ],
    ),
    "footnotes of several lines": (
        """The tunnel is 57.1 km long.[^long] It cost 12 billion francs.[^2]

[^long]: Alptransit, *Facts about the tunnel*,
    https://tunnel.example/facts
[^2]: Federal audit office, https://audit.example/tunnel
""",
        [("57.1 km", "tunnel.example"), ("12 billion", "audit.example")],
    ),
    "grok": (
        """- Exports grew by 9% in 2024. [Source](https://trade.example/2024)
- Imports fell by 2%. ([Reuters](https://reuters.example/imports))
- The deficit was 41 billion euros [1](https://budget.example/deficit).
""",
        [("9% in 2024", "trade.example"), ("fell by 2%", "reuters.example"), ("41 billion", "budget.example")],
    ),
    "you.com": (
        """The comet returns every 76 years [[1]](https://comet.example/halley). It was last seen in 1986 [[2]](https://comet.example/1986)[[3]](https://sky.example/comets).
""",
        [("76 years", "comet.example/halley"), ("1986", "comet.example/1986"), ("1986", "sky.example")],
    ),
    "titles in brackets": (
        """Olive oil prices doubled in 2023 [Olive oil market brief]. Spain makes 45% of it [World production of olive oil].

Sources:
- Olive oil market brief: https://oil.example/brief
- World production of olive oil: https://oil.example/world
""",
        [("doubled in 2023", "oil.example/brief"), ("45% of it", "oil.example/world")],
    ),
    "wikipedia": (
        """The tower is 330 m tall.<sup>[4]</sup> It had 5.9 million visitors in 2022.<sup>[5]</sup><sup>[6]</sup>

## References
4. "The tower in figures". Tower company. https://tower.example/figures. Retrieved 4 May 2024.
5. "Visitors 2022". https://tower.example/2022
6. Paris tourism office. "Year in review". https://paris.example/review
""",
        [
            ("330 m tall", "tower.example/figures"),
            ("5.9 million", "tower.example/2022"),
            ("5.9 million", "paris.example"),
        ],
    ),
    "a colleague": (
        """Turnover was 4.2 million in 2022 (source: https://firm.example/2022). In 2023 it was 4.9 million (see https://firm.example/2023).
Staff: 61 people (Source: Annual report 2023, https://firm.example/staff).
""",
        [
            ("4.2 million", "firm.example/2022"),
            ("4.9 million", "firm.example/2023"),
            ("61 people", "firm.example/staff"),
        ],
    ),
}
