// The page: one run, or several side by side.

/** Runs side by side: a table, and curves that a legend can hide. */
function comparison(runs) {
  const hidden = new Set();
  const drawings = [];
  const against = runs.every(hasSamples) ? "samples" : "round";
  const xs = (run) => run.rounds[against];
  const xName = (x) => (against === "samples" ? countOf(x, "sample") : `Round ${writeCount(x)}`);
  // On a linear axis a run a hundred times shorter than another is a dot.
  const lengths = runs.map((run) => xs(run)[xs(run).length - 1]).filter((x) => x > 0);
  const xLog = Math.max(...lengths) > 20 * Math.min(...lengths);
  const axis = {
    xTitle: against + (xLog ? " (log scale)" : ""),
    xName,
    xLog,
    from: against === "samples" && !xLog ? 0 : undefined,
  };
  const shown = () => runs.map((run, k) => ({ run, k })).filter(({ k }) => !hidden.has(k));
  const draw = (chart) => {
    const made = drawing(chart);
    drawings.push(made);
    return made.place;
  };

  const toggles = html(
    "ul",
    { class: "legend" },
    runs.map((run, k) =>
      html(
        "li",
        {},
        html(
          "button",
          {
            type: "button",
            "aria-pressed": "true",
            onclick: (event) => {
              if (!hidden.delete(k)) hidden.add(k);
              event.currentTarget.setAttribute("aria-pressed", String(!hidden.has(k)));
              drawings.forEach(({ redraw }) => redraw());
            },
          },
          swatch(seriesClass(k)),
          run.name,
        ),
      ),
    ),
  );

  const summary = table(
    `${runs.length} runs. A name leads to the run’s own section.`,
    [
      {
        name: "run",
        cell: (run) =>
          html(
            "a",
            { href: `#run-${runs.indexOf(run) + 1}` },
            swatch(seriesClass(runs.indexOf(run))),
            run.name,
          ),
      },
      { name: "verdict", cell: (run) => badge(run.verdict) },
      { name: "distance", cell: (run) => write(run.distance, 4), isNumber: true },
      { name: "lower bound", cell: (run) => write(run.lower_bound, 4), isNumber: true },
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

  const distances = draw((width) =>
    lineChart(width, {
      series: shown().map(({ run, k }) => ({
        name: run.name,
        xs: xs(run),
        ys: run.rounds.distance,
        className: seriesClass(k),
      })),
      ...axis,
      log: true,
      yTitle: "distance (log scale)",
      height: Math.round(Math.max(250, Math.min(360, 0.45 * width))),
      label: `Distance to the target set of ${runs.length} runs`,
    }),
  );

  const names = [...new Set(runs.flatMap((run) => run.measures.map((m) => m.name)))];
  const one = (name, bound) => {
    const found = new Set(
      runs.flatMap((run) => run.measures.filter((m) => m.name === name).map((m) => m[bound])),
    );
    return found.size === 1 ? [...found][0] : null;
  };
  const measures = panels(names.length, (n) => {
    const name = names[n];
    const range = { lower: one(name, "lower"), upper: one(name, "upper") };
    const series = () =>
      shown().flatMap(({ run, k }) => {
        const i = run.measures.findIndex((m) => m.name === name);
        return i < 0
          ? []
          : [{ name: run.name, xs: xs(run), ys: run.rounds.z[i] ?? [], className: seriesClass(k) }];
      });
    return html(
      "div",
      { class: "panel" },
      html("p", { class: "panel-title" }, html("b", {}, name), html("span", {}, bounds(range))),
      draw((width) =>
        lineChart(width, {
          series: series(),
          ...axis,
          height: 180,
          ...range,
          label: `${name} of ${runs.length} runs`,
        }),
      ),
    );
  });

  const note =
    against === "round" && runs.some(hasSamples)
      ? " Some runs planned without samples, so all are drawn against rounds."
      : "";
  const distancesFigure = figure(
    [toggles, distances],
    "Distance of each run’s mixture from its target set. The legend hides and shows runs, here and below." +
      note,
  );
  return [
    section(2, "Summary", summary),
    section(2, "Distance to the target set", distancesFigure),
    names.length
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

const runs = JSON.parse(document.getElementById("data").textContent);
const main = document.querySelector("main");
if (runs.length === 1) {
  main.append(html("h1", {}, runs[0].name), ...runSections(runs[0], 2));
} else {
  main.append(html("h1", {}, `Comparison of ${countOf(runs.length, "run")}`));
  if (runs.length) main.append(...comparison(runs).filter(Boolean));
  runs.forEach((run, k) =>
    main.append(html("article", { id: `run-${k + 1}` }, html("h2", {}, run.name), ...runSections(run, 3))),
  );
}
document.body.append(tooltip);

// Paper cannot unfold.
addEventListener("beforeprint", () => {
  document.querySelectorAll("details").forEach((fold) => {
    fold.open = true;
  });
  allDrawings.forEach(({ fit }) => fit());
});
