// Charts of lines over samples or rounds.

const tenths = (x) => Math.round(10 * x) / 10;

/** A path through the places, broken where a value is missing. */
function trace(xs, ys, atX, atY) {
  let path = "";
  let pen = "M";
  for (let i = 0; i < xs.length; i++) {
    if (!isNumber(xs[i]) || !isNumber(ys[i])) {
      pen = "M";
      continue;
    }
    path += `${pen}${tenths(atX(xs[i]))} ${tenths(atY(ys[i]))}`;
    pen = "L";
  }
  return path;
}

/** The last entry of the increasing `xs` that is not above `x`, or −1. */
function lastUpTo(xs, x) {
  let [low, high] = [0, xs.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (xs[middle] <= x) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

function nearest(xs, x) {
  const i = lastUpTo(xs, x);
  if (i < 0) return 0;
  return i + 1 < xs.length && xs[i + 1] - x < x - xs[i] ? i + 1 : i;
}

/**
 * Lines over rounds or samples. `chart` has: label, xTitle, yTitle, height, log, series [{name, xs, ys, className,
 * quiet, hasDots}], marks [{y, text}], lower and upper (the range a value must keep to), value and interval (at the end), zero,
 * from (where the axis starts, if before the data), xLog, xName(x) for the tooltip's title.
 */
function lineChart(width, chart) {
  const { series, lower = null, upper = null, interval = null, log = false } = chart;
  const height = chart.height;
  const [top, bottom] = [chart.yTitle ? 24 : 8, height - 38];
  const curves = series.map((s) => s.ys);
  const marks = chart.marks ?? [];
  const count = Math.max(3, Math.floor((bottom - top) / 32));
  const cut = cutRange(curves, chart.zero ? [0] : [lower, upper, ...(interval ?? [])]);
  const y = log
    ? logScale([...curves.flat(), ...marks.map((mark) => mark.y)], [bottom, top], count)
    : linearScale(padded(cut.range), [bottom, top], count);
  const frame = { left: leftOf(y), right: width - 10, top, bottom };
  const xs = [...new Set(series.flatMap((s) => s.xs))].sort((a, b) => a - b);
  const xRange = extent(xs, [chart.from]) ?? [0, 1];
  const isPoint = xRange[0] === xRange[1];
  const [sides, xCount] = [[frame.left, frame.right], Math.max(3, Math.floor(width / 90))];
  const x = chart.xLog
    ? logScale(xs, sides, xCount)
    : linearScale(isPoint ? [xRange[0] - 1, xRange[0] + 1] : xRange, sides, xCount, true);
  if (isPoint) x.ticks = [{ at: x.at(xRange[0]), label: writeCount(xRange[0]) }];

  const root = axes(width, height, frame, x, y, chart);
  const inside = clip(root, frame, 5, !log && cut.isCut ? 0 : 5);
  const across = { x: frame.left, width: frame.right - frame.left };
  const forbid = (from, to) =>
    inside.append(svg("rect", { class: "forbidden", ...across, y: from, height: Math.max(0, to - from) }));
  const rule = (at, className) =>
    inside.append(svg("line", { class: className, x1: frame.left, x2: frame.right, y1: at, y2: at }));
  if (isNumber(upper)) {
    forbid(frame.top, y.at(upper));
    rule(y.at(upper), "threshold");
  }
  if (isNumber(lower)) {
    forbid(y.at(lower), frame.bottom);
    if (lower !== upper) rule(y.at(lower), "threshold");
  }
  if (chart.zero) rule(y.at(0), "zero");
  for (const mark of marks) {
    const at = y.at(mark.y);
    rule(at, "threshold");
    // The name stands above its line where the curves begin, unless one begins there.
    const starts = curves
      .flatMap((ys) => ys.slice(0, Math.ceil(ys.length / 4)))
      .filter(isNumber)
      .map(y.at);
    const isTaken = at - frame.top < 16 || starts.some((start) => start < at && start > at - 20);
    root.append(
      svg(
        "text",
        { class: "note", x: frame.left + 4, y: at + (isTaken ? 13 : -4) },
        mark.text,
      ),
    );
  }

  for (const s of series) {
    inside.append(svg("path", { class: s.className, d: trace(s.xs, s.ys, x.at, y.at) }));
    if (s.xs.length > 30 || s.quiet || s.hasDots === false) continue;
    for (let i = 0; i < s.xs.length; i++) {
      if (isNumber(s.ys[i])) {
        inside.append(
          svg("circle", { class: `dot ${s.className}`, cx: x.at(s.xs[i]), cy: y.at(s.ys[i]), r: 2.2 }),
        );
      }
    }
  }
  if (interval?.every(isNumber)) {
    const [low, high] = interval.map(y.at);
    const end = x.at(xRange[1]);
    inside.append(
      svg("path", {
        class: "interval",
        d: `M${end} ${low}V${high}M${end - 4} ${low}h8M${end - 4} ${high}h8`,
      }),
    );
    if (isNumber(chart.value))
      inside.append(svg("circle", { class: "measured", cx: end, cy: y.at(chart.value), r: 2.6 }));
  }

  const marker = svg("g", { class: "cursor", visibility: "hidden" });
  inside.append(marker);
  // Every run may be hidden.
  if (!xs.length) return root;
  const places = xs.map(x.at);
  const told = series.filter((s) => !s.quiet);
  explorable(root, {
    first: xs.length - 1,
    at: (px) => nearest(places, px),
    step: (i, dx) => Math.max(0, Math.min(xs.length - 1, i + dx)),
    hide: () => marker.setAttribute("visibility", "hidden"),
    show: (i) => {
      const here = x.at(xs[i]);
      marker.setAttribute("visibility", "visible");
      marker.replaceChildren(svg("line", { x1: here, x2: here, y1: frame.top, y2: frame.bottom }));
      const rows = [];
      let highest = frame.bottom;
      for (const s of told) {
        const last = lastUpTo(s.xs, xs[i]);
        const isPast = xs[i] > s.xs[s.xs.length - 1];
        if (last < 0 || isPast) continue;
        rows.push([s.name, write(s.ys[last]), s.className]);
        if (!isNumber(s.ys[last])) continue;
        highest = Math.min(highest, y.at(s.ys[last]));
        marker.append(
          svg("circle", { class: `dot ${s.className}`, cx: x.at(s.xs[last]), cy: y.at(s.ys[last]), r: 3.5 }),
        );
      }
      if (isNumber(lower)) rows.push(["at least", write(lower)]);
      if (isNumber(upper)) rows.push(["at most", write(upper)]);
      return { x: here, y: Math.max(frame.top, highest), title: chart.xName(xs[i]), rows };
    },
  });
  return root;
}
