"""Recognise pages shown before the content: robot checks, consent, sign-in, "turn on JavaScript", "not found".

Servers send them with status 200, so when cited they look like sources. Only a page with little text can be one, so
words such as "access denied" in an article mean nothing. Walls in other languages or of other kinds are recognised by
the site showing them at any address (`fetch`).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from research.text import one_line

if TYPE_CHECKING:
    from lxml.html import HtmlElement

_SHORT = 1_500
"""Longest text of a page that may be a wall, in characters."""
_BARE = 400
"""Longest text of a page that body words alone, outside title and headings, identify."""
_BESIDE = 80
"""Longest text of a consent page that also has other topics."""
_PROSE = 200
"""Length of a paragraph found only in content."""
_MUCH, _FIGURES = 350, 3
"""Characters beside titles, links and forms, and figures, found only in content."""
_UNSEEN = ("script", "style", "noscript", "template", "head", "svg")
_SHOWN = f"//text()[not({' or '.join(f'ancestor::{name}' for name in _UNSEEN)})]"
"""The text that a browser shows with scripts."""
_AROUND = (*_UNSEEN, "header", "nav", "footer", "form", "button", "a", "label", "h1", "h2", "h3")
_SAID = f"//body//text()[not({' or '.join(f'ancestor::{name}' for name in _AROUND)})]"
"""A page's text without titles, links and forms."""
_DENSE = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")
"""Letters that count as three others."""
_FIGURE = re.compile(r"(?<![\w.,])\d[\d.,:]*")

_ROBOT = re.compile(
    r"just a moment|attention required|(?:access|request)(?: to this page)?(?: has been| was)? (?:denied|blocked)"
    r"|security (?:check|verification)|checking (?:if|your|that)|robot check|pardon our interruption"
    r"|(?:not|aren.t|are you) a (?:ro)?bot|(?:are|be|being) (?:a )?(?:human|person)\b|captcha|unusual (?:traffic|activity)"
    r"|ddos.{0,20}protection|too many requests|rate limit(?:ed)? exceeded"
    r"|sicherheits(?:überprüfung|prüfung)|(?:kein|ein) (?:ro)?bot|zugriff (?:verweigert|gesperrt)"
    r"|ungewöhnliche\w? (?:datenverkehr|aktivität)"
    r"|accès (?:refusé|interdit)|n.êtes pas un robot|vérification de sécurité|acceso denegado|no eres un robot"
    r"|accesso negato|acesso negado|доступ (?:запрещ[её]н|ограничен)|не робот"
    r"|安全验证|安全驗證|人机验证|访问验证|訪問驗證|请求过于频繁"
    r"|ロボットではありません|アクセスが拒否|로봇이 아닙니다|접근이 (?:거부|차단)",
    re.I,
)
_MISSING = re.compile(
    r"\b(?:error )?404\b|(?:page|file|article|content|url)\b.{0,40}\b(?:not (?:be )?found|(?:no longer|not) (?:available|exist)|"
    r"(?:does|do)(?: not|n.t) exist|(?:has been|was|been) (?:removed|deleted))|^not found$"
    r"|seite.{0,40}(?:nicht gefunden|existiert nicht|nicht (?:mehr )?verfügbar)|page.{0,40}(?:introuvable|n.existe (?:pas|plus))"
    r"|página.{0,40}no (?:se )?(?:encontrad|encontr|existe)|no se (?:ha )?encontr\w+ la página|pagina (?:non|niet)"
    r"|página não (?:foi )?encontrada|страница не (?:найдена|существует)"
    r"|(?:页面|頁面|网页|網頁|文章).{0,8}(?:不存在|找不到|已删除|已刪除)"
    r"|找不到(?:页面|頁面|网页|網頁|该页|您)|(?:ページ|記事).{0,12}(?:見つかりません|存在しません)|페이지를 찾을 수 없",
    re.I,
)
_SCRIPT = re.compile(r"java ?script|\bJS\b", re.I)
_CONSENT = re.compile(
    r"cookie|consent|privacy|before you continue|datenschutz|einwilligung|bevor sie fortfahren|vie privée|privacidad"
    r"|consentimiento|consenso|隐私|隱私|プライバシー|クッキー|конфиденциальност|쿠키",
    re.I,
)
_AGREE = re.compile(
    r"\b(?:accept|agree|allow|consent|got it|ok|manage|reject|akzeptieren|zustimmen|ablehnen|einverstanden|accepter|j.accepte"
    r"|refuser|aceptar|acepto|rechazar|accetta|accetto|rifiuta|aceitar|accepteren|akkoord|принять|соглас\w+)\b|同意|接受|동의",
    re.I,
)
_MEMBERS = re.compile(
    r"\b(?:sign|log) ?in\b|\bsubscri(?:be|ption)|anmelden|einloggen|se connecter|connexion|iniciar sesión|accedi|войти"
    r"|登录|登入|ログイン|로그인",
    re.I,
)


_SOON_S = 10
"""Longest delay of a redirecting page; news pages that reload wait for minutes."""
_REFRESH = re.compile(
    r"(\d{1,5}(?:\.\d{0,9})?)[\s;,]{1,9}(?:url\s{0,9}=\s{0,9})?(?:\"([^\"]*)\"?|'([^']*)'?|([^\"'\s]\S*))", re.I
)

Wall = Literal["robot", "missing", "consent", "members", "script", "parked", "same", ""]


def says_little(tree: HtmlElement) -> bool:
    """Return whether a page has so little text and so few figures that it may hide content."""
    said = one_line(" ".join(tree.xpath(_SAID)))
    return len(said) + 2 * len(_DENSE.findall(said)) <= _MUCH and len(_FIGURE.findall(said)) < _FIGURES


def wall(tree: HtmlElement, title: str, host: str = "") -> Wall:
    """Return the kind of wall; empty for a page with content.  `host` is the host of the page, if known."""
    if not says_little(tree):
        return ""
    if host and _offers(tree, host):
        return "parked"
    texts = list(filter(None, map(one_line, tree.xpath(_SHOWN))))
    shown = " ".join(texts)
    if len(shown) > _SHORT or any(len(one_line(each.text_content())) > _PROSE for each in tree.iter("p")):
        return ""
    heads = [title, *(one_line(each.text_content()) for each in tree.iter("h1", "h2"))]
    said = [*heads, *([shown] if len(shown) <= _BARE else [])]
    unscripted = one_line(" ".join(each.text_content() for each in tree.iter("noscript")))
    buttons = [one_line(each.text_content()) or each.get("value") or "" for each in tree.iter("button", "input", "a")]
    if any(map(_ROBOT.search, said)):
        return "robot"
    if any(map(_MISSING.search, heads)) or (len(shown) <= _BARE and _MISSING.match(shown)):
        return "missing"
    beside = [each for each in texts if not (_CONSENT.search(each) or _AGREE.search(each))]
    asked = _CONSENT.search(title) or (_CONSENT.search(shown) and len(" ".join(beside)) <= _BESIDE)
    if asked and any(map(_AGREE.search, buttons)):
        return "consent"
    if tree.xpath("//input[@type='password']") and any(map(_MEMBERS.search, [*said, *buttons])):
        return "members"
    if (not shown and unscripted) or (len(shown) <= _BARE and _SCRIPT.search(shown) and tree.xpath("//script")):
        return "script"
    return ""


def _offers(tree: HtmlElement, host: str) -> bool:
    """Return whether a page is about its own host, and sends that name along when it links elsewhere."""
    name = host.removeprefix("www.")
    links = (str(each.get("href") or "").lower() for each in tree.iter("a"))
    elsewhere = any(name in link.partition("://")[2].partition("/")[2] for link in links)
    return elsewhere and any(name in each.text_content().lower() for each in tree.iter("h1", "h2"))


def refresh(tree: HtmlElement) -> str:
    """Return the address to which a page redirects within seconds; empty for none."""
    for element in tree.iter("meta"):
        if (element.get("http-equiv") or "").strip().lower() != "refresh" or next(
            element.iterancestors("noscript"), None
        ):
            continue
        found = _REFRESH.fullmatch((element.get("content") or "")[:4_000].strip())
        if found and float(found[1]) <= _SOON_S:
            return (found[2] or found[3] or found[4] or "").strip()
    return ""
