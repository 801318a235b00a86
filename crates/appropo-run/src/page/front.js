// A Pareto front: what policies reach together, and what none passes.

/** Vertices in the plane of measures `i` and `j`; with two measures also what they dominate, and the outer corners. */
function frontChart(width, front, i, j) {
  const [[xName, xGoal], [yName, yGoal]] = [front.measures[i], front.measures[j]];
  const isWhole = front.measures.length === 2;
  const points = front.vertices.map((values) => [values[i], values[j]]);
  const corners = isWhole ? front.corners.map((values) => [values[i], values[j]]) : [];
  const height = Math.round(Math.max(280, Math.min(460, 0.62 * width)));
  const [top, bottom] = [24, height - 38];
  const range = (k) => padded(extent(points.map((p) => p[k])), 0.09);
  const y = linearScale(range(1), [bottom, top], Math.floor(height / 60));
  const frame = { left: leftOf(y), right: width - 14, top, bottom };
  const x = linearScale(range(0), [frame.left, frame.right], Math.max(3, Math.floor(width / 100)));
  const at = ([a, b]) => `${x.at(a).toFixed(2)} ${y.at(b).toFixed(2)}`;
  const root = axes(width, height, frame, x, y, {
    xTitle: `${xName} (${xGoal})`,
    yTitle: `${yName} (${yGoal})`,
    label: `Pareto front of ${xName} and ${yName}: ${countOf(points.length, "vertex", "vertices")}`,
  });
  const inside = clip(root, frame);
  // Worse is to the left where x is to be large, and down where y is.
  const worseX = xGoal === "maximize" ? frame.left - 9 : frame.right + 9;
  const worseY = yGoal === "maximize" ? frame.bottom + 9 : frame.top - 9;
  const inOrder = (list) => [...list].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  if (isWhole && points.length) {
    // A list of points from its end in y to its end in x, with all that lies on the worse side of it.
    const closed = (list) => {
      const sorted = inOrder(list);
      if (xGoal !== "maximize") sorted.reverse();
      const [first, last] = [sorted[0], sorted[sorted.length - 1]];
      const middle = sorted.map((p) => `L${at(p)}`).join("");
      return `M${worseX} ${y.at(first[1]).toFixed(2)}${middle}L${x.at(last[0]).toFixed(2)} ${worseY}`;
    };
    inside.append(svg("path", { class: "target", d: `${closed(points)}L${worseX} ${worseY}Z` }));
    if (corners.length) inside.append(svg("path", { class: "threshold outline", d: closed(corners) }));
  }
  for (const p of points) inside.append(svg("circle", { class: "end", cx: x.at(p[0]), cy: y.at(p[1]), r: 3.6 }));
  const marker = svg("circle", { class: "cursor-ring", r: 7, visibility: "hidden" });
  root.append(marker);
  if (!points.length) return root;
  explorable(root, {
    first: 0,
    at: (px, py) =>
      points.reduce(
        (best, [a, b], k) => {
          const gap = Math.hypot(x.at(a) - px, y.at(b) - py);
          return gap < best[1] ? [k, gap] : best;
        },
        [0, Infinity],
      )[0],
    step: (k, dx, dy) => Math.max(0, Math.min(points.length - 1, k + dx - dy)),
    hide: () => marker.setAttribute("visibility", "hidden"),
    show: (k) => {
      const [px, py] = [x.at(points[k][0]), y.at(points[k][1])];
      marker.setAttribute("visibility", "visible");
      marker.setAttribute("cx", px);
      marker.setAttribute("cy", py);
      return {
        x: px,
        y: py,
        title: `Vertex ${k + 1}`,
        rows: front.measures.map(([name], m) => [name, write(front.vertices[k][m])]),
      };
    },
  });
  return root;
}

function frontFacts(front) {
  const entries = [
    ["vertices", writeCount(front.vertices.length)],
    ["faces", writeCount(front.faces.length)],
    ["gap", write(front.gap, 3)],
    ["gap asked for", write(front.epsilon, 3)],
    ["oracle calls", writeCount(front.oracle_calls)],
  ];
  return html(
    "dl",
    { class: "facts" },
    entries.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))),
  );
}

function vertexTable(front) {
  const column = (name, numbers) => {
    const written = writeColumn(numbers, 6);
    return { name, cell: (k) => written[k], isNumber: true };
  };
  const rows = front.vertices.map((_, k) => k);
  return table(
    "Every vertex is reached by the mixed policy beside it, and everything between them by mixtures of these.",
    [
      { name: "vertex", cell: (k) => String(k + 1) },
      ...front.measures.map(([name], m) => column(name, front.vertices.map((values) => values[m]))),
      ...front.others.map((name, m) => column(name, front.measured.map((values) => values[m]))),
      {
        name: "policies",
        cell: (k) =>
          front.mixtures[k].length === 1 ? "1" : front.mixtures[k].map((w) => percent(100 * w)).join(" + "),
      },
    ],
    rows,
  );
}

function faceTable(front) {
  const side = (weights) =>
    weights
      .map((w, m) => [w, front.measures[m][0]])
      .filter(([w]) => w !== 0)
      .map(([w, name], n) => {
        const sign = w < 0 ? (n ? " − " : "−") : n ? " + " : "";
        return `${sign}${write(Math.abs(w), 5)} · ${name}`;
      })
      .join("");
  return table(
    "What no feasible policy passes, each line proved by a value function.",
    [
      { name: "half-space", cell: ([weights]) => side(weights) },
      { name: "at most", cell: ([, bound]) => write(bound), isNumber: true },
    ],
    front.faces,
  );
}

/** The sections of a front. */
function frontSections(front, level) {
  const count = front.measures.length;
  const pairs = front.measures.flatMap((_, i) => front.measures.map((_, j) => [i, j])).filter(([i, j]) => i < j);
  const planes = pairs.map(([i, j]) =>
    html("div", { class: "panel" }, drawing((width) => frontChart(width, front, i, j)).place),
  );
  const caption =
    count === 2
      ? "Dots: vertices. Shaded: what they and their mixtures reach or dominate. Dashed: nothing feasible lies beyond."
      : "Vertices in the plane of two measures each.";
  const hasFront = front.vertices.length > 0;
  return [
    html("p", {}, badge(front.verdict), " ", typographic(front.sentence)),
    frontFacts(front),
    hasFront
      ? section(
          level,
          "Front",
          figure(count === 2 ? planes : [html("div", { class: "panels" }, planes)], caption),
          vertexTable(front),
        )
      : null,
    hasFront ? section(level, "Proof", html("details", {}, html("summary", {}, "every face"), faceTable(front))) : null,
    section(
      level,
      "Problem",
      front.constraints.length
        ? html("ul", {}, front.constraints.map((text) => html("li", {}, typographic(text))))
        : html("p", {}, "There are no constraints."),
      html("pre", {}, html("code", {}, front.command)),
      html("details", {}, html("summary", {}, "problem file"), html("pre", {}, html("code", {}, front.problem))),
    ),
    html("p", { class: "note" }, `appropo ${front.version}`),
  ].filter(Boolean);
}
