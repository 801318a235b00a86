// Visits on a map, and the weights of a mixture.

const CELLS = { S: "start", G: "goal", F: "free", H: "obstacle", C: "cliff" };

/** Visits on a map: the more, the darker. Start and goal, which every episode visits, do not set the scale. */
function heatMap(width, grid) {
  const { rows, columns, cells, visits } = grid;
  const letters = [...cells];
  const top = 4;
  const side = Math.max(4, Math.min(44, Math.floor((width - 4) / columns)));
  const height = top + rows * side + 44;
  const left = 2;
  const root = svg("svg", {
    viewBox: `0 0 ${width} ${height}`,
    class: "chart",
    role: "img",
    "aria-label": `Map of ${rows} by ${columns} cells, shaded by visits`,
  });
  const most = mostVisits(grid);
  const total = visits.reduce((sum, v) => sum + (v ?? 0), 0);
  const share = (cell) => Math.max(0, Math.min(1, (visits[cell] ?? 0) / most));
  const corner = (cell) => [left + (cell % columns) * side, top + Math.floor(cell / columns) * side];
  letters.forEach((letter, cell) => {
    const [x, y] = corner(cell);
    const isRock = letter === "H";
    root.append(svg("rect", { class: isRock ? "cell rock" : "cell", x, y, width: side, height: side }));
    if (isRock) {
      root.append(
        svg("path", { class: "cross", d: `M${x} ${y}l${side} ${side}m${-side} 0l${side} ${-side}` }),
      );
    } else {
      root.append(
        svg("rect", {
          class: "heat",
          x,
          y,
          width: side,
          height: side,
          "fill-opacity": share(cell).toFixed(3),
        }),
      );
    }
    if (letter !== "F" && side >= 9 && !isRock) {
      root.append(
        svg(
          "text",
          {
            class: share(cell) > 0.5 ? "letter on-heat" : "letter",
            x: x + side / 2,
            y: y + side / 2,
            dy: "0.35em",
            "text-anchor": "middle",
            "font-size": Math.min(16, 0.62 * side).toFixed(1),
          },
          letter,
        ),
      );
    }
  });
  root.append(svg("rect", { class: "outline", x: left, y: top, width: columns * side, height: rows * side }));

  root.append(heatScale(left, top + rows * side + 14, Math.min(columns * side, 240), most));

  const marker = svg("rect", { class: "cursor-cell", width: side, height: side, visibility: "hidden" });
  root.append(marker);
  const within = (n, size) => Math.max(0, Math.min(size - 1, n));
  explorable(root, {
    first: Math.max(0, letters.indexOf("S")),
    at: (px, py) =>
      within(Math.floor((py - top) / side), rows) * columns + within(Math.floor((px - left) / side), columns),
    step: (cell, dx, dy) =>
      within(Math.floor(cell / columns) + dy, rows) * columns + within((cell % columns) + dx, columns),
    hide: () => marker.setAttribute("visibility", "hidden"),
    show: (cell) => {
      const [x, y] = corner(cell);
      marker.setAttribute("visibility", "visible");
      marker.setAttribute("x", x);
      marker.setAttribute("y", y);
      const values = [["visits", write(visits[cell])]];
      if (total > 0) values.push(["of all visits", `${write((100 * (visits[cell] ?? 0)) / total, 3)} %`]);
      const [row, column] = [Math.floor(cell / columns) + 1, (cell % columns) + 1];
      const title = `Row ${row}, column ${column}: ${CELLS[letters[cell]] ?? letters[cell]}`;
      return { x: x + side / 2, y, title, rows: values };
    },
  });
  return root;
}

/** What the shades mean. */
function heatScale(x, y, width, most) {
  const steps = 24;
  const shades = Array.from({ length: steps }, (_, k) =>
    svg("rect", {
      class: "heat",
      x: x + (k * width) / steps,
      y,
      width: width / steps,
      height: 9,
      "fill-opacity": ((k + 0.5) / steps).toFixed(3),
    }),
  );
  return svg(
    "g",
    { class: "ticks" },
    shades,
    svg("rect", { class: "outline thin", x, y, width, height: 9 }),
    svg("text", { x, y: y + 23 }, "0"),
    svg("text", { x: x + width / 2, y: y + 23, "text-anchor": "middle" }, "visits"),
    svg("text", { x: x + width, y: y + 23, "text-anchor": "end" }, write(most, 3)),
  );
}

function mostVisits({ cells, visits }) {
  const free = [...cells].map((letter, cell) => (letter === "F" ? visits[cell] : null));
  return Math.max(extent(free)?.[1] ?? 0, 0) || Math.max(extent(visits)?.[1] ?? 0, 0) || 1;
}

/** All weights of a mixture, in the order in which the policies joined it. */
function weightChart(width, mixture) {
  const height = 180;
  const frame = { left: 54, right: width - 10, top: 24, bottom: height - 38 };
  const weights = mixture.map((part) => part.weight);
  const x = linearScale(
    [0.5, weights.length + 0.5],
    [frame.left, frame.right],
    Math.max(2, Math.floor(width / 90)),
    true,
  );
  const y = linearScale([0, 1.05 * (extent(weights)?.[1] || 1)], [frame.bottom, frame.top], 3);
  const root = axes(width, height, frame, x, y, {
    xTitle: "policy",
    yTitle: "weight",
    label: `Weights of the ${weights.length} policies of the mixture`,
  });
  const pitch = (frame.right - frame.left) / weights.length;
  const thick = Math.max(0.6, Math.min(18, 0.8 * pitch));
  weights.forEach((weight, k) => {
    const top = y.at(weight ?? 0);
    root.append(
      svg("rect", {
        class: "bar",
        x: x.at(k + 1) - thick / 2,
        y: top,
        width: thick,
        height: frame.bottom - top,
      }),
    );
  });
  const marker = svg(
    "g",
    { class: "cursor", visibility: "hidden" },
    svg("line", { y1: frame.top, y2: frame.bottom }),
  );
  root.append(marker);
  const within = (k) => Math.max(0, Math.min(weights.length - 1, k));
  explorable(root, {
    first: 0,
    at: (px) => within(Math.round((px - frame.left) / pitch - 0.5)),
    step: (k, dx) => within(k + dx),
    hide: () => marker.setAttribute("visibility", "hidden"),
    show: (k) => {
      const here = x.at(k + 1);
      marker.setAttribute("visibility", "visible");
      marker.firstChild.setAttribute("x1", here);
      marker.firstChild.setAttribute("x2", here);
      return {
        x: here,
        y: y.at(weights[k] ?? 0),
        title: `Policy ${k + 1} (${mixture[k].kind})`,
        rows: [["weight", write(weights[k])]],
      };
    },
  });
  return root;
}
