// Draws reports with citation marks, and the lanes of agents that work at once; follows the rounds of a live run; opens
// the search over everything; keeps the theme; closes the menu of a phone.
// All text arrives as data and is set as text: nothing here parses HTML.

const SVG = "http://www.w3.org/2000/svg";
const MATHML = "http://www.w3.org/1998/Math/MathML";
const MATH = /^(math|m[ino]|mtext|mspace|mrow|mfrac|msqrt|mroot|msu[bp]|msubsup|munder|mover|munderover|mstyle|mpadded|menclose|mtable|mt[rd])$/;
const MATH_LOOKS = /^(mathvariant|stretchy|fence|form|accent|linethickness|columnalign|displaystyle)$/;
const SIGNS = {
  supported: ["M2.5 6.5 5 9l4.5-6"],
  calculated: ["M2.5 4.5h7", "M2.5 7.5h7"],
  partial: ["M2 7c1.2-2.4 2.6-2.4 4 0s2.8 2.4 4 0"],
  unverified: ["M6 2.5a3.5 3.5 0 1 0 0 7a3.5 3.5 0 1 0 0-7"],
  unsupported: ["M3 3l6 6", "M9 3l-6 6"],
  contradicted: ["M3 3l6 6", "M9 3l-6 6"],
  dead: ["M2.5 9.5l7-7", "M3.5 6h1", "M7.5 6h1"],
};
const SHORT = 16; // characters of a cell that stay on one line
const LEVELS = { 1: "h2", 2: "h3", 3: "h4", 4: "h5", 5: "h6", 6: "h6" };

function make(tag, className, text) {
  const element = document.createElement(tag);
  if (className) element.className = className;
  if (text !== undefined) element.textContent = text;
  return element;
}

function sign(verdict) {
  const drawn = document.createElementNS(SVG, "svg");
  drawn.setAttribute("viewBox", "0 0 12 12");
  drawn.setAttribute("aria-hidden", "true");
  for (const each of SIGNS[verdict] || []) {
    const line = document.createElementNS(SVG, "path");
    line.setAttribute("d", each);
    drawn.append(line);
  }
  return drawn;
}

function formula(each) {
  const drawn = document.createElementNS(MATHML, MATH.test(each.t) ? each.t : "mrow");
  for (const [name, value] of Object.entries(each.a || {})) if (MATH_LOOKS.test(name)) drawn.setAttribute(name, value);
  if (each.x) drawn.append(each.x);
  drawn.append(...(each.b || []).map(formula));
  return drawn;
}

// -- A report ------------------------------------------------------------------------------------------------------

class Report {
  constructor(root) {
    this.root = root;
    this.panel = null;
    this.from = null;
    this.pinned = false;
    this.timer = 0;
    this.outside = (event) => {
      if (this.panel && !this.panel.contains(event.target) && !(this.from && this.from.contains(event.target))) this.close();
    };
    this.keys = (event) => {
      if (event.key === "Escape" && this.panel) {
        event.stopPropagation();
        this.close(true);
      }
    };
    document.addEventListener("pointerdown", this.outside, true);
    document.addEventListener("keydown", this.keys, true);
  }

  end() {
    document.removeEventListener("pointerdown", this.outside, true);
    document.removeEventListener("keydown", this.keys, true);
    clearTimeout(this.timer);
  }

  draw(data) {
    const open = this.panel && this.from ? this.from.dataset.place : null;
    const pinned = this.pinned;
    this.close();
    this.data = data;
    this.root.lang = data.lang || "";
    this.drawBlocks(data);
    if (data.caret) {
      const last = [...this.root.querySelectorAll("p, li, h2, h3, h4, h5, h6, code")].pop() || this.root;
      last.append(make("span", "rw-caret"));
    }
    const again = open === null ? null : this.root.querySelector(`[data-place="${open}"]`);
    if (again) this.open(again, pinned, false);
  }

  // A block that is still the same stays, with what the reader has selected in it.
  drawBlocks(data) {
    const marked = (name, value) => (name === "m" ? [value, data.marks[value], data.marks[value].c.map((place) => data.cites[place])] : value);
    const said = data.blocks.map((each) => JSON.stringify(each, marked));
    for (const caret of this.root.querySelectorAll(".rw-caret")) caret.remove();
    const before = this.said || [];
    let same = 0;
    while (same < said.length && said[same] === before[same] && this.root.children[same]) same += 1;
    while (this.root.children.length > same) this.root.lastElementChild.remove();
    this.root.append(...this.blocks(data.blocks.slice(same)));
    this.said = said;
  }

  blocks(all) {
    return all.map((each) => this.block(each));
  }

  block(each) {
    const element = this.bare(each);
    if (!each.state) return element;
    element.classList.add("rw-became", `rw-${each.state}`);
    const tag = each.before ? make("button", "rw-tag", each.says) : make("span", "rw-tag", each.says);
    if (each.before) {
      tag.type = "button";
      tag.title = this.data.words.before;
      tag.setAttribute("aria-haspopup", "dialog");
      this.opens(tag, () => this.former(each.before));
    }
    (element.tagName === "UL" || element.tagName === "OL" ? element.lastElementChild : element).append(" ", tag);
    return element;
  }

  bare(each) {
    switch (each.t) {
      case "h": {
        const heading = make(LEVELS[each.l] || "h6");
        heading.append(...this.spans(each.s));
        return heading;
      }
      case "ul":
      case "ol": {
        const list = make(each.t);
        if (each.start !== undefined && each.start !== 1) list.start = each.start;
        for (const item of each.items) {
          const line = make("li");
          // An item of one paragraph needs no paragraph of its own.
          if (item.length === 1 && item[0].t === "p") line.append(...this.spans(item[0].s));
          else line.append(...this.blocks(item));
          if (/^[\u2610\u2611] /.test(line.textContent)) line.className = "rw-task";
          list.append(line);
        }
        return list;
      }
      case "q": {
        const quote = make("blockquote");
        quote.append(...this.blocks(each.b));
        return quote;
      }
      case "code": {
        const code = make("pre");
        code.tabIndex = 0;
        code.append(make("code", "", each.x));
        return code;
      }
      case "calc": {
        const fold = make("details", "rw-calc");
        fold.append(make("summary", "", this.data.words.calculation));
        const body = make("p");
        body.append(...this.spans(each.s));
        fold.append(body);
        return fold;
      }
      case "hr":
        return make("hr");
      case "table":
        return this.table(each);
      default: {
        // A formula that is wider than the page scrolls, as a table does.
        const alone = each.s.length === 1 && each.s[0].d;
        const paragraph = make("p", alone ? "rw-wide" : "");
        if (alone) paragraph.tabIndex = 0;
        paragraph.append(...this.spans(each.s));
        return paragraph;
      }
    }
  }

  table(each) {
    const wide = make("div", "rw-wide");
    const table = make("table");
    const row = (cells, tag) => {
      const line = make("tr");
      cells.forEach((cell, place) => {
        const drawn = make(tag, `rw-${each.align[place] || "left"}`);
        drawn.append(...this.spans(cell));
        if (drawn.textContent.length <= SHORT) drawn.classList.add("rw-short");
        line.append(drawn);
      });
      return line;
    };
    const head = make("thead");
    head.append(row(each.head, "th"));
    const body = make("tbody");
    body.append(...each.rows.map((cells) => row(cells, "td")));
    table.append(head, body);
    wide.append(table);
    wide.tabIndex = 0;
    wide.setAttribute("role", "group");
    return wide;
  }

  spans(all) {
    const drawn = [];
    for (let place = 0; place < all.length; place += 1) {
      const each = all[place];
      if (each.m === undefined) {
        drawn.push(typeof each === "string" ? document.createTextNode(each) : this.span(each));
        continue;
      }
      // A mark stays on the line of the word before it, and the full stop after it on that of the mark.
      const kept = make("span", "rw-keep");
      const before = drawn[drawn.length - 1];
      if (before && before.nodeType === Node.TEXT_NODE) {
        const last = before.data.match(/[^\s\u3000-\u9fff]{1,24}\s*$|[\u3000-\u9fff]\s*$/);
        if (last) {
          before.data = before.data.slice(0, last.index);
          kept.append(last[0]);
        }
      }
      kept.append(this.mark(each.m));
      const after = all[place + 1];
      const stop = typeof after === "string" ? after.match(/^[.,;:!?)\u3001\u3002\uff0c\uff1b\uff1a\uff09]+/) : null;
      if (stop) {
        kept.append(stop[0]);
        all = [...all.slice(0, place + 1), after.slice(stop[0].length), ...all.slice(place + 2)];
      }
      drawn.push(kept);
    }
    return drawn;
  }

  span(each) {
    if (each.m !== undefined) return this.mark(each.m);
    if (each.br) return make("br");
    if (each.f) {
      const drawn = formula(each.f);
      if (each.d) drawn.setAttribute("display", "block");
      return drawn;
    }
    let drawn = document.createTextNode(each.x);
    const around = (tag, className) => {
      const outer = make(tag, className);
      outer.append(drawn);
      drawn = outer;
    };
    if (each.c) around("code");
    if (each.s) around("s");
    if (each.i) around("em");
    if (each.b) around("strong");
    if (each.new) around("ins");
    if (each.h && /^(https?:|mailto:)/i.test(each.h)) {
      around("a");
      drawn.href = each.h;
      drawn.target = "_blank";
      drawn.rel = "noopener noreferrer";
    }
    return drawn;
  }

  mark(place) {
    const own = this.data.marks[place];
    const button = make("button", `rw-mark rw-${own.v || "plain"}`);
    button.type = "button";
    button.dataset.place = place;
    button.setAttribute("aria-label", own.label);
    button.setAttribute("aria-haspopup", "dialog");
    button.setAttribute("aria-expanded", "false");
    if (SIGNS[own.v]) button.append(sign(own.v));
    button.append(make("span", "rw-hidden", "["), own.n.join(", ") || "?", make("span", "rw-hidden", "]"));
    this.opens(button, () => this.quotes(own));
    return button;
  }

  opens(button, content) {
    button.content = content;
    button.addEventListener("click", () => {
      if (this.from === button && this.pinned) this.close(true);
      else this.open(button, true, true);
    });
    button.addEventListener("pointerenter", (event) => {
      if (event.pointerType !== "mouse" || this.pinned) return;
      clearTimeout(this.timer);
      this.timer = setTimeout(() => this.open(button, false, false), 250);
    });
    button.addEventListener("pointerleave", () => this.leave());
  }

  leave() {
    clearTimeout(this.timer);
    if (!this.pinned) this.timer = setTimeout(() => this.close(), 300);
  }

  open(button, pinned, focus) {
    this.close();
    this.from = button;
    this.pinned = pinned;
    button.setAttribute("aria-expanded", "true");
    const panel = (this.panel = make("div", "rw-panel"));
    panel.tabIndex = -1;
    panel.setAttribute("role", "dialog");
    panel.setAttribute("aria-label", button.getAttribute("aria-label") || this.data.words.before);
    panel.append(...button.content());
    panel.addEventListener("pointerenter", () => clearTimeout(this.timer));
    panel.addEventListener("pointerleave", () => this.leave());
    this.root.append(panel);
    this.place();
    if (focus) panel.focus({ preventScroll: true });
  }

  // Beside the text where the page has a margin for it, else below the line of the mark.
  place() {
    const root = this.root.getBoundingClientRect();
    const mark = this.from.getBoundingClientRect();
    const text = this.from.closest("p, li, h2, h3, h4, h5, h6, table") || this.from;
    const edge = Math.max(text.getBoundingClientRect().right, mark.right) + 20;
    const room = document.documentElement.clientWidth - edge - 24;
    if (room >= 230) {
      this.panel.style.left = `${edge - root.left}px`;
      this.panel.style.width = `${Math.min(340, room)}px`;
      this.panel.style.top = `${mark.top - root.top - 10}px`;
    } else {
      const width = Math.min(440, root.width);
      this.panel.style.width = `${width}px`;
      this.panel.style.left = `${Math.max(0, Math.min(mark.left - root.left - 24, root.width - width))}px`;
      this.panel.style.top = `${mark.bottom - root.top + 8}px`;
    }
  }

  close(back) {
    clearTimeout(this.timer);
    if (this.panel) this.panel.remove();
    if (this.from) {
      this.from.setAttribute("aria-expanded", "false");
      if (back) this.from.focus({ preventScroll: true });
    }
    this.panel = this.from = null;
    this.pinned = false;
  }

  former(text) {
    return [make("div", "rw-title", this.data.words.before), make("div", "rw-quote", text)];
  }

  quotes(own) {
    return own.c.map((place) => {
      const cite = this.data.cites[place];
      const part = make("div", "rw-cite");
      if (cite.title) part.append(make("div", "rw-title", `${cite.n}  ${cite.title}`));
      if (cite.says) {
        const verdict = make("div", `rw-verdict rw-${cite.v}`);
        verdict.append(sign(cite.v), make("span", "", cite.says));
        part.append(verdict);
      }
      if (cite.quote.length) {
        const quote = make("div", "rw-quote");
        for (const line of cite.quote) quote.append(make("div", "", line));
        part.append(quote);
      }
      for (const line of cite.notes) part.append(make("div", "rw-note", line));
      for (const [label, href] of cite.links) {
        const link = make("a", "rw-link", label);
        link.href = href;
        if (/^https?:/i.test(href)) {
          link.target = "_blank";
          link.rel = "noopener noreferrer";
        }
        part.append(link);
      }
      return part;
    });
  }
}

// -- Lanes ---------------------------------------------------------------------------------------------------------

function lanes(root, data) {
  const rows = data.lanes.map((lane) => {
    const row = make("div", "rw-lane");
    row.append(make("span", "rw-lane-name", lane.name));
    const track = make("span", "rw-track");
    track.setAttribute("aria-hidden", "true");
    for (const [doing, from, to] of lane.spans) {
      const bar = make("span", `rw-bar rw-${doing}`);
      bar.style.left = `${(100 * from).toFixed(2)}%`;
      bar.style.width = `${Math.max(0.4, 100 * (to - from)).toFixed(2)}%`;
      track.append(bar);
    }
    row.append(track, make("span", `rw-lane-state${lane.live ? " rw-live" : ""}`, lane.state));
    return row;
  });
  root.replaceChildren(...rows);
}

// -- A live run ----------------------------------------------------------------------------------------------------

const NEAR = 48; // pixels from the end of the list that still count as its end

// Keeps the newest round in sight until the reader scrolls away; then a button leads back.
class Follower {
  constructor(root, words) {
    this.main = root.closest('[data-testid="stMain"]');
    this.away = false;
    this.top = 0;
    this.button = make("button", "rw-latest", words.latest);
    this.button.type = "button";
    this.button.addEventListener("click", () => this.turn(false));
    root.append(this.button);
    this.scrolled = () => this.read();
    this.changes = new MutationObserver(() => this.move());
    this.changes.observe(this.main, { subtree: true, childList: true, characterData: true });
    this.turn(false);
    holdPage(this.main);
  }

  end() {
    this.changes.disconnect();
    if (this.list) this.list.removeEventListener("scroll", this.scrolled);
  }

  turn(away) {
    this.away = away;
    this.button.hidden = !away;
    this.move();
  }

  move() {
    const list = this.main.querySelector(".st-key-rounds");
    const anew = list !== this.list;
    if (anew) {
      if (this.list) this.list.removeEventListener("scroll", this.scrolled);
      this.list = list;
      if (list) list.addEventListener("scroll", this.scrolled, { passive: true });
    }
    if (!list) return;
    const room = window.innerHeight - list.getBoundingClientRect().top - 16;
    list.style.maxHeight = window.matchMedia("(min-width: 641px)").matches ? `${Math.max(240, room)}px` : "";
    list.style.setProperty("--rw-hold", this.away ? `${this.top + list.clientHeight}px` : "0px");
    list.style.overflowAnchor = this.away ? "auto" : "none";
    if (!this.away) list.scrollTop = list.scrollHeight;
    else if (anew) list.scrollTop = this.top;
    this.top = list.scrollTop;
  }

  read() {
    const { scrollTop, scrollHeight, clientHeight } = this.list;
    const left = scrollHeight - scrollTop - clientHeight;
    const away = left > NEAR && (this.away || scrollTop < this.top);
    this.top = scrollTop;
    if (away !== this.away) this.turn(away);
    else this.move();
  }
}

// Keeps the page as long as the reader has scrolled, so that a part that is drawn anew does not throw them back.
function holdPage(main) {
  if (drawn.has(main)) return;
  drawn.set(main, true);
  const hold = () => {
    const run = main.querySelector(".st-key-run");
    if (!run) return;
    const seen = main.getBoundingClientRect().bottom - run.getBoundingClientRect().top;
    main.style.setProperty("--rw-hold-page", main.scrollTop > 0 ? `${Math.floor(seen)}px` : "0px");
  };
  main.addEventListener("scroll", hold, { passive: true });
}

// A follow-up opens another run in the same page: it is read from its head, not from where it was asked.
const openedRun = () => new URLSearchParams(location.search).get("run");
let opened = openedRun();
window.navigation?.addEventListener("currententrychange", () => {
  const run = openedRun();
  if (run && opened && run !== opened) document.querySelector('[data-testid="stMain"]')?.scrollTo(0, 0);
  opened = run;
});

// -- An outage -----------------------------------------------------------------------------------------------------

// A page that was open while the server restarted may have missed a part of Streamlit's script: it loads itself again
// once the server answers, but not over and over.
const RELOADED = "rw-reloaded";
const ONCE_MS = 60_000;
window.addEventListener("vite:preloadError", async () => {
  if (Date.now() - Number(sessionStorage.getItem(RELOADED)) < ONCE_MS) return;
  sessionStorage.setItem(RELOADED, Date.now());
  const health = new URL("_stcore/health", document.baseURI);
  const answers = () => fetch(health, { cache: "no-store" }).then((answer) => answer.ok, () => false);
  while (!(await answers())) await new Promise((next) => { setTimeout(next, 1_000); });
  location.reload();
});

// -- The question box ------------------------------------------------------------------------------------------------

// Shows that a click on Start has arrived before the server answers, whichever box Streamlit has drawn meanwhile.
function starts(event) {
  const sheet = event.target.closest(".st-key-composer");
  const box = sheet && sheet.querySelector("textarea");
  const asked = event.type === "click"
    ? event.target.closest(".st-key-start button")
    : event.key === "Enter" && (event.ctrlKey || event.metaKey);
  if (asked && box && box.value.trim()) sheet.dataset.starting = "1";
}
document.addEventListener("click", starts, true);
document.addEventListener("keydown", starts, true);

// Enter asks, Shift+Enter breaks the line.  A finger has no Shift, and the Enter that ends a composition is the composer's.
function asks(event) {
  if (event.key !== "Enter" || event.isComposing || event.keyCode === COMPOSING) return;
  if (event.shiftKey || event.ctrlKey || event.metaKey || event.altKey || !send(event.target)) return;
  event.preventDefault();
  event.stopPropagation();
}
const COMPOSING = 229; // what Safari says of the Enter that ends a composition

// Presses the button of a question box; returns whether it is one.
function send(box) {
  const sheet = box.tagName === "TEXTAREA" && box.closest(".st-key-composer, [data-testid='stForm']:has([class*='st-key-follow-up-'])");
  const button = sheet && sheet.querySelector(".st-key-start button, [data-testid='stFormSubmitButton'] button");
  if (!button || window.matchMedia("(pointer: coarse)").matches) return false;
  box.blur(); // so that Streamlit has the text, as before a click
  button.click();
  box.focus({ preventScroll: true });
  return true;
}
document.addEventListener("keydown", asks, true);
const early = document.activeElement; // an Enter that came before this script has left its line break in the box
if (early && early.tagName === "TEXTAREA" && early.value.trim() && early.value.endsWith("\n")) send(early);

// Puts the cursor into an empty page.
function composer(parentElement) {
  const sheet = parentElement.ownerDocument.querySelector(".st-key-composer");
  if (!sheet) return;
  delete sheet.dataset.starting;
  const box = sheet.querySelector("textarea");
  const idle = document.activeElement === document.body || document.activeElement === null;
  if (box && idle && !drawn.has(sheet) && window.matchMedia("(pointer: fine)").matches) box.focus({ preventScroll: true });
  drawn.set(sheet, true);
}

// -- The search over everything --------------------------------------------------------------------------------------

// Opens the search with Ctrl-K or ⌘K from every page and text box; the arrows move between its box and its results.
function searches(event) {
  const dialog = document.querySelector(".st-key-search-dialog");
  if (event.key.toLowerCase() === "k" && (event.ctrlKey || event.metaKey) && !event.shiftKey && !event.altKey) {
    const button = document.querySelector(".st-key-search-open button");
    if (!button) return;
    event.preventDefault();
    event.stopPropagation();
    if (dialog) dialog.querySelector("input").focus();
    else if (!document.querySelector('[role="dialog"]')) button.click();
  } else if (dialog && (event.key === "ArrowDown" || event.key === "ArrowUp")) {
    const stops = [dialog.querySelector("input"), ...dialog.querySelectorAll(".st-key-search-results button")];
    const place = stops.indexOf(document.activeElement);
    if (place < 0) return;
    event.preventDefault();
    (stops[place + (event.key === "ArrowDown" ? 1 : -1)] || stops[place]).focus();
  }
}
document.addEventListener("keydown", searches, true);

// Puts the cursor into the box of the dialog that the button opens, with what was typed before the server answered.
document.addEventListener("click", (event) => {
  if (!event.target.closest(".st-key-search-open button") || document.querySelector(".st-key-search-dialog")) return;
  let typed = "";
  const early = (key) => {
    if (key.key.length > 1 || key.ctrlKey || key.metaKey || key.altKey) return;
    key.preventDefault();
    key.stopPropagation();
    typed += key.key;
  };
  const opened = new MutationObserver(() => {
    const box = document.querySelector(".st-key-search-dialog input");
    if (box) end(box);
  });
  const end = (box) => {
    opened.disconnect();
    clearTimeout(late);
    document.removeEventListener("keydown", early, true);
    if (!box) return;
    box.focus();
    if (typed) document.execCommand("insertText", false, typed);
  };
  const late = setTimeout(end, OPENS_MS);
  document.addEventListener("keydown", early, true);
  opened.observe(document.body, { subtree: true, childList: true });
}, true);
const OPENS_MS = 10_000; // a server that has not answered by then gets no letters any more

// -- What all pages share ------------------------------------------------------------------------------------------------

// Streamlit keeps the reader's theme for the address at which the page was loaded: here it holds for those of all pages.
const LOADED = new URL(performance.getEntriesByType("navigation")[0].name).pathname;
let pages = [];
function keepTheme() {
  const start = `stActiveTheme-${LOADED}-v`;
  const key = Object.keys(localStorage).find((each) => each.startsWith(start));
  if (!key) return;
  const own = pages.find((page) => page && LOADED.endsWith(`/${page}`)) || "";
  const base = LOADED.slice(0, LOADED.length - own.length).replace(/\/?$/, "/");
  for (const page of pages) localStorage.setItem(key.replace(LOADED, base + page), localStorage.getItem(key));
}

// On a phone the menu lies over the page: it closes once a page is chosen.
function closeMenu(event) {
  if (event.ctrlKey || event.metaKey || event.shiftKey) return; // the page opens elsewhere
  document.querySelector('[data-testid="stSidebarCollapseButton"] button')?.click();
}

// Later, so that Streamlit has heard the click.
document.addEventListener("click", (event) => {
  if (event.target.closest('[data-testid^="stMainMenuItem-theme-"]')) setTimeout(keepTheme);
  if (event.target.closest('[data-testid="stSidebarNavLink"]')) setTimeout(closeMenu, 0, event);
}, true);

// -- A document of the library -------------------------------------------------------------------------------------------

// Shows the quote at once, which Streamlit may draw a moment later; the reader then scrolls away from it undisturbed.
function showQuote(parentElement) {
  if (drawn.has(parentElement)) return undefined;
  drawn.set(parentElement, true);
  const changes = new MutationObserver(show);
  function show() {
    const quote = document.querySelector(".st-key-document .stMarkdownColoredBackground");
    if (!quote) return;
    changes.disconnect();
    quote.scrollIntoView({ block: "center" });
  }
  changes.observe(document.body, { subtree: true, childList: true });
  show();
  return () => changes.disconnect();
}

const drawn = new WeakMap();

function follow(parentElement, words) {
  if (!parentElement.isConnected) return undefined; // a page that is left at this moment has taken it out already
  let own = drawn.get(parentElement);
  if (!own) {
    const root = make("div", "rw-follow");
    parentElement.append(root);
    own = { root, follower: new Follower(root, words) };
    drawn.set(parentElement, own);
  }
  return () => {
    own.follower.end();
    own.root.remove();
    drawn.delete(parentElement);
  };
}

export default function (component) {
  const { data, parentElement } = component;
  if (data.kind === "search") return void (pages = data.pages); // the script has to be there, nothing is drawn
  if (data.kind === "quote") return showQuote(parentElement);
  if (data.kind === "language") return void (document.cookie = `${data.cookie}; path=/; max-age=31536000; samesite=lax`);
  if (data.kind === "composer") return composer(parentElement);
  if (data.kind === "follow") return follow(parentElement, data.words);
  let own = drawn.get(parentElement);
  if (!own) {
    const root = make("div", data.kind === "lanes" ? "rw-lanes" : "rw-report");
    parentElement.append(root);
    own = { root, report: data.kind === "lanes" ? null : new Report(root), said: "" };
    drawn.set(parentElement, own);
  }
  const said = JSON.stringify(data);
  if (said !== own.said) {
    own.said = said;
    if (own.report) own.report.draw(data);
    else lanes(own.root, data);
  }
  return () => {
    if (own.report) own.report.end();
    own.root.remove();
    drawn.delete(parentElement);
  };
}
