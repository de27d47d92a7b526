// Pen, brush, ball and hand on the scene, for mouse, pen and finger alike.

import { distance } from "/cloud.js";

export class Tools {
  // app: {cloud, scene, size, draw(), changed(), drawn()}
  constructor(canvas, app) {
    this.app = app;
    this.kind = "rub";
    this.line = null;  // the stroke that is being drawn
    this.from = null;  // where the pointer was last, while it is down
    this.hover = null;
    canvas.addEventListener("pointerdown", event => this.down(event));
    canvas.addEventListener("pointermove", event => this.move(event));
    canvas.addEventListener("pointerup", event => this.up(event, true));
    canvas.addEventListener("pointercancel", event => this.up(event, false));
    canvas.addEventListener("pointerleave", () => { this.hover = null; app.draw(); });
  }

  down(event) {
    if (event.button || !event.isPrimary) return;
    event.preventDefault();
    event.target.setPointerCapture(event.pointerId);
    this.from = this.hover = [event.offsetX, event.offsetY];
    if (this.kind === "pen") this.line = [this.place(this.from)];
    if (this.kind === "rub") {
      this.app.cloud.begin();
      this.rub(this.from);
    }
    this.app.draw();
  }

  move(event) {
    if (!event.isPrimary) return;
    // the browser gathers fast moves into one event: a line needs them all
    const parts = this.from && event.getCoalescedEvents ? event.getCoalescedEvents() : [];
    for (const part of parts.length ? parts : [event]) this.step([part.offsetX, part.offsetY]);
    this.app.draw();
  }

  step(to) {
    const from = this.from;
    this.hover = to;
    if (!from) return;
    this.from = to;
    if (this.kind === "turn") this.app.scene.rotate(to[0] - from[0], to[1] - from[1]);
    if (this.kind === "pen") this.line.push(this.place(to));
    if (this.kind === "rub") {
      const count = Math.ceil(distance(from, to) / 6) || 1;
      for (let k = 1; k <= count; k++) {
        this.rub(from.map((value, axis) => value + ((to[axis] - value) * k) / count));
      }
    }
  }

  up(event, done) {
    if (!this.from) return;
    const { app, line } = this, at = this.from;
    this.from = this.line = null;
    if (event.pointerType !== "mouse") this.hover = null;
    if (this.kind === "pen" && line && done) app.drawn(line);
    if (this.kind === "rub") this.finish();
    if (this.kind === "ball" && done) {
      const centre = this.ballAt(at);
      app.cloud.begin();
      if (centre) app.cloud.cutBall(centre, this.radius);
      this.finish();
    }
    app.draw();
  }

  finish() {  // a gesture that took nothing away need not be undone
    const { cloud } = this.app, before = cloud.gestures.pop(), gone = cloud.removed.length;
    cloud.setPoints(cloud.points, cloud.stroke);
    const changed = cloud.removed.length !== gone;
    if (changed) {
      cloud.gestures.push(before);
      cloud.setPoints(cloud.points, cloud.stroke);
    }
    this.app.changed(changed);
  }

  // Takes points away by their numbers, as one gesture.
  take(numbers) {
    this.app.cloud.begin();
    this.app.cloud.cutNumbers(numbers);
    this.finish();
  }

  rub([x, y]) {
    const { cloud, scene } = this.app;
    if (cloud.dim === 2) {
      cloud.cutBall(scene.place(x, y), this.radius);
      return;
    }
    const reach = this.radius * scene.scale, covered = new Set();
    cloud.points.forEach((p, i) => {
      const [px, py] = scene.project(p);
      if (Math.hypot(px - x, py - y) < reach) covered.add(i);
    });
    cloud.cutNumbers(covered);
  }

  ballAt([x, y]) {
    const { cloud, scene } = this.app;
    if (cloud.dim === 2) return scene.place(x, y);
    return cloud.points[scene.pick(cloud.points, cloud.gone, x, y)];
  }

  place([x, y]) {
    return this.app.scene.place(x, y).map(value => +value.toFixed(3));
  }

  get radius() {
    return this.app.size * this.app.cloud.scale;
  }

  get circle() {  // what the brush or the ball would take
    if (!this.hover || !["rub", "ball"].includes(this.kind)) return null;
    let at = this.hover;
    if (this.kind === "ball" && this.app.cloud.dim === 3) {
      const centre = this.ballAt(at);
      if (!centre) return null;
      at = this.app.scene.project(centre);
    }
    return [at[0], at[1], this.radius * this.app.scene.scale];
  }
}
