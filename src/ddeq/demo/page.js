// The page: where a cloud comes from, what is done to it, and what comes of it.

import * as api from "/api.js";
import { summary } from "/charts.js";
import { fillChoices } from "/choices.js";
import { Classes } from "/classes.js";
import { Cloud } from "/cloud.js";
import { ASK, Game, half } from "/game.js";
import { Player } from "/player.js";
import { fillFormats, save, shareLink } from "/saving.js";
import { attempt, onDrop, press, say } from "/parts.js";
import { Scene, color, mix } from "/scene.js";
import { decode } from "/share.js";
import { Tools } from "/tools.js";

const get = id => document.getElementById(id);
const all = selector => [...document.querySelectorAll(selector)];
const HINTS = {
  draw: "Draw a digit here",
  file: "Drop a cloud file here",
};
let about, player, tools, classes;
let visit = 0;  // counts the clouds: an answer for an earlier one is dropped
let edits = 0;  // and their changes
let truth = true;  // whether what was taken away is shown
const game = new Game();
const sizes = { rub: 0.25, ball: 0.6 };

const app = {
  cloud: new Cloud("draw", 2),
  scene: new Scene(get("scene")),
  get size() { return sizes[tools.kind] ?? sizes.ball; },
  draw,
  changed(really = true) { if (really) changed(); },
  drawn(line) { app.cloud.addStroke(line); redraw(); },
};

function draw() {
  const { cloud, scene } = app, fresh = player.points(cloud.dim);
  scene.draw([
    { points: truth && !game.waiting ? cloud.removed : [], color: color("gone"), hollow: true },
    { points: cloud.kept, color: color("kept") },
    { points: fresh, color: color("new"), colors: shades(), rim: color("stage") },
  ], { lines: tools.line ? [tools.line] : [], circle: tools.circle });
  get("kept").textContent = cloud.kept.length;
  get("gone").textContent = game.waiting ? "?" : cloud.removed.length;
  get("new").textContent = fresh.length;
  get("scene").setAttribute("aria-label", `A cloud in ${cloud.dim} dimensions: ` +
    `${cloud.kept.length} points kept, ${cloud.removed.length} taken away, ${fresh.length} new`);
  get("hint").textContent = cloud.points.length || tools.line ? "" : HINTS[cloud.source] || "";
}

function shades() {  // of the new points, the surer the deeper
  const known = player.flow?.confidence;
  return known ? known.map(c => mix(color("unsure"), color("new"), c ?? 0)) : null;
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
  get("tools").hidden = get("edit").hidden = cloud.source === "guess";
  get("complete").disabled = !ready || !cloud.kept.length || game.waiting;
  for (const id of ["random", "camera"]) get(id).disabled = cloud.kept.length < 2;
  get("truth").disabled = !cloud.removed.length;
  get("sure").hidden = !player.flow?.confidence;
  get("undo").disabled = !cloud.gestures.length;
  get("restore").disabled = !cloud.removed.length;
  for (const id of ["download", "share"]) get(id).disabled = !cloud.kept.length || game.waiting;
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
  game.stop();
  app.cloud = new Cloud(source, dim, points);
  if (points.length) app.scene.lookAt(points, dim === 2 ? 1.35 : 1.25);
  else app.scene.look([about.canvas / 2, about.canvas / 2], about.canvas / 2, 2);
  sizes.ball = about.radius[dim];
  get("tool").querySelector("[data-tool=pen]").hidden = source !== "draw";
  get("tool").querySelector("[data-tool=turn]").hidden = dim !== 3;
  get("camera").hidden = dim !== 3;
  const first = { draw: "pen", guess: "none" }[source];
  pickTool(first ?? (dim === 3 ? "turn" : "rub"));
  changed();
}

// The cloud is another one: what was found for it no longer holds.
function changed() {
  edits += 1;
  player.clear();
  get("summary").textContent = "";
  classes.forget();
  say();
  enable();
  draw();
  showClasses();
  clearTimeout(changed.timer);
  changed.timer = setTimeout(() => attempt(classify), 120);
}

async function classify() {
  const now = edits, { cloud } = app;
  if (!cloud.kept.length || !classes.able(cloud)) return;
  const found = await classes.ask(cloud);
  if (now !== edits) return;
  classes.seen = found;
  if (!player.flow) showClasses();
}

function showClasses() {
  classes.show(app.cloud, game.waiting ? "First say what you think." : "");
}

async function complete() {
  const now = edits, { cloud } = app, button = get("complete");
  button.disabled = true;
  button.textContent = "Completing …";
  say();
  try {
    const result = await api.call("complete", cloud.request);
    if (now !== edits) return;
    player.load(result);
    classes.completed = result.classes;
    if (game.guess !== null && result.classes) say(game.score(result.classes));
    showClasses();
    get("summary").textContent = summary(result);
  } finally {
    button.textContent = "Complete";
    enable();
  }
}

// Takes a part away: at random as the tool does, or what a camera does not see.
async function takeAway(how) {
  const now = edits, { cloud } = app, numbers = cloud.keptNumbers;
  if (numbers.length < 2) return;
  const { gone } = await api.call("cut", { points: cloud.kept, ...how });
  if (now === edits) tools.take(new Set(gone.map(i => numbers[i])));
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
  const { points, title } = await api.call("sample", { kind, class: name });
  if (now !== visit) return;
  setCloud(kind, points[0].length, points);
  get("stage").title = title || "";
}

// A half of some digit; the person says first what it was.
async function round() {
  const now = ++visit, answer = anyOf(about.digits);
  press("#choices button", "name", "");
  const { points, gone } = await half(answer);
  if (now !== visit) return;
  setCloud("guess", 2, points);
  game.begin(answer);
  tools.take(new Set(gone));
  say(ASK);
}

async function guess(name) {
  if (!game.waiting) return;
  press("#choices button", "name", name);
  game.guess = name;
  draw();
  await complete();
}

// The cloud that the address holds.
async function openShared() {
  const { dim, points, gone } = decode(location.hash.slice(1));
  openSource("file", "A cloud from a link.");
  setCloud("file", dim, points);
  if (gone.size) tools.take(gone);
  if (!get("complete").disabled) await complete();
}

async function bring(file) {
  if (!file) return;
  if (file.size > about.max_upload) {
    throw new Error(`${file.name} is too large: at most ${about.max_upload / 2 ** 20} MB.`);
  }
  const now = ++visit;
  const { points, size, note } = await api.upload(file);
  if (now !== visit) return;
  openSource("file", note);
  setCloud("file", points[0].length, points);
  app.cloud.size = size;
}

// The row of choices that belongs to a source.
function openSource(source, note) {
  press("[data-source]", "source", source);
  const tried = work => (...what) => attempt(() => work(...what));
  fillChoices(source, about, {
    sample: tried(sample),
    guess: tried(guess),
    round: tried(round),
    clear: tried(() => setCloud("draw", 2, [])),
    file: () => get("file").click(),
  }, note);
}

function anyOf(list) {
  return list[Math.floor(Math.random() * list.length)];
}

async function choose(source) {
  openSource(source);
  if (source === "digit") await sample(source, anyOf(about.digits));
  else if (source === "scan") await sample(source, about.scans[0]);
  else if (source === "guess") await round();
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
  on("random", "click", () => takeAway({ cut: tools.kind === "rub" ? "brush" : "balls" }));
  on("camera", "click", () => takeAway({ camera: app.scene.camera }));
  on("truth", "click", () => {
    truth = !truth;
    get("truth").setAttribute("aria-pressed", String(truth));
    draw();
  });
  on("undo", "click", () => (app.cloud.undo() ? redraw() : changed()));
  on("restore", "click", () => { app.cloud.restore(); changed(); });
  on("complete", "click", complete);
  on("file", "change", async () => { await bring(get("file").files[0]); });
  on("file", "click", () => { get("file").value = ""; });
  on("download", "click", () => save(app.cloud, player.flow?.new ?? [], about.films, say));
  on("share", "click", () => shareLink(app.cloud, say));
  window.addEventListener("hashchange", () => location.hash && attempt(openShared));
  onDrop(get("stage"), file => attempt(() => bring(file)));
  const again = () => { draw(); player.draw(); };
  new ResizeObserver(again).observe(get("stage"));
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", again);
}

// The cloud of a link, or the first scan with a part taken away.
async function begin() {
  try {
    if (location.hash.length > 1) return await openShared();
  } catch (error) {
    await choose("scan");
    return say(error.message, true);
  }
  await choose("scan");
  return takeAway({ cut: "balls" });
}

async function start() {
  about = await api.about();
  player = new Player(passed => {
    app.scene.turn += 0.25 * passed;  // a solid is easier to read when it moves
    draw();
  });
  tools = new Tools(get("scene"), app);
  classes = new Classes(about);
  fillFormats(about);
  get("file").accept = about.readable.join(",");
  listen();
  await begin();
  document.body.dataset.ready = "true";
}

attempt(start);
