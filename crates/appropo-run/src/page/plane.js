// The path of z̄ towards the target set, in the plane of two measures.

/** The range of one axis: the path, what must be seen beside it, and of the target set some more. */
function viewRange(path, seen, outline) {
  const own = extent(path, seen);
  const far = extent(outline);
  if (!own || !far) return padded(own ?? far, 0.1);
  const room = own[1] - own[0] || Math.min(far[1] - far[0], Math.abs(own[0])) || 1;
  const low = Math.min(own[0], Math.max(far[0], own[0] - 0.3 * room));
  const high = Math.max(own[1], Math.min(far[1], own[1] + 0.3 * room));
  return padded([low, high], 0.07);
}

/** The point of a closed outline nearest to `p`. */
function nearestOnOutline(outline, p) {
  let best = null;
  let least = Infinity;
  for (let i = 0; i < outline.length; i++) {
    const a = outline[i];
    const b = outline[(i + 1) % outline.length];
    const d = [b[0] - a[0], b[1] - a[1]];
    const length = d[0] * d[0] + d[1] * d[1];
    const t =
      length > 0 ? Math.max(0, Math.min(1, ((p[0] - a[0]) * d[0] + (p[1] - a[1]) * d[1]) / length)) : 0;
    const q = [a[0] + t * d[0], a[1] + t * d[1]];
    const gap = (q[0] - p[0]) ** 2 + (q[1] - p[1]) ** 2;
    if (gap < least) [least, best] = [gap, q];
  }
  return best;
}

/** The path of z̄ in the plane of measures `i` and `j`, all or its later half, and the target set there. */
function pathChart(width, run, i, j, isLate) {
  const [mx, my] = [run.measures[i], run.measures[j]];
  const [xs, ys] = [run.rounds.z[i] ?? [], run.rounds.z[j] ?? []];
  const shadow = run.sets.find((set) => (set.x === i && set.y === j) || (set.x === j && set.y === i));
  const outline = (shadow?.outline ?? []).map((p) => (shadow.x === i ? p : [p[1], p[0]]));
  const end = [mx.value, my.value];
  const near = outline.length && end.every(isNumber) ? nearestOnOutline(outline, end) : [];
  // The end is a mean of these, so a picture of the whole path shows them.
  const heavy = isLate ? [] : run.mixture.filter((part) => part.weight >= 0.05);
  const shown = (list) => (isLate ? list.slice(Math.floor(list.length / 2)) : list);
  const height = Math.round(Math.max(260, Math.min(440, 0.62 * width)));
  const [top, bottom] = [24, height - 38];
  const y = linearScale(
    viewRange(
      [...shown(ys), end[1]],
      [...(my.interval ?? []), near[1], ...heavy.map((part) => part.z[j])],
      outline.map((p) => p[1]),
    ),
    [bottom, top],
    Math.floor(height / 60),
  );
  const frame = { left: leftOf(y), right: width - 14, top, bottom };
  const x = linearScale(
    viewRange(
      [...shown(xs), end[0]],
      [...(mx.interval ?? []), near[0], ...heavy.map((part) => part.z[i])],
      outline.map((p) => p[0]),
    ),
    [frame.left, frame.right],
    Math.max(3, Math.floor(width / 100)),
  );
  const at = ([a, b]) => `${x.at(a).toFixed(1)} ${y.at(b).toFixed(1)}`;

  const root = axes(width, height, frame, x, y, {
    xTitle: mx.name,
    yTitle: my.name,
    label:
      `Path of the mixture's ${mx.name} and ${my.name}, ending at ${write(end[0], 4)} and ${write(end[1], 4)}` +
      (outline.length ? ", and the target set" : ""),
  });
  const inside = clip(root, frame);
  if (outline.length) inside.append(svg("path", { class: "target", d: `M${outline.map(at).join("L")}Z` }));
  inside.append(
    svg("path", { class: xs.length > 300 ? "series c0 fine" : "series c0", d: trace(xs, ys, x.at, y.at) }),
  );
  for (let t = 0; xs.length <= 60 && t < xs.length; t++) {
    if (isNumber(xs[t]) && isNumber(ys[t])) {
      inside.append(svg("circle", { class: "dot series c0", cx: x.at(xs[t]), cy: y.at(ys[t]), r: 2 }));
    }
  }
  for (const part of run.mixture) {
    const [a, b] = [part.z[i], part.z[j]];
    if (!isNumber(a) || !isNumber(b)) continue;
    inside.append(svg("path", { class: "policy", d: `M${at([a, b])}${DIAMOND}` }));
  }
  if (!end.every(isNumber)) return root;
  const [endX, endY] = [x.at(end[0]), y.at(end[1])];
  if (mx.interval?.every(isNumber)) {
    inside.append(
      svg("path", { class: "interval", d: `M${mx.interval.map((a) => `${x.at(a)} ${endY}`).join("L")}` }),
    );
  }
  if (my.interval?.every(isNumber)) {
    inside.append(
      svg("path", { class: "interval", d: `M${my.interval.map((b) => `${endX} ${y.at(b)}`).join("L")}` }),
    );
  }
  const name = (px, py, text, dy) => {
    const isRight = px > frame.right - 60;
    const isLow = py + dy > frame.bottom - 5;
    root.append(
      svg(
        "text",
        {
          class: "note halo",
          x: px + (isRight ? -9 : 9),
          y: isLow ? py - 8 : py + dy,
          "text-anchor": isRight ? "end" : "start",
        },
        text,
      ),
    );
  };
  const start = xs.findIndex((a, t) => isNumber(a) && isNumber(ys[t]));
  if (start >= 0) {
    const [a, b] = [x.at(xs[start]), y.at(ys[start])];
    const isInside = a >= frame.left && a <= frame.right && b >= frame.top && b <= frame.bottom;
    if (isInside && Math.hypot(a - endX, b - endY) > 12) {
      root.append(svg("circle", { class: "start", cx: a, cy: b, r: 5 }));
      name(a, b, "start", b < endY ? -8 : 16);
    }
    name(endX, endY, "end", b < endY ? 16 : -8);
  } else {
    name(endX, endY, "end", -8);
  }
  root.append(svg("circle", { class: "end", cx: endX, cy: endY, r: 5 }));

  // The last stop is the end itself, which fresh episodes may have measured anew.
  const stops = xs
    .map((a, t) => [a, ys[t], t])
    .filter(([a, b]) => isNumber(a) && isNumber(b))
    .filter(
      ([a, b]) =>
        x.at(a) >= frame.left && x.at(a) <= frame.right && y.at(b) >= frame.top && y.at(b) <= frame.bottom,
    );
  stops.push([...end, -1]);
  const marker = svg("circle", { class: "cursor-ring", r: 7, visibility: "hidden" });
  root.append(marker);
  explorable(root, {
    first: stops.length - 1,
    at: (px, py) =>
      stops.reduce(
        (best, [a, b], k) => {
          const gap = Math.hypot(x.at(a) - px, y.at(b) - py);
          return gap <= best[1] ? [k, gap] : best;
        },
        [0, Infinity],
      )[0],
    step: (k, dx, dy) => Math.max(0, Math.min(stops.length - 1, k + dx - dy)),
    hide: () => marker.setAttribute("visibility", "hidden"),
    show: (k) => {
      const [a, b, t] = stops[k];
      marker.setAttribute("visibility", "visible");
      marker.setAttribute("cx", x.at(a));
      marker.setAttribute("cy", y.at(b));
      const isEnd = t < 0;
      const value = (v, measure) =>
        write(v) + (isEnd && measure.interval ? ` ${writeInterval(measure.interval)}` : "");
      return {
        x: x.at(a),
        y: y.at(b),
        title: isEnd ? "End" : moment(run, t),
        rows: [
          [mx.name, value(a, mx)],
          [my.name, value(b, my)],
        ],
      };
    },
  });
  return root;
}
