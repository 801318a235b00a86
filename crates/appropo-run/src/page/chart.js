// Drawing: elements, the tooltip and axes. Colours come from classes, so that a theme or a printer can change them
// without drawing again.

function element(namespace, tag, attributes, children) {
  const made = namespace ? document.createElementNS(namespace, tag) : document.createElement(tag);
  for (const [key, value] of Object.entries(attributes ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
    else made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return made;
}
const html = (tag, attributes, ...children) => element(null, tag, attributes, children);
const svg = (tag, attributes, ...children) =>
  element("http://www.w3.org/2000/svg", tag, attributes, children);

let lastId = 0;
const freshId = () => `id-${++lastId}`;

/** Series take six colours in turn, then the same with other dashes. */
const seriesClass = (i) => `series c${i % 6} d${Math.floor(i / 6) % 4}`;
const DIAMOND = "m-4 0l4 -4l4 4l-4 4z";
const swatch = (className) =>
  svg(
    "svg",
    { class: "swatch", viewBox: "0 0 24 8", width: 24, height: 8, "aria-hidden": "true" },
    className === "policy"
      ? svg("path", { class: className, d: `M12 4${DIAMOND}` })
      : svg("line", { class: className, x1: 0, x2: 24, y1: 4, y2: 4 }),
  );
const legend = (entries) =>
  html(
    "ul",
    { class: "legend" },
    entries.map(([name, className]) => html("li", {}, swatch(className), name)),
  );

const tooltip = html("div", { class: "tooltip", role: "status", "aria-live": "polite", hidden: true });

function showTooltip(x, y, title, rows) {
  tooltip.replaceChildren(
    html("strong", {}, title),
    html(
      "table",
      {},
      rows.map(([name, value, className]) =>
        html(
          "tr",
          {},
          html("th", { scope: "row" }, className ? swatch(className) : null, name),
          html("td", {}, value),
        ),
      ),
    ),
  );
  tooltip.hidden = false;
  const { width, height } = tooltip.getBoundingClientRect();
  const right = document.documentElement.clientWidth;
  const left = x + 14 + width < right ? x + 14 : x - 14 - width;
  const above = y - 14 - height;
  tooltip.style.left = `${Math.max(4, Math.min(left, right - width - 4))}px`;
  tooltip.style.top = `${above > 4 ? above : y + 18}px`;
}

/** What the tooltip speaks of, if anything. */
let explored = null;
document.addEventListener("pointerdown", ({ target }) => {
  if (explored && !explored.root.contains(target)) explored.leave();
});
addEventListener("scroll", () => explored?.follow(), { passive: true });

/**
 * Lets pointer, touch and arrow keys walk over a drawing. `at(x, y)` is what lies nearest to a place,
 * `step(key, dx, dy)` its neighbour, `first` where the keyboard starts; `show(key)` marks it and returns
 * {x, y, title, rows}.
 */
function explorable(root, { at, step, first, show, hide }) {
  let key = null;
  const tell = (next) => {
    if (explored && explored.root !== root) explored.leave();
    explored = { root, leave, follow };
    key = next;
    const { x, y, title, rows } = show(key);
    const box = root.getBoundingClientRect();
    const zoom = box.width / root.viewBox.baseVal.width;
    showTooltip(box.left + x * zoom, box.top + y * zoom, title, rows);
  };
  const leave = () => {
    key = null;
    explored = null;
    hide();
    tooltip.hidden = true;
  };
  // Tabbing to a chart scrolls it into view; the tooltip goes with it.
  const follow = () => (root.matches(":focus-visible") ? tell(key) : leave());
  const point = (event) => {
    const box = root.getBoundingClientRect();
    const zoom = box.width / root.viewBox.baseVal.width;
    tell(at((event.clientX - box.left) / zoom, (event.clientY - box.top) / zoom));
  };
  const arrows = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] };
  root.setAttribute("tabindex", "0");
  root.addEventListener("pointermove", point);
  root.addEventListener("pointerdown", point);
  // A finger leaves when it is lifted, which is when one wants to read.
  root.addEventListener("pointerleave", (event) => {
    if (event.pointerType !== "touch") leave();
  });
  root.addEventListener("focus", () => {
    if (root.matches(":focus-visible")) tell(key ?? first);
  });
  root.addEventListener("blur", leave);
  root.addEventListener("keydown", (event) => {
    if (event.key === "Escape") return leave();
    const [dx, dy] = arrows[event.key] ?? [0, 0];
    if (!dx && !dy) return;
    event.preventDefault();
    const many = event.shiftKey ? 10 : 1;
    tell(key === null ? first : step(key, dx * many, dy * many));
  });
}

const allDrawings = new Map();
// The observer brings the widths with it; asking each place for its own would lay the page out again every time.
const widths = new ResizeObserver((entries) => {
  for (const { target, contentRect } of entries) allDrawings.get(target).fit(contentRect.width);
});

/** A place that `draw(width)` fills, and fills again when its width changes. What is folded away waits. */
function drawing(draw) {
  const place = html("div", { class: "drawing" });
  let drawn = 0;
  const redraw = (width = place.clientWidth) => {
    drawn = width;
    if (width > 0) place.replaceChildren(draw(Math.floor(width)));
  };
  const fit = (width = place.clientWidth) => {
    if (Math.abs(width - drawn) >= 1) redraw(width);
  };
  const made = { place, redraw, fit };
  allDrawings.set(place, made);
  widths.observe(place);
  return made;
}

/** Where a frame starts: the same for all charts, unless their labels need more room. */
const leftOf = (y) => Math.max(54, ...y.ticks.map((tick) => 12 + 6.4 * tick.label.length));

/** An empty picture with its axes; `frame` is {left, right, top, bottom}. */
function axes(width, height, frame, x, y, { label, xTitle, yTitle }) {
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    role: "img",
    "aria-label": label,
    class: "chart",
  });
  const grid = svg("g", { class: "grid" });
  const words = svg("g", { class: "ticks" });
  for (const tick of y.ticks) {
    grid.append(
      svg("line", {
        x1: frame.left,
        x2: frame.right,
        y1: tick.at,
        y2: tick.at,
        class: tick.isFloor ? "floor" : null,
      }),
    );
    words.append(
      svg("text", { x: frame.left - 6, y: tick.at, dy: "0.34em", "text-anchor": "end" }, tick.label),
    );
  }
  let free = -Infinity;
  for (const tick of x.ticks) {
    grid.append(
      svg("line", { x1: tick.at, x2: tick.at, y1: frame.bottom, y2: frame.bottom + 4, class: "tick" }),
    );
    const half = 3.4 * tick.label.length;
    // A label at the very edge leans inwards, and one that would touch its neighbour is left out.
    const middle = Math.min(tick.at, width - half);
    if (middle - half < free) continue;
    free = middle + half + 6;
    words.append(svg("text", { x: middle, y: frame.bottom + 17, "text-anchor": "middle" }, tick.label));
  }
  grid.append(
    svg("line", { class: "axis", x1: frame.left, x2: frame.right, y1: frame.bottom, y2: frame.bottom }),
  );
  if (yTitle) words.append(svg("text", { class: "title", x: 0, y: 12 }, yTitle));
  if (xTitle) {
    words.append(
      svg("text", { class: "title", x: frame.right, y: frame.bottom + 32, "text-anchor": "end" }, xTitle),
    );
  }
  root.append(grid, words);
  return root;
}

/** A group of which only what lies inside the frame is seen. */
function clip(root, frame, roomX = 0, roomY = 0) {
  const id = freshId();
  const group = svg("g", { "clip-path": `url(#${id})` });
  root.append(
    svg(
      "clipPath",
      { id },
      svg("rect", {
        x: frame.left - roomX,
        y: frame.top - roomY,
        width: frame.right - frame.left + 2 * roomX,
        height: frame.bottom - frame.top + 2 * roomY,
      }),
    ),
    group,
  );
  return group;
}
