// The page: where a cloud comes from, what is done to it, and what comes of it.

import * as api from "/api.js";
import { bars, percent } from "/charts.js";
import { Cloud } from "/cloud.js";
import { Player } from "/player.js";
import { Scene, color } from "/scene.js";
import { Tools } from "/tools.js";

const get = id => document.getElementById(id);
const all = selector => [...document.querySelectorAll(selector)];
const HINTS = {
  draw: "Draw a digit here",
  file: "Drop a cloud file here",
};
let about, player, tools;
let visit = 0;  // counts the clouds: an answer for an earlier one is dropped
let edits = 0;  // and their changes
let seen = null;  // classes of the input
const sizes = { rub: 0.25, ball: 0.6 };

const app = {
  cloud: new Cloud("draw", 2),
  scene: new Scene(get("scene")),
  get size() { return sizes[tools.kind] ?? sizes.ball; },
  draw,
  changed(really = true) { if (really) changed(); },
  drawn(line) { app.cloud.addStroke(line); redraw(); },
};

function say(text = "", bad = false) {
  get("message").textContent = text;
  get("message").className = bad ? "bad" : "";
}

async function attempt(work) {  // what goes wrong is said in a sentence
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

function draw() {
  const { cloud, scene } = app, fresh = player.points(cloud.dim);
  scene.draw([
    { points: cloud.removed, color: color("gone"), hollow: true },
    { points: cloud.kept, color: color("kept") },
    { points: fresh, color: color("new"), rim: color("stage") },
  ], { lines: tools.line ? [tools.line] : [], circle: tools.circle });
  get("kept").textContent = cloud.kept.length;
  get("gone").textContent = cloud.removed.length;
  get("new").textContent = fresh.length;
  get("scene").setAttribute("aria-label", `A cloud in ${cloud.dim} dimensions: ` +
    `${cloud.kept.length} points kept, ${cloud.removed.length} taken away, ${fresh.length} new`);
  get("hint").textContent = cloud.points.length || tools.line ? "" : HINTS[cloud.source] || "";
}

function press(selector, name, value) {
  for (const button of all(selector)) {
    button.setAttribute("aria-pressed", String(button.dataset[name] === value));
  }
}

function pickTool(kind) {
  tools.kind = kind;
  tools.hover = null;
  press("[data-tool]", "tool", kind);
  get("scene").classList.toggle("turning", kind === "turn");
  get("size").value = app.size;
  get("size").disabled = !(kind in sizes);
  draw();
}

function enable() {
  const { cloud } = app, ready = about.completer.includes(cloud.dim);
  get("complete").disabled = !ready || !cloud.kept.length;
  get("random").disabled = cloud.kept.length < 2;
  get("undo").disabled = !cloud.gestures.length;
  get("restore").disabled = !cloud.removed.length;
  get("download").disabled = !cloud.kept.length;
  const fresh = player.flow ? player.flow.new.length : 0;
  get("contents").textContent = !cloud.kept.length ? "nothing yet"
    : `${cloud.kept.length} points${fresh ? ` and ${fresh} new ones` : ""}`;
  if (!ready && cloud.points.length) {
    say(`No completer for ${cloud.dim}-D clouds comes with this version; the rest works.`);
  }
}

// A new cloud is on the stage.
function setCloud(source, dim, points) {
  visit += 1;
  app.cloud = new Cloud(source, dim, points);
  if (points.length) app.scene.lookAt(points, dim === 2 ? 1.35 : 1.25);
  else app.scene.look([about.canvas / 2, about.canvas / 2], about.canvas / 2, 2);
  sizes.ball = about.radius[dim];
  get("tool").querySelector("[data-tool=pen]").hidden = source !== "draw";
  get("tool").querySelector("[data-tool=turn]").hidden = dim !== 3;
  pickTool(source === "draw" ? "pen" : dim === 3 ? "turn" : "rub");
  changed();
}

// The cloud is another one: what was found for it no longer holds.
function changed() {
  edits += 1;
  player.clear();
  get("summary").textContent = "";
  seen = null;
  say();
  enable();
  draw();
  showClasses(null);
  clearTimeout(changed.timer);
  changed.timer = setTimeout(() => attempt(classify), 120);
}

async function classify() {
  const now = edits, { cloud } = app;
  if (!cloud.kept.length || !about.classifier.includes(cloud.dim)) return;
  const { classes } = await api.call("classify", { points: cloud.kept });
  if (now !== edits) return;
  seen = classes;
  if (!player.flow) showClasses(null);
}

function showClasses(completed) {
  const box = get("bars"), note = document.createElement("p");
  const able = about.classifier.includes(app.cloud.dim);
  get("verdict").textContent = "";
  box.className = able ? "able" : "";
  if (able && (seen || completed)) {
    const best = bars(box, seen, completed);
    get("verdict").textContent =
      `${completed ? "completed" : "input"}: ${best.name}, ${percent(best.probability)}`;
    return;
  }
  note.textContent = !able
    ? `No classifier for ${app.cloud.dim}-D clouds comes with this version.`
    : app.cloud.kept.length ? "Looking …" : "Nothing to classify yet.";
  box.replaceChildren(note);
}

async function complete() {
  const now = edits, { cloud } = app, button = get("complete");
  button.disabled = true;
  button.textContent = "Completing …";
  say();
  try {
    const request = { points: cloud.kept, removed: cloud.removed };
    const result = await api.call("complete", request);
    if (now !== edits) return;
    player.load(result);
    showClasses(result.classes);
    const count = result.new.length, steps = result.frames.length - 1;
    get("summary").textContent = `${count} new point${count === 1 ? "" : "s"} in ` +
      `${steps} steps, ${result.seconds.toFixed(2)} s. ${result.status}`;
  } finally {
    button.textContent = "Complete";
    enable();
  }
}

async function redraw() {  // the drawing as a cloud, made by the server
  const { cloud } = app, now = visit, strokes = cloud.strokes.length;
  const made = strokes ? await api.call("draw", { strokes: cloud.strokes }) : { points: [] };
  if (now !== visit || strokes !== cloud.strokes.length) return;
  cloud.setPoints(made.points, made.stroke);
  changed();
}

async function sample(kind, name) {
  const now = ++visit;
  press("#choices button", "name", name);
  const { points } = await api.call("sample", { kind, class: name });
  if (now === visit) setCloud(kind, kind === "digit" ? 2 : 3, points);
}

async function bring(file) {
  if (!file) return;
  if (file.size > about.max_upload) {
    throw new Error(`${file.name} is too large: at most ${about.max_upload / 2 ** 20} MB.`);
  }
  const now = ++visit;
  const { points, note } = await api.upload(file);
  if (now !== visit) return;
  openSource("file", note);
  setCloud("file", points[0].length, points);
}

function choiceButton(name, label, work) {
  const button = document.createElement("button");
  button.textContent = label;
  if (name !== null) button.dataset.name = name;
  button.addEventListener("click", () => attempt(work));
  return button;
}

// The row of choices that belongs to a source.
function openSource(source, note) {
  press("[data-source]", "source", source);
  const names = { digit: about.digits, shape: about.shapes }[source] || [];
  const items = names.map(name => choiceButton(name, name, () => sample(source, name)));
  if (source === "draw") items.push(choiceButton(null, "Clear", () => setCloud("draw", 2, [])));
  if (source === "file") items.push(choiceButton(null, "Choose a file", () => get("file").click()));
  if (!names.length) {
    const text = document.createElement("p");
    text.className = "note";
    text.textContent = note || (source === "draw" ? "One digit, with mouse, pen or finger."
      : `Points or a mesh: ${about.readable.map(ending => ending.slice(1)).join(", ")}`);
    items.push(text);
  }
  get("choices").replaceChildren(...items);
}

function anyOf(list) {
  return list[Math.floor(Math.random() * list.length)];
}

async function choose(source) {
  openSource(source);
  if (source === "digit") await sample(source, anyOf(about.digits));
  else if (source === "shape") await sample(source, anyOf(about.shapes));
  else setCloud(source, 2, []);
}

function listen() {
  const on = (id, kind, work) => get(id).addEventListener(kind, event => attempt(() => work(event)));
  for (const button of all("[data-source]")) {
    button.addEventListener("click", () => attempt(() => choose(button.dataset.source)));
  }
  for (const button of all("[data-tool]")) {
    button.addEventListener("click", () => pickTool(button.dataset.tool));
  }
  on("size", "input", () => { sizes[tools.kind] = +get("size").value; });
  on("random", "click", () => tools.random(sizes.ball));
  on("undo", "click", () => (app.cloud.undo() ? redraw() : changed()));
  on("restore", "click", () => { app.cloud.restore(); changed(); });
  on("complete", "click", complete);
  on("file", "change", async () => { await bring(get("file").files[0]); });
  on("file", "click", () => { get("file").value = ""; });
  on("download", "click", async () => {
    const fresh = player.flow ? player.flow.new : [];
    await api.download({ points: app.cloud.kept, new: fresh, format: get("format").value });
  });
  for (const kind of ["dragover", "dragleave", "drop"]) {
    on("stage", kind, event => {
      event.preventDefault();
      get("stage").classList.toggle("over", kind === "dragover");
      return kind === "drop" ? bring(event.dataTransfer.files[0]) : null;
    });
  }
  const again = () => { draw(); player.draw(); };
  new ResizeObserver(again).observe(get("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

async function start() {
  about = await api.about();
  player = new Player(passed => {
    app.scene.turn += 0.25 * passed;  // a solid is easier to read when it moves
    draw();
  });
  tools = new Tools(get("scene"), app);
  get("format").replaceChildren(...about.formats.map(name => new Option(name, name)));
  get("file").accept = about.readable.join(",");
  listen();
  await choose("digit");
  for (let k = 0; k < 2; k++) tools.random(sizes.ball);  // as in training
}

attempt(start);
