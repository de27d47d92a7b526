// A cloud that is edited: its points, the strokes it was drawn with, and what was taken away.

export class Cloud {
  constructor(source, dim, points = []) {
    this.source = source;
    this.dim = dim;
    this.size = null;  // of the file that the points are a subsample of
    this.strokes = [];
    this.gestures = [];  // {stroke: true}, or {tests: [...]}: what each test is true of is gone
    this.setPoints(points);
  }

  setPoints(points, stroke = null) {
    this.points = points;
    this.stroke = stroke;  // number of the last stroke that touched each point
    this.gone = points.map(() => false);
    this.scale = deviation(points) || 3;
    for (const gesture of this.gestures) {
      for (const test of gesture.tests || []) this.mark(test);
    }
  }

  mark(test) {
    let changed = false;
    this.points.forEach((p, i) => {
      if (!this.gone[i] && test(p, i)) this.gone[i] = changed = true;
    });
    return changed;
  }

  begin() {
    this.gestures.push({ tests: [] });
  }

  // Takes away what a test is true of, as a part of the gesture that has begun.
  cut(test) {
    this.gestures.at(-1).tests.push(test);
    return this.mark(test);
  }

  // Takes away a ball; what is drawn later over the same place stays.
  cutBall(centre, radius) {
    const before = this.strokes.length;
    return this.cut((p, i) =>
      distance(p, centre) < radius && (!this.stroke || this.stroke[i] < before));
  }

  // Takes away points by their numbers; what is drawn later over the same places stays.
  cutNumbers(numbers) {
    const before = this.strokes.length, places = new Set();
    for (const i of numbers) places.add(String(this.points[i]));
    return this.cut((p, i) =>
      places.has(String(p)) && (!this.stroke || this.stroke[i] < before));
  }

  addStroke(line) {
    this.strokes.push(line);
    this.gestures.push({ stroke: true });
  }

  // True if a stroke went, so that the drawing has to be made again.
  undo() {
    const gesture = this.gestures.pop();
    if (gesture && gesture.stroke) this.strokes.pop();
    else this.setPoints(this.points, this.stroke);
    return Boolean(gesture && gesture.stroke);
  }

  restore() {
    this.gestures = this.gestures.filter(gesture => gesture.stroke);
    this.setPoints(this.points, this.stroke);
  }

  get keptNumbers() {
    return this.points.map((_, i) => i).filter(i => !this.gone[i]);
  }

  get kept() {
    return this.points.filter((p, i) => !this.gone[i]);
  }

  // What the server needs to complete it: of a subsample, also how many points are left of all.
  get request() {
    const points = this.kept;
    if (!this.size) return { points };
    const share = points.length / this.points.length;
    return { points, size: Math.max(points.length, Math.round(share * this.size)) };
  }

  get removed() {
    return this.points.filter((p, i) => this.gone[i]);
  }
}

export function distance(a, b) {
  return Math.hypot(...a.map((value, k) => value - b[k]));
}

function deviation(points) {  // the mean over the coordinates
  if (!points.length) return 0;
  const sizes = points[0].map((_, k) => {
    const mean = points.reduce((sum, p) => sum + p[k], 0) / points.length;
    return Math.sqrt(points.reduce((sum, p) => sum + (p[k] - mean) ** 2, 0) / points.length);
  });
  return sizes.reduce((a, b) => a + b, 0) / sizes.length;
}
