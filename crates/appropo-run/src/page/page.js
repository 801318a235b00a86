// The page: one run, or several side by side.

const SHOWN_RUNS = 6;

const groupOf = (run) => run.group || run.name;
const median = (values) => [...values].sort((a, b) => a - b)[values.length >> 1];
const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

/** One line a group: what its runs came to. */
function groupTable(groups, hasObjective) {
  const feasible = ({ runs }) => runs.filter((run) => run.verdict === "feasible");
  const over = (group, of, value) => {
    const values = feasible(group).map(of).filter(isNumber);
    return values.length ? value(values) : "–";
  };
  return table(
    "Samples are the median and the objective the mean of the runs that ended feasible; the time is the median of all.",
    [
      { name: "method", cell: ({ name, className }) => html("span", {}, swatch(className), name) },
      { name: "feasible", cell: (group) => `${feasible(group).length} of ${group.runs.length}`, isNumber: true },
      {
        name: "samples",
        cell: (group) => over(group, (run) => run.samples, (all) => writeCount(median(all))),
        isNumber: true,
      },
      ...(hasObjective
        ? [
            {
              name: "objective",
              cell: (group) => over(group, (run) => run.objective?.value, (all) => write(mean(all), 4)),
              isNumber: true,
            },
          ]
        : []),
      { name: "time", cell: ({ runs }) => writeSeconds(median(runs.map(totalTime))), isNumber: true },
    ],
    groups,
  );
}

/** Runs side by side: tables, and curves that a legend can hide. Runs of one group are drawn alike. */
function comparison(runs) {
  const names = [...new Set(runs.map(groupOf))];
  const groups = names.map((name, k) => ({
    name,
    className: seriesClass(k),
    runs: runs.filter((run) => groupOf(run) === name),
  }));
  const isGrouped = groups.length < runs.length;
  const hasObjective = runs.some((run) => run.objective);
  const hidden = new Set();
  const drawings = [];
  const against = runs.some(hasSamples) ? "samples" : "round";
  const drawn = against === "samples" ? runs.filter(hasSamples) : runs;
  const xs = (run) => run.rounds[against];
  const xName = (x) => (against === "samples" ? countOf(x, "sample") : `Round ${writeCount(x)}`);
  // On a linear axis a run a hundred times shorter than another is a dot.
  const lengths = drawn.map((run) => xs(run)[xs(run).length - 1]).filter((x) => x > 0);
  const xLog = Math.max(...lengths) > 20 * Math.min(...lengths);
  const axis = {
    xTitle: against + (xLog ? " (log scale)" : ""),
    xName,
    xLog,
    from: against === "samples" && !xLog ? 0 : undefined,
  };
  const classOf = (run) => groups[names.indexOf(groupOf(run))].className;
  const curves = (ys) =>
    drawn
      .filter((run) => !hidden.has(groupOf(run)))
      .map((run) => ({ run, ys: ys(run) }))
      .filter(({ ys }) => ys?.some(isNumber))
      .map(({ run, ys }) => ({
        name: run.name,
        xs: xs(run),
        ys,
        className: classOf(run) + (isGrouped ? " fine" : ""),
        hasDots: !isGrouped,
      }));
  const draw = (chart) => {
    const made = drawing(chart);
    drawings.push(made);
    return made.place;
  };

  const toggles = html(
    "ul",
    { class: "legend" },
    groups
      .filter((group) => group.runs.some((run) => drawn.includes(run)))
      .map(({ name, className }) =>
        html(
          "li",
          {},
          html(
            "button",
            {
              type: "button",
              "aria-pressed": "true",
              onclick: (event) => {
                if (!hidden.delete(name)) hidden.add(name);
                event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(name)));
                drawings.forEach(({ redraw }) => redraw());
              },
            },
            swatch(className),
            name,
          ),
        ),
      ),
  );

  const every = table(
    `${runs.length} runs. A name leads to the run’s own section.`,
    [
      {
        name: "run",
        cell: (run) =>
          html("a", { href: `#run-${runs.indexOf(run) + 1}` }, swatch(classOf(run)), run.name),
      },
      { name: "verdict", cell: (run) => badge(run.verdict) },
      { name: "distance", cell: (run) => write(run.distance, 4), isNumber: true },
      { name: "lower bound", cell: (run) => write(run.lower_bound, 4), isNumber: true },
      ...(hasObjective
        ? [{ name: "objective", cell: (run) => write(run.objective?.value, 4), isNumber: true }]
        : []),
      { name: "samples", cell: (run) => writeCount(run.samples), isNumber: true },
      { name: "seed", cell: (run) => run.seed, isNumber: true },
      {
        name: "time",
        cell: (run) => (run.times.length ? writeSeconds(totalTime(run)) : "–"),
        isNumber: true,
      },
    ],
    runs,
  );
  const summary = isGrouped
    ? [groupTable(groups, hasObjective), html("details", {}, html("summary", {}, "every run"), every)]
    : [every];

  const height = (width) => Math.round(Math.max(250, Math.min(360, 0.45 * width)));
  const distances = draw((width) =>
    lineChart(width, {
      series: curves((run) => run.rounds.distance),
      ...axis,
      log: true,
      yTitle: "distance (log scale)",
      height: height(width),
      label: `Distance to the target set of ${runs.length} runs`,
    }),
  );
  const objectives = () =>
    draw((width) =>
      lineChart(width, {
        series: curves((run) => run.rounds.objective),
        ...axis,
        yTitle: "best so far",
        height: height(width),
        label: `The objective of ${runs.length} runs`,
      }),
    );

  const measured = [...new Set(runs.flatMap((run) => run.measures.map((m) => m.name)))];
  const one = (name, bound) => {
    const found = new Set(
      runs.flatMap((run) => run.measures.filter((m) => m.name === name).map((m) => m[bound])),
    );
    return found.size === 1 ? [...found][0] : null;
  };
  const measures = panels(measured.length, (n) => {
    const name = measured[n];
    const range = { lower: one(name, "lower"), upper: one(name, "upper") };
    return html(
      "div",
      { class: "panel" },
      html("p", { class: "panel-title" }, html("b", {}, name), html("span", {}, bounds(range))),
      draw((width) =>
        lineChart(width, {
          series: curves((run) => run.rounds.z[run.measures.findIndex((m) => m.name === name)]),
          ...axis,
          height: 180,
          ...range,
          label: `${name} of ${runs.length} runs`,
        }),
      ),
    );
  });

  const note =
    drawn.length < runs.length
      ? ` ${countOf(runs.length - drawn.length, "run")} planned without samples: no curve.`
      : "";
  return [
    section(2, "Summary", ...summary),
    section(
      2,
      "Distance to the target set",
      figure(
        [toggles, distances],
        "Distance of each run’s mixture from its target set. The legend hides and shows curves, here and below." +
          note,
      ),
    ),
    hasObjective
      ? section(
          2,
          "Objective",
          figure(
            [objectives()],
            "The best value of the objective so far with the constraints held, as each run sees it.",
          ),
        )
      : null,
    measured.length
      ? section(
          2,
          "Measures",
          figure(
            measures,
            "Each measure of each run’s mixture. Thresholds (dashed) are drawn where all runs share them. " +
              "Shaded: values that are not allowed.",
          ),
        )
      : null,
  ];
}

/** A run's own section, folded where there are many. */
function ownSection(run, k, isFolded) {
  const id = `run-${k + 1}`;
  if (!isFolded) return html("article", { id }, html("h2", {}, run.name), ...runSections(run, 3));
  const fold = html("details", { id }, html("summary", {}, run.name));
  // What nobody looks at is not drawn.
  fold.addEventListener("toggle", () => fold.append(...runSections(run, 3)), { once: true });
  return fold;
}

const openLinked = () => {
  const linked = location.hash && document.getElementById(location.hash.slice(1));
  if (linked?.tagName === "DETAILS") linked.open = true;
};

const main = document.querySelector("main");

/** Fills the page with one run, several, or a front. */
function show(runs) {
  if (runs[0]?.kind === "front") {
    main.append(html("h1", {}, runs[0].name), ...frontSections(runs[0], 2));
  } else if (runs.length === 1) {
    main.append(html("h1", {}, runs[0].name), ...runSections(runs[0], 2));
  } else {
    main.append(html("h1", {}, `Comparison of ${countOf(runs.length, "run")}`));
    if (runs.length) main.append(...comparison(runs).filter(Boolean));
    const isFolded = runs.length > SHOWN_RUNS;
    main.append(...runs.map((run, k) => ownSection(run, k, isFolded)));
    if (isFolded) main.insertBefore(html("h2", {}, "Every run"), document.getElementById("run-1"));
    openLinked();
  }
}

const runs = JSON.parse(document.getElementById("data").textContent);
show(runs);
addEventListener("hashchange", openLinked);
document.body.append(tooltip);
if (runs.some((run) => run.live)) follow();

// Paper cannot unfold; the many runs of a comparison stay folded.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details:not([id])").forEach((fold) => {
    fold.open = true;
  });
  allDrawings.forEach(({ fit }) => fit());
});
