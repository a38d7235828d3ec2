const get = (id) => document.getElementById(id);
const make = (tag, className, text) => { const e = document.createElement(tag); if (className) e.className = className; if (text !== undefined) e.textContent = text; return e; };
const PER_PAGE = 20, PER_DOCUMENT = 60;
const documents = JSON.parse(get("documents").textContent), bins = JSON.parse(get("bins").textContent);
const COLOUR = {right: "var(--right)", missed: "var(--missed)", spurious: "var(--spurious)", wrong: "var(--wrong)"};
// A document is [name, tokens, items, codes, parts]; an item is [status, kind, component, predictions, reference, number,
// codes]. A prediction is [name, side]; a side is [spans by role, texts by role, labels] or null. An item without sides is
// a number of texts that could not be read. Codes are those of bins.
const spell = (kind) => kind.replaceAll("_", " ");
const kinds = new Map(), components = new Map();
for (const one of documents) {
  let right = 0, predicted = 0, gold = 0;
  for (const [status, kind, component, predictions, reference, number] of one[2]) {
    kinds.set(kind, (kinds.get(kind) || 0) + 1); components.set(component, (components.get(component) || 0) + 1);
    right += status === "right"; gold += Boolean(reference); predicted += status === "right" || predictions.length > 0 ? 1 : number;
  }
  one.errors = one[2].length - right;
  one.f1 = predicted + gold ? 2 * right / (predicted + gold) : 1;
}
const fill = (select, entries) => { for (const [value, text] of entries) { const option = make("option", "", text); option.value = value; select.append(option); } };
const byCount = (map) => [...map].sort((a, b) => b[1] - a[1]).map(([name, n]) => [name, `${spell(name)} (${n})`]);
fill(get("kind"), [["", "everything"], ["*", "all errors"], ...byCount(kinds)]);
fill(get("component"), [["", "every component"], ...byCount(components)]);
let page = 0;
// Filters that come from links: a label on either side, a gold and a predicted label, the code of a bin.
let linked = {};

// A confusion is of a type, or of a subtype, which may be None; the report of labels writes both as one name.
const hasLabel = (side, label) => Boolean(side) && (Object.values(side[2]).includes(label) || `${side[2].type}.${side[2].subtype}` === label || (label === "None" && !("subtype" in side[2])));
function fits(item) {
  const [status, , , predictions, reference, , codes] = item, {label, gold, predicted, bin} = linked;
  if (label !== undefined && !hasLabel(reference, label) && !predictions.some(([, side]) => hasLabel(side, label))) return false;
  if (gold !== undefined && !hasLabel(reference, gold)) return false;
  // Of a right item, only the gold side is there.
  if (predicted !== undefined && !(status === "right" ? hasLabel(reference, predicted) : predictions.some(([, side]) => hasLabel(side, predicted)))) return false;
  return bin === undefined || codes.includes(Number(bin));
}

function matching() {
  const kind = get("kind").value, component = get("component").value, search = get("search").value.toLowerCase();
  const isFiltered = kind || component || Object.keys(linked).length, found = [];
  for (const one of documents) {
    // A bin holds whole documents, or items.
    const whole = linked.bin !== undefined && one[3].includes(Number(linked.bin));
    const items = one[2].filter((item) => (!kind || (kind === "*" ? item[0] !== "right" : item[1] === kind)) && (!component || item[2] === component) && (whole || fits(item)));
    if (isFiltered && !items.length && !(whole && !kind && !component)) continue;
    if (search && !one[0].toLowerCase().includes(search) && !one[1].join(" ").toLowerCase().includes(search)) continue;
    found.push([one, items]);
  }
  const order = get("order").value;
  if (order === "errors") found.sort((a, b) => b[0].errors - a[0].errors);
  if (order === "f1") found.sort((a, b) => a[0].f1 - b[0].f1);
  return found;
}

function spanText(tokens, span) {
  const parts = [];
  span.forEach((at, i) => { if (i && at !== span[i - 1] + 1) parts.push("…"); parts.push(tokens[at] ?? `[${at}]`); });
  return parts.join(" ");
}

function describe(side, tokens) {
  const box = make("span");
  const roles = new Set([...Object.keys(side[0]), ...Object.keys(side[1])]);
  let first = true;
  for (const role of roles) {
    if (!first) box.append(make("span", "arrow", " → "));
    first = false;
    if (roles.size > 1) box.append(make("span", "role", role + " "));
    box.append(make("bdi", "", side[1][role] ?? spanText(tokens, side[0][role])));
  }
  const labels = Object.values(side[2]);
  if (labels.length) { box.append(make("span", "arrow", first ? "" : " : ")); box.append(make("bdi", "", labels.join(", "))); }
  return box;
}

const sidesOf = (item) => [...item[3].map(([, side]) => side), item[4]].filter(Boolean);

function marks(items) {
  const at = new Map();
  items.forEach((item, number) => { for (const side of sidesOf(item)) for (const span of Object.values(side[0])) for (const token of span) {
    if (!at.has(token)) at.set(token, [new Set(), number]);
    at.get(token)[0].add(item[0]);
  } });
  return at;
}

function drawText(name, tokens, parts, items, choose) {
  const text = make("div", "text"), marked = marks(items), places = new Map(), starts = new Map(parts.map(([part, at]) => [at, part]));
  text.dir = "auto"; text.tabIndex = 0; text.setAttribute("role", "group"); text.setAttribute("aria-label", "text of " + name);
  let run = [];
  const flush = () => { if (run.length) text.append(document.createTextNode(run.join(" ") + " ")); run = []; };
  tokens.forEach((token, at) => {
    if (starts.has(at)) { flush(); text.append(make("span", "part", starts.get(at))); }
    const mark = marked.get(at);
    if (!mark) { run.push(token); return; }
    flush();
    const word = make("bdi", "", token), colours = [...mark[0]].map((status) => COLOUR[status]);
    word.style.background = colours.length === 1 ? colours[0] : `linear-gradient(${colours.map((c, i) => `${c} ${100 * i / colours.length}% ${100 * (i + 1) / colours.length}%`).join(",")})`;
    word.title = [...mark[0]].join(", ");
    word.addEventListener("click", () => choose(mark[1]));
    places.set(at, word);
    text.append(word, " ");
  });
  flush();
  return [text, places];
}

function drawDocument([one, items]) {
  const [name, tokens, , , parts] = one, box = make("article", "document");
  box.append(make("h3", "name", name));
  const list = make("ul", "items"), buttons = [];
  let selected = -1, shown = 0;
  const choose = (number) => {
    selected = selected === number ? -1 : number;
    while (shown <= selected) more();
    for (const word of places.values()) { word.classList.remove("gold", "guess"); delete word.dataset.role; }
    text.classList.toggle("chosen", selected >= 0);
    buttons.forEach((button, at) => button.setAttribute("aria-pressed", at === selected));
    if (selected < 0) return;
    for (const [side, mark] of [...items[selected][3].map(([, side]) => [side, "guess"]), [items[selected][4], "gold"]]) if (side)
      for (const [role, span] of Object.entries(side[0])) span.forEach((at, i) => {
        const word = places.get(at);
        if (!word) return;
        word.classList.add(mark);
        if (span[i + 1] !== at + 1) word.dataset.role = role;
      });
    // A long text scrolls in its own box. The page stays where it is, so that the chosen item does not move away.
    const word = text.querySelector(".gold, .guess");
    if (!word) return;
    const [inner, outer] = [word.getBoundingClientRect(), text.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) text.scrollTop += inner.top - outer.top - text.clientHeight / 3;
  };
  const [text, places] = drawText(name, tokens, parts, items, choose);
  const more = () => {
    for (const item of items.slice(shown, shown + PER_DOCUMENT)) {
      const line = make("li"), button = make("button"), number = shown++;
      line.append(make("span", "badge " + item[0], spell(item[1])));
      if (components.size > 1) button.append(make("span", "role", spell(item[2]) + ": "));
      if (item[4]) button.append(describe(item[4], tokens));
      for (const [who, side] of item[3]) {
        if (item[4]) button.append(make("span", "role", who ? ` — ${who} ` : " — predicted "));
        button.append(describe(side, tokens));
      }
      if (item[5]) button.append(make("span", "role", item[5] === 1 ? "a text that cannot be read" : `${item[5]} texts that cannot be read`));
      button.setAttribute("aria-pressed", "false");
      button.addEventListener("click", () => choose(number));
      buttons.push(button); line.append(button); list.append(line);
    }
    rest.hidden = shown >= items.length;
    rest.textContent = `${items.length - shown} more items`;
  };
  const rest = make("button");
  rest.addEventListener("click", more);
  more();
  box.append(text, list, rest);
  return box;
}

function draw() {
  const found = matching(), pages = Math.max(1, Math.ceil(found.length / PER_PAGE));
  page = Math.min(Math.max(page, 0), pages - 1);
  get("list").replaceChildren(...found.slice(page * PER_PAGE, (page + 1) * PER_PAGE).map(drawDocument));
  get("page").textContent = `${page + 1} of ${pages}`;
  get("found").textContent = `${found.length} of ${documents.length} documents`;
  get("back").disabled = page === 0; get("next").disabled = page === pages - 1;
  const names = {label: (v) => "label " + v, gold: (v) => "gold " + v, predicted: (v) => "predicted " + v, bin: (v) => bins[v] ?? "bin " + v};
  get("filters").replaceChildren(...Object.entries(linked).map(([name, value]) => {
    const button = make("button", "", names[name](value) + " ×");
    button.setAttribute("aria-label", "no longer filter by " + names[name](value));
    button.addEventListener("click", () => { delete linked[name]; page = 0; draw(); get("documents-heading").focus({preventScroll: true}); });
    return button;
  }));
}

// Show the documents that a link is about.
function show(wanted) {
  const choose = (id, value) => { get(id).value = value; if (get(id).value !== value) get(id).value = ""; };
  choose("kind", wanted.get("kind") ?? ""); choose("component", wanted.get("component") ?? "");
  get("search").value = "";
  linked = Object.fromEntries(["label", "gold", "predicted", "bin"].filter((name) => wanted.has(name)).map((name) => [name, wanted.get(name)]));
  page = 0;
  draw();
  get("documents-heading").scrollIntoView();
  get("documents-heading").focus({preventScroll: true});
}
for (const id of ["kind", "component", "search", "order"]) for (const event of ["input", "change"]) get(id).addEventListener(event, () => { page = 0; draw(); });
get("back").addEventListener("click", () => { page--; draw(); });
get("next").addEventListener("click", () => { page++; draw(); get("documents-heading").scrollIntoView(); });
draw();
