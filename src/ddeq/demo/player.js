// Plays the flow: a time between 0 and the last frame, moved by the clock or by a finger.

import { between, curve, short, stepAt } from "/charts.js";

const get = id => document.getElementById(id);
const SECONDS = 4;
const calm = matchMedia("(prefers-reduced-motion: reduce)");

export class Player {
  constructor(show) {
    this.show = show;  // called when the particles have moved
    this.flow = null;
    this.at = 0;
    this.clock = 0;
    get("play").addEventListener("click", () => (this.clock ? this.stop() : this.play()));
    get("time").addEventListener("input", () => { this.stop(); this.seek(+get("time").value); });
    for (const id of ["residual", "spread"]) this.listen(get(id));
    this.clear();
  }

  listen(canvas) {
    const move = event => {
      if (!this.flow || !(event.buttons & 1)) return;
      this.stop();
      this.seek(this.frameOf(stepAt(canvas, event.offsetX, this.lastStep)));
    };
    canvas.addEventListener("pointerdown", move);
    canvas.addEventListener("pointermove", move);
  }

  get last() {
    return this.flow.frames.length - 1;
  }

  get lastStep() {
    return this.flow.residuals.length - 1;
  }

  // The time at which the flow is at a step of the solver.
  frameOf(step) {
    const steps = this.flow.steps, k = steps.findIndex(value => value >= step);
    if (k <= 0) return k ? this.last : 0;
    return k - 1 + (step - steps[k - 1]) / (steps[k] - steps[k - 1] || 1);
  }

  clear() {
    this.stop();
    this.flow = null;
    this.at = 0;
    for (const id of ["play", "time"]) get(id).disabled = true;
    get("time").value = 0;
    this.draw();
  }

  load(flow) {
    this.stop();
    this.flow = flow;
    get("time").max = this.last;
    for (const id of ["play", "time"]) get(id).disabled = false;
    if (calm.matches) this.seek(this.last);
    else this.play();
  }

  play() {
    if (!this.flow) return;
    if (this.at >= this.last) this.at = 0;
    let before = performance.now();
    const speed = this.last / SECONDS;
    const tick = now => {
      // a slow machine shows the flow slowly, but shows it
      const passed = Math.min(0.1, Math.max(0, now - before) / 1000);
      before = now;
      this.seek(this.at + passed * speed, passed);
      if (this.at < this.last) this.clock = requestAnimationFrame(tick);
      else this.stop();
    };
    this.clock = requestAnimationFrame(tick);
    get("play").textContent = "Pause";
    this.seek(this.at);
  }

  stop() {
    cancelAnimationFrame(this.clock);
    this.clock = 0;
    get("play").textContent = "Play";
  }

  seek(at, passed = 0) {
    if (!this.flow) return;
    this.at = Math.max(0, Math.min(this.last, at));
    get("time").value = this.at;
    this.draw();
    this.show(passed);
  }

  draw() {
    const flow = this.flow, step = flow ? between(flow.steps, this.at) : 0, k = Math.round(step);
    get("step").textContent = flow ? `step ${k} of ${this.lastStep}` : "press Complete";
    get("time").setAttribute("aria-valuetext", get("step").textContent);
    for (const [id, name, log] of [["residual", "residuals", true], ["spread", "spread", false]]) {
      const values = flow ? flow[name] : [];
      curve(get(id), values, step, log);
      get(`${id}-now`).textContent = short(values[k]);
    }
  }

  // Where the particles are now: between two frames they go straight.
  points(dim) {
    if (!this.flow) return [];
    const k = Math.floor(this.at), share = this.at - k;
    const a = this.flow.frames[k], b = this.flow.frames[k + 1] || a, points = [];
    for (let i = 0; i < a.length; i += dim) {
      const p = [];
      for (let j = i; j < i + dim; j++) p.push(between([a[j], b[j]], share));
      points.push(p);
    }
    return points;
  }
}
