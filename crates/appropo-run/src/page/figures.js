// The figures of one run.

const SHOWN_MEASURES = 12;
const SHOWN_POLICIES = 10;

const hasSamples = (run) => run.rounds.samples.some((n) => n > 0);
const totalTime = (run) => run.times.reduce((sum, [, seconds]) => sum + (seconds ?? 0), 0);
const intervalName = (run) =>
  isNumber(run.confidence) ? `${write(100 * run.confidence, 4)} % interval` : "interval";

function moment(run, t) {
  const round = `Round ${writeCount(run.rounds.round[t])}`;
  return hasSamples(run) ? `${round}, ${countOf(run.rounds.samples[t], "sample")}` : round;
}

/** What a run is drawn against: samples, or rounds where planning needed none. */
function clock(run) {
  const { round, samples } = run.rounds;
  return hasSamples(run)
    ? {
        xs: samples,
        from: 0,
        xTitle: "samples",
        over: "samples",
        xName: (x) => moment(run, Math.max(0, lastUpTo(samples, x))),
      }
    : { xs: round, xTitle: "round", over: "rounds", xName: (x) => `Round ${writeCount(x)}` };
}

function distanceFigure(run) {
  const { round, distance, lower_bound } = run.rounds;
  const isThinned = round[round.length - 1] - round[0] >= round.length;
  if (distance.length === 1) {
    return html(
      "p",
      {},
      `There was one round: distance ${write(distance[0])}, lower bound ${write(lower_bound[0])}.`,
    );
  }
  const series = [
    { name: "distance", ys: distance, className: seriesClass(0) },
    { name: "lower bound", ys: lower_bound, className: seriesClass(1) + " dashed" },
  ].map((s) => ({ ...s, xs: clock(run).xs }));
  const least = extent(series.flatMap((s) => s.ys).map((d) => (d > 0 ? d : null)))?.[0] ?? 1;
  const hasFloor = series.some((s) => s.ys.some((d) => isNumber(d) && d <= 0));
  const isNear = run.tolerance > 0 && run.tolerance >= least / 100;
  const draw = (width) =>
    lineChart(width, {
      ...clock(run),
      series,
      log: true,
      height: Math.round(Math.max(240, Math.min(330, 0.45 * width))),
      yTitle: "distance (log scale)",
      marks: isNear ? [{ y: run.tolerance, text: `tolerance ${write(run.tolerance, 3)}` }] : [],
      label: `Distance to the target set over ${clock(run).over}, at the end ${write(run.distance, 3)}`,
    });
  return figure(
    [legend(series.map((s) => [s.name, s.className])), drawing(draw).place],
    "Distance of the mixture’s measurement z̄ from the target set, as the algorithm sees it, and the largest " +
      "lower bound on the distance of any policy, both in units of the constraints’ scale. " +
      `Tolerance: ${write(run.tolerance, 3)}.` +
      (isThinned ? ` All curves are drawn through ${writeCount(round.length)} of the rounds.` : "") +
      (hasFloor ? " Zero has no logarithm and is drawn at the bottom." : ""),
  );
}

function objectiveFigure(run) {
  const { measure, sentence, value, interval, bound, prices } = run.objective;
  const capital = (text) => typographic(`${text[0].toUpperCase()}${text.slice(1)}.`);
  const says = html("div", {}, [sentence, ...(prices ?? [])].map((text) => html("p", {}, capital(text))));
  const best = run.rounds.objective;
  if (best.filter(isNumber).length < 2) return says;
  const series = [{ name: "best so far", xs: clock(run).xs, ys: best, className: seriesClass(0) }];
  const draw = (width) =>
    lineChart(width, {
      ...clock(run),
      series,
      height: 220,
      value,
      interval,
      yTitle: measure,
      marks: isNumber(bound) ? [{ y: bound, text: `bound ${write(bound, 4)}` }] : [],
      label: `The best ${measure} so far over ${clock(run).over}`,
    });
  return figure(
    [says, drawing(draw).place],
    `The best ${measure} so far with the constraints held, as the algorithm sees it.`,
  );
}

function measureDrawing(run, i) {
  const measure = run.measures[i];
  const series = [
    { name: measure.name, xs: clock(run).xs, ys: run.rounds.z[i] ?? [], className: seriesClass(0) },
  ];
  const draw = (width) =>
    lineChart(width, {
      ...clock(run),
      series,
      height: 170,
      lower: measure.lower,
      upper: measure.upper,
      value: measure.value,
      interval: measure.interval,
      label: `${measure.name} over ${clock(run).over}, ending at ${write(measure.value, 4)}; ${bounds(measure)}`,
    });
  return html(
    "div",
    { class: "panel" },
    html(
      "p",
      { class: "panel-title" },
      html("b", {}, measure.name),
      " ",
      write(measure.value, 4),
      html("span", {}, bounds(measure)),
    ),
    drawing(draw).place,
  );
}

function bounds({ lower, upper }) {
  if (isNumber(lower) && isNumber(upper)) {
    return lower === upper
      ? `must be ${write(lower, 4)}`
      : `between ${write(lower, 4)} and ${write(upper, 4)}`;
  }
  if (isNumber(lower)) return `at least ${write(lower, 4)}`;
  return isNumber(upper) ? `at most ${write(upper, 4)}` : "no threshold of its own";
}

/** The first panels, and the others folded away. */
function panels(count, draw) {
  const all = Array.from({ length: count }, (_, i) => draw(i));
  const shown = html("div", { class: "panels" }, all.slice(0, SHOWN_MEASURES));
  if (count <= SHOWN_MEASURES) return [shown];
  const rest = html(
    "details",
    {},
    html("summary", {}, `${count - SHOWN_MEASURES} further measures`),
    html("div", { class: "panels" }, all.slice(SHOWN_MEASURES)),
  );
  return [shown, rest];
}

function measureFigure(run) {
  const hasInterval = run.measures.some((m) => m.interval);
  const isCut = run.measures.some(
    (m, i) => cutRange([run.rounds.z[i] ?? []], [m.lower, m.upper, ...(m.interval ?? [])]).isCut,
  );
  return figure(
    panels(run.measures.length, (i) => measureDrawing(run, i)),
    "Each measure of the mixture, an expected sum over an episode with the problem’s discount, as the algorithm sees " +
      "it, against its threshold (dashed). Shaded: values that are not allowed." +
      (run.measures.some((m) => m.name.startsWith("slack of "))
        ? " A constraint on several numbers is shown by its slack."
        : "") +
      (hasInterval
        ? ` The dot and bar at the end are the value and ${intervalName(run)} from ${run.is_logged ? "logged" : "fresh"} episodes.`
        : "") +
      (isCut ? " Early rounds far outside are cut off." : ""),
  );
}

function pathFigure(run) {
  const chosen = [0, 1];
  const select = (axis) =>
    html(
      "select",
      {
        onchange: (event) => {
          const other = 1 - axis;
          const before = chosen[axis];
          chosen[axis] = Number(event.target.value);
          // The same measure twice says nothing: the axes change places instead.
          if (chosen[other] === chosen[axis]) {
            chosen[other] = before;
            selects[other].value = before;
          }
          path.redraw();
        },
      },
      run.measures.map((m, i) => html("option", { value: i, selected: i === chosen[axis] }, m.name)),
    );
  const selects = [select(0), select(1)];
  const late = html("input", { type: "checkbox", onchange: () => path.redraw() });
  const path = drawing((width) => pathChart(width, run, ...chosen, late.checked));
  const hasParts = run.mixture.some((part) => part.z.length);
  return figure(
    [
      html(
        "div",
        { class: "choices" },
        html("label", {}, "across ", selects[0]),
        html("label", {}, "up ", selects[1]),
        run.rounds.round.length > 3 ? html("label", {}, late, " later half only") : null,
      ),
      path.place,
      legend([
        ["path of z̄", seriesClass(0)],
        ["target set", "target-swatch"],
        ...(hasParts ? [["single policy", "policy"]] : []),
      ]),
    ],
    "The mixture’s measurement z̄ round by round, from the start (hollow) to the end (solid), and the target set " +
      "as seen in this plane." +
      (hasParts
        ? " Diamonds are the single policies of the mixture, where they lie within the picture."
        : ""),
  );
}

function visitFigure(run) {
  const { grid } = run;
  const named = [...new Set(grid.cells)]
    .filter((letter) => "SGC".includes(letter))
    .map((letter) => `${letter} ${CELLS[letter]}`);
  if (grid.cells.includes("H")) named.push("crossed out: obstacle");
  const most = mostVisits(grid);
  const isCut = grid.visits.some((v) => v > most * (1 + 1e-9));
  return figure(
    [html("div", { class: "map" }, drawing((width) => heatMap(width, grid)).place)],
    `Expected visits of the mixture to each cell, which are the steps that end there: ${named.join(", ")}.` +
      (isCut ? " Start and goal may exceed the scale, which ends at the most visited free cell." : ""),
  );
}

function mixtureFigure(run) {
  const parts = run.mixture.map((part, k) => ({ ...part, number: k + 1 }));
  const heaviest = [...parts]
    .sort((a, b) => b.weight - a.weight || a.number - b.number)
    .slice(0, SHOWN_POLICIES);
  const most = heaviest[0]?.weight || 1;
  const column = (name, value) => {
    const written = writeColumn(heaviest.map(value));
    return { name, cell: (part) => written[heaviest.indexOf(part)], isNumber: true };
  };
  const measures = parts.some((part) => part.z.length) ? run.measures.slice(0, 4) : [];
  const which =
    parts.length <= SHOWN_POLICIES
      ? `The ${parts.length} policies of the mixture.`
      : `The ${SHOWN_POLICIES} heaviest of the ${writeCount(parts.length)} policies.`;
  const weights = table(
    parts.length === 1
      ? "One policy has all the weight."
      : `${which} At the start of an episode one is drawn by weight.`,
    [
      { name: "policy", cell: (part) => `${part.number}` },
      { name: "kind", cell: (part) => part.kind },
      column("weight", (part) => part.weight),
      {
        name: "",
        cell: (part) => html("span", { class: "bar", style: `width: ${(100 * part.weight) / most}%` }),
      },
      ...measures.map((m, i) => column(m.name, (part) => part.z[i])),
    ],
    heaviest,
  );
  weights.classList.add("weights");
  if (parts.length <= SHOWN_POLICIES) return [weights];
  return [
    figure(
      [drawing((width) => weightChart(width, run.mixture)).place],
      `Weights of all ${writeCount(parts.length)} policies, in the order in which they joined the mixture.`,
    ),
    weights,
  ];
}

function lambdaFigure(run) {
  const { xs } = clock(run);
  const size = (i) => Math.max(...(extent(run.rounds.lam[i] ?? [])?.map(Math.abs) ?? [0]));
  const order = run.measures.map((_, i) => i);
  // More than six lines cannot be told apart: the others are drawn in grey and left out of the tooltip.
  const loud = new Set([...order].sort((a, b) => size(b) - size(a)).slice(0, 6));
  let colour = 0;
  const series = order
    .map((i) => ({
      name: run.measures[i].price || run.measures[i].name,
      xs,
      ys: run.rounds.lam[i] ?? [],
      quiet: !loud.has(i),
      className: loud.has(i) ? seriesClass(colour++) : "series quiet",
    }))
    .sort((a, b) => Number(b.quiet) - Number(a.quiet));
  const named = series.filter((s) => !s.quiet).map((s) => [s.name, s.className]);
  const others = series.length - named.length;
  if (others) named.push([countOf(others, "other"), "series quiet"]);
  const draw = (width) =>
    lineChart(width, {
      ...clock(run),
      series,
      zero: true,
      yTitle: "λ",
      height: Math.round(Math.max(220, Math.min(280, 0.4 * width))),
      label: `λ over ${clock(run).over} for ${named.map(([name]) => name).join(", ")}`,
    });
  return figure(
    [legend(named), drawing(draw).place],
    "λ, the price of each measure: in every round the oracle answers with a policy for the reward −λ·z, where z is " +
      "in the constraints’ units (their scale). Positive: less is wanted; negative: more." +
      (run.measures.some((m) => m.price.endsWith("(norm)"))
        ? " A constraint on several numbers has a price for each, shown by their norm."
        : ""),
  );
}
