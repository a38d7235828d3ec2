// A page that shows this one in a frame may say whether it is light or dark.
addEventListener("message", ({data}) => { if (data === "light" || data === "dark") document.documentElement.style.colorScheme = data; });

// Links inside the page: to a heading, or to the documents that a mark of a plot or a figure of a table is about. The
// browser would follow such a link out of a page without an address of its own.
function follow(target) {
  if (target.startsWith("?")) { show(new URLSearchParams(target)); return; }
  const heading = get(target);
  if (!heading) return;
  for (let outer = heading; outer; outer = outer.parentElement) if (outer.tagName === "DETAILS") outer.open = true;
  heading.scrollIntoView();
  heading.focus({preventScroll: true});
}
document.addEventListener("click", (event) => {
  const link = event.target.closest("a[href^='#']");
  if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  const target = link.getAttribute("href").slice(1);
  if (location.protocol !== "about:") history.replaceState(null, "", "#" + target);
  follow(target);
});
if (location.hash.length > 1) follow(location.hash.slice(1));

// The words of a mark in a plot, which screen readers read, are for the pointer too.
for (const mark of document.querySelectorAll("svg [aria-label][role='graphics-symbol']")) {
  const title = document.createElementNS(mark.namespaceURI, "title");
  title.textContent = mark.getAttribute("aria-label");
  mark.append(title);
  const link = mark.closest("a");
  if (link) link.setAttribute("aria-label", title.textContent);
}

// What is folded on the screen is printed.
addEventListener("beforeprint", () => { for (const folded of document.querySelectorAll("details")) folded.open = true; });

for (const table of document.querySelectorAll("table.sorts")) table.querySelectorAll("thead th").forEach((head, column) => {
  const button = make("button", "", head.textContent);
  if (head.dataset.short) { button.dataset.short = head.dataset.short; button.setAttribute("aria-label", head.textContent); }
  head.replaceChildren(button);
  button.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "descending";
    for (const other of table.querySelectorAll("th")) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const value = (row) => row.cells[column].textContent, number = (text) => parseFloat(text.replaceAll(",", ""));
    const rows = [...table.tBodies[0].rows].sort((a, b) => {
      const [x, y] = [number(value(a)), number(value(b))];
      const order = Number.isNaN(x) && Number.isNaN(y) ? value(b).localeCompare(value(a)) : Number.isNaN(x) ? 1 : Number.isNaN(y) ? -1 : y - x;
      return down && !Number.isNaN(x) && !Number.isNaN(y) ? -order : down && Number.isNaN(x) && Number.isNaN(y) ? -order : order;
    });
    table.tBodies[0].append(...rows);
  });
});
