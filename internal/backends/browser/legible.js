// What a test measures on the page: contrast of texts, and lines of long routes.

function parts(color) {
  return color.match(/[\d.]+/g).map(Number);
}

function luminance(color) {
  const [r, g, b] = parts(color).map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// ground returns the color behind an element. The page has no half transparent ones.
function ground(e) {
  for (; e; e = e.parentElement) {
    const color = getComputedStyle(e).backgroundColor;
    if ((parts(color)[3] ?? 1) === 1) return color;
  }
  return "rgb(255, 255, 255)";
}

function faint() {
  const found = new Set();
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const { parentElement: e, data } = walker.currentNode;
    if (!data.trim() || !e.checkVisibility()) continue;
    const [a, b] = [luminance(getComputedStyle(e).color), luminance(ground(e))];
    const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (contrast < 4.5) found.add(`${contrast.toFixed(2)} ${e.tagName}.${e.className}: ${data.trim().slice(0, 40)}`);
  }
  return [...found];
}

// cramped returns the cells of the list whose text would be wider than they are with a large number in it.
function cramped() {
  const found = [];
  for (const cell of document.querySelectorAll("#list tbody td")) {
    const last = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT).lastChild();
    if (!last || !/^\d/.test(last.data) || !cell.checkVisibility()) continue;
    const before = last.data;
    last.data = cell.matches(".c-rej, .c-acc") ? "99,999" : before;
    const range = document.createRange();
    range.selectNodeContents(cell);
    const text = range.getBoundingClientRect(), box = cell.getBoundingClientRect();
    const label = cell.dataset.label && getComputedStyle(cell, "::before").content !== "none" ? "refused " : "";
    const unit = getComputedStyle(cell, "::after").content === "none" ? "" : "/s";
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = getComputedStyle(cell).font;
    const width = text.width + pen.measureText(label + unit).width;
    last.data = before;
    if (width > box.width + 1) found.push(`${cell.className}: ${Math.round(width)} px in ${Math.round(box.width)}`);
  }
  return found;
}

async function linesOfLongRoutes() {
  const longRoute = "/company.platform.commerce.orders.v1alpha1.OrderManagementService/ListOpenOrdersOfAllRegionsWithDetails";
  const { setRoute } = await import("/debug/gate/dom.js");
  const lines = {};
  for (const [place, selector] of Object.entries({
    routes: "#routes tbody th button", holders: "#holders tbody td:nth-child(2) span", rejections: "#rejections tbody td:nth-child(3) span",
  })) {
    const e = document.querySelector(selector);
    if (!e) continue;
    const before = e.textContent;
    setRoute(e, longRoute);
    const range = document.createRange();
    range.selectNodeContents(e);
    lines[place] = new Set([...range.getClientRects()].filter((r) => r.width > 0).map((r) => r.top)).size;
    setRoute(e, before);
  }
  return lines;
}
