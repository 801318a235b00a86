// A page that follows runs while they go on. The server sends all that is to be seen whenever something is new, so that
// a page that was cut off needs nothing but the next event.

const CONTROL = "appropo-token";

/** The token that lets this page stop runs: it came behind the address’s #, which no server is ever sent. */
const token = (() => {
  const given = /^#token=([0-9a-f]+)$/.exec(location.hash)?.[1];
  if (!given) return sessionStorage.getItem(CONTROL);
  sessionStorage.setItem(CONTROL, given);
  history.replaceState(null, "", location.pathname);
  return given;
})();

/** What the server said to the last request to stop, by run. */
const answers = new Map();
let isConnected = true;
let shown = [];

async function stopRun(number) {
  answers.set(number, "asking…");
  refresh();
  try {
    const answer = await fetch(`stop/${number}`, { method: "POST", headers: { "X-Appropo-Token": token } });
    answers.set(number, await answer.text());
  } catch {
    answers.set(number, "The server of this page does not answer.");
  }
  refresh();
}

function liveStatus(run) {
  const { state, sentence, problem } = run.live;
  const { number } = run.live;
  const isGoing = state === "running" || state === "stopping";
  return html(
    "div",
    { class: `live ${state}`, role: "status" },
    html("p", {}, html("b", {}, isConnected ? state : "not connected"), " ", typographic(sentence)),
    problem ? html("p", { class: "no" }, problem) : null,
    isConnected ? null : html("p", { class: "no" }, "The server of this page does not answer; this is what it said last."),
    isGoing && token
      ? html(
          "button",
          { type: "button", class: "stop", disabled: state === "stopping", onclick: () => stopRun(number) },
          state === "stopping" ? "stopping…" : "stop this run",
        )
      : null,
    answers.has(number) && isGoing ? html("p", { class: "answer" }, answers.get(number)) : null,
  );
}

function logTail(run) {
  const { tail } = run.live;
  if (!tail.length) return html("p", {}, "No round is over yet.");
  return html("pre", { class: "log", tabindex: "0" }, html("code", {}, tail.map(typographic).reverse().join("\n")));
}

/** What a reader has unfolded, chosen and hidden, in the order of the page. */
const choices = () => ({
  folds: [...main.querySelectorAll("details")].map((fold) => fold.open),
  fields: [...main.querySelectorAll("select, input")].map((field) => [field.value, field.checked]),
  pressed: [...main.querySelectorAll("[aria-pressed]")].map((button) => button.getAttribute("aria-pressed")),
});

function restore({ folds, fields, pressed }) {
  main.querySelectorAll("details").forEach((fold, k) => {
    if (folds[k]) fold.open = true;
  });
  const all = [...main.querySelectorAll("select, input")];
  if (all.length === fields.length)
    all.forEach((field, k) => {
      const [value, checked] = fields[k];
      if (field.value === value && field.checked === checked) return;
      [field.value, field.checked] = [value, checked];
      field.dispatchEvent(new Event("change"));
    });
  const buttons = [...main.querySelectorAll("[aria-pressed]")];
  if (buttons.length === pressed.length)
    buttons.forEach((button, k) => pressed[k] === "false" && button.click());
}

/** Draws everything anew. While someone reads a value or opens a menu, that waits for the next event. */
function refresh() {
  if (explored || main.querySelector("select:focus")) return;
  const held = choices();
  const [x, y] = [scrollX, scrollY];
  const hadFocus = document.activeElement?.classList.contains("stop");
  main.style.minHeight = `${main.offsetHeight}px`;
  allDrawings.forEach((_, place) => widths.unobserve(place));
  allDrawings.clear();
  main.replaceChildren();
  show(shown);
  restore(held);
  // Charts have their height as soon as they are drawn; without that the page would jump.
  allDrawings.forEach(({ fit }) => fit());
  main.style.minHeight = "";
  scrollTo(x, y);
  if (hadFocus) main.querySelector(".stop")?.focus();
  document.title = pageTitle();
}

function pageTitle() {
  const states = shown.map((run) => run.live.state);
  const what = shown.length === 1 ? shown[0].name : `${shown.length} runs`;
  return `${[...new Set(states)].join(", ")}: ${what}`;
}

function follow() {
  shown = runs;
  document.title = pageTitle();
  const events = new EventSource("events");
  events.onmessage = (event) => {
    isConnected = true;
    shown = JSON.parse(event.data);
    refresh();
  };
  // The browser tries again by itself.
  events.onerror = () => {
    if (!isConnected) return;
    isConnected = false;
    refresh();
  };
}
