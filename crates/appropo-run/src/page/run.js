// The sections of one run, and its tables.

const section = (level, title, ...children) => html("section", {}, html(`h${level}`, {}, title), ...children);

const figure = (content, caption) => html("figure", {}, ...content, html("figcaption", {}, caption));

/** A table; a wide one becomes a list of cards on a narrow screen. A column is {name, cell(row), isNumber}. */
function table(caption, columns, rows) {
  return html(
    "table",
    { role: "table", class: columns.length > 4 ? "data stacks" : "data" },
    html("caption", {}, caption),
    html(
      "thead",
      { role: "rowgroup" },
      html(
        "tr",
        { role: "row" },
        columns.map((column) =>
          html(
            "th",
            { role: "columnheader", scope: "col", class: column.isNumber ? "number" : null },
            column.name,
          ),
        ),
      ),
    ),
    html(
      "tbody",
      { role: "rowgroup" },
      rows.map((row) =>
        html(
          "tr",
          { role: "row" },
          columns.map((column, k) =>
            html(
              k === 0 ? "th" : "td",
              {
                role: k === 0 ? "rowheader" : "cell",
                scope: k === 0 ? "row" : null,
                class: column.isNumber ? "number" : null,
                "data-label": column.name,
              },
              column.cell(row),
            ),
          ),
        ),
      ),
    ),
  );
}

function badge(verdict) {
  const sign = { feasible: "✓", infeasible: "✕", killed: "✕", running: "▸", stopping: "▸", stopped: "▪" }[verdict] ?? "?";
  return html(
    "span",
    { class: `badge ${verdict}` },
    html("span", { "aria-hidden": "true" }, `${sign} `),
    verdict,
  );
}

/** Whether a run that is watched has no result yet. */
const isOpen = (run) => Boolean(run.live) && run.live.state !== "ended";

function facts(run) {
  const entries = [
    ["distance to the target set", write(run.distance)],
    ["lower bound on it", write(run.lower_bound)],
    ["samples", writeCount(run.samples)],
    ...(isOpen(run) ? [] : [["samples for evaluation", writeCount(run.evaluation_samples)]]),
    ["oracle calls", writeCount(run.oracle_calls)],
    ...(isOpen(run) ? [] : [["policies", writeCount(run.mixture.length)]]),
    ...(isOpen(run) ? [] : [["time", run.times.length ? writeSeconds(totalTime(run)) : "–"]]),
  ];
  return html(
    "dl",
    { class: "facts" },
    entries.map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))),
  );
}

function constraintTable(run) {
  const { constraints } = run;
  if (!constraints.length && isOpen(run)) return html("p", {}, "There is no round yet.");
  if (!constraints.length) return html("p", {}, "This problem has no constraints.");
  const columns = [
    { name: "constraint", cell: (c) => c.name },
    { name: "measure", cell: (c) => c.measure },
    { name: "value", cell: (c) => typographic(c.value), isNumber: true },
    { name: "required", cell: (c) => typographic(c.required), isNumber: true },
    { name: "slack", cell: (c) => typographic(c.slack), isNumber: true },
    { name: intervalName(run), cell: (c) => writeInterval(c.interval), isNumber: true },
    {
      name: "holds",
      cell: (c) => html("span", { class: c.holds ? "yes" : "no" }, c.holds ? "✓ yes" : "✕ no"),
    },
  ];
  const isExact = !isOpen(run) && run.confidence === null && run.samples + run.evaluation_samples === 0;
  if (constraints.every((c) => !c.interval)) columns.splice(5, 1);
  const holding = constraints.filter((c) => c.holds).length;
  const verdict =
    holding === constraints.length
      ? "All constraints hold"
      : `${holding} of ${countOf(constraints.length, "constraint")} hold`;
  const source = isOpen(run) ? " as the search sees its last round; fresh episodes may say otherwise" : run.is_logged ? " by logged data, none of it confirmed by fresh episodes" : "";
  return table(
    `${verdict}${source}. Slack is how far the value is inside its bound; a negative slack is a violation.` +
      (isExact ? " Values are exact, so there are no intervals." : ""),
    columns,
    constraints,
  );
}

const percent = (share) => (share > 0 && share < 0.05 ? "< 0.1 %" : `${share.toFixed(1)} %`);

function timeTable(run) {
  const total = totalTime(run);
  const [name, unit] = timeUnit(total);
  const written = writeColumn(run.times.map(([, s]) => s / unit));
  const share = (s) => (total > 0 ? (100 * s) / total : 0);
  const times = table(
    `Where the time went: ${writeSeconds(total)} in all.`,
    [
      { name: "part", cell: ([part]) => part },
      { name: `time (${name})`, cell: (part) => written[run.times.indexOf(part)], isNumber: true },
      { name: "share", cell: ([, s]) => percent(share(s)), isNumber: true },
      { name: "", cell: ([, s]) => html("span", { class: "bar", style: `width: ${share(s)}%` }) },
    ],
    run.times,
  );
  times.classList.add("weights");
  return times;
}

async function copy(text, button) {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    // Browsers without a clipboard for files still copy what is selected.
    const field = html("textarea", { class: "offscreen", "aria-hidden": "true" });
    field.value = text;
    document.body.append(field);
    field.select();
    document.execCommand("copy");
    field.remove();
  }
  button.textContent = "copied";
  setTimeout(() => {
    button.textContent = "copy";
  }, 1500);
}

function confidence(run) {
  if (isOpen(run)) return "none so far";
  if (run.is_logged) return "none: logged data decide nothing";
  return isNumber(run.confidence) ? write(run.confidence) : "exact";
}

function reproduction(run) {
  const button = html("button", { type: "button", onclick: () => copy(run.command, button) }, "copy");
  return [
    html("div", { class: "command" }, html("pre", {}, html("code", {}, run.command)), button),
    html(
      "dl",
      { class: "settings" },
      [
        ["version", run.version],
        ["seed", run.seed],
        ["tolerance", write(run.tolerance)],
        ["confidence", confidence(run)],
      ].map(([name, value]) => html("div", {}, html("dt", {}, name), html("dd", {}, value))),
    ),
    html("p", {}, "The problem file, below and in the run’s folder, states every setting of the run."),
    html(
      "details",
      {},
      html("summary", {}, "the problem file"),
      html("pre", {}, html("code", {}, run.problem)),
    ),
  ];
}

/** All of a run's sections, their headings of the given level. */
function runSections(run, level) {
  const made = [
    run.live ? liveStatus(run) : null,
    html("p", { class: "verdict" }, badge(run.verdict), " ", typographic(run.sentence)),
    facts(run),
    section(
      level,
      "Constraints",
      constraintTable(run),
      run.nearest ? html("p", {}, typographic(`${run.nearest[0].toUpperCase()}${run.nearest.slice(1)}.`)) : null,
    ),
  ];
  const hasRounds = run.rounds.round.length > 0;
  if (run.objective) made.push(section(level, "Objective", objectiveFigure(run)));
  const count = run.measures.length;
  if (hasRounds) made.push(section(level, "Distance to the target set", distanceFigure(run)));
  if (hasRounds && count) made.push(section(level, "Measures against their thresholds", measureFigure(run)));
  if (!count)
    made.push(
      section(
        level,
        "Measures",
        html("p", {}, "No constraint looks at a single number, so there are no curves of measures."),
      ),
    );
  if (hasRounds && count > 1) made.push(section(level, "The path towards the target set", pathFigure(run)));
  if (run.grid) made.push(section(level, "Visits", visitFigure(run)));
  if (run.mixture.length) made.push(section(level, "The mixture", ...mixtureFigure(run)));
  if (run.rounds.round.length > 1 && count) made.push(section(level, "λ over time", lambdaFigure(run)));
  if (run.times.length) made.push(section(level, "Time", timeTable(run)));
  if (run.live) made.push(section(level, "The last rounds", logTail(run)));
  made.push(section(level, "How to reproduce", ...reproduction(run)));
  return made.filter(Boolean);
}
