// How a cloud is seen: the projection, the points, the pen and the brush.

export function fit(canvas) {  // one canvas pixel a screen pixel, drawn in CSS pixels
  const ratio = window.devicePixelRatio || 1;
  const width = canvas.clientWidth, height = canvas.clientHeight;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const pen = canvas.getContext("2d");
  pen.scale(ratio, ratio);
  return [pen, width, height];
}

export function color(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
}

// A colour #rrggbb with a share of another, as far things have of the air.
export function mix(near, far, share) {
  const part = (hex, k) => parseInt(hex.slice(1 + 2 * k, 3 + 2 * k), 16);
  const mixed = [0, 1, 2].map(k => Math.round((1 - share) * part(near, k) + share * part(far, k)));
  return `#${mixed.map(value => value.toString(16).padStart(2, "0")).join("")}`;
}

export class Scene {
  constructor(canvas) {
    this.canvas = canvas;
    this.turn = -0.96;
    this.tilt = 0.31;
    this.look([0, 0], 1, 2);
  }

  look(centre, radius, dim) {
    this.centre = centre;
    this.radius = radius;
    this.dim = dim;
  }

  lookAt(points, room = 1.25) {  // all points, however they are turned
    const dim = points[0].length, axes = [...Array(dim).keys()];
    const low = axes.map(k => Math.min(...points.map(p => p[k])));
    const high = axes.map(k => Math.max(...points.map(p => p[k])));
    const centre = axes.map(k => (low[k] + high[k]) / 2);
    const radius = dim === 2
      ? Math.max(...axes.map(k => high[k] - low[k])) / 2
      : Math.max(...points.map(p => Math.hypot(...p.map((v, k) => v - centre[k])))) * 0.88;
    this.look(centre, (radius || 1) * room, dim);
  }

  get scale() {
    return Math.min(this.canvas.clientWidth, this.canvas.clientHeight) / (2 * this.radius);
  }

  project(p) {  // right, down in CSS pixels; nearness in the units of the cloud
    let right = p[0] - this.centre[0], up = p[1] - this.centre[1], near = 0;
    if (this.dim === 3) {
      const z = p[2] - this.centre[2], c = Math.cos(this.turn), s = Math.sin(this.turn);
      const level = c * right + s * up, ct = Math.cos(this.tilt), st = Math.sin(this.tilt);
      [right, up, near] = [c * up - s * right, ct * z - st * level, ct * level + st * z];
    }
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [w / 2 + this.scale * right, h / 2 - this.scale * up, near];
  }

  place(x, y) {  // the point of a flat cloud under a pixel
    const { clientWidth: w, clientHeight: h } = this.canvas;
    return [this.centre[0] + (x - w / 2) / this.scale, this.centre[1] - (y - h / 2) / this.scale];
  }

  // The number of the nearest point under a pixel; in 3-D, of those the one in front.
  pick(points, gone, x, y, reach = 18) {
    let best = -1, least = Infinity;
    points.forEach((p, i) => {
      if (gone[i]) return;
      const [px, py, near] = this.project(p), away = Math.hypot(px - x, py - y);
      const rank = away - (away < reach ? 0.35 * this.scale * near : -1e6);
      if (rank < least) [best, least] = [i, rank];
    });
    return best;
  }

  get camera() {  // the direction from the cloud to the eye
    const level = Math.cos(this.tilt);
    return [level * Math.cos(this.turn), level * Math.sin(this.turn), Math.sin(this.tilt)];
  }

  rotate(dx, dy) {
    this.turn -= dx * 0.01;
    this.tilt = Math.max(-1.5, Math.min(1.5, this.tilt + dy * 0.01));
  }

  // layers: {points, color, colors, hollow, rim}; marks: {lines, circle}
  draw(layers, marks) {
    const [pen, width] = fit(this.canvas), dots = [];
    for (const layer of layers) {
      layer.points.forEach((p, i) => {
        dots.push([...this.project(p), layer, layer.colors ? layer.colors[i] : layer.color]);
      });
    }
    if (this.dim === 3) dots.sort((a, b) => a[2] - b[2]);
    const back = dots.length ? dots[0][2] : 0, span = dots.length ? dots.at(-1)[2] - back : 0;
    const size = Math.max(2, Math.min(width / 76, width / (6.5 * Math.sqrt(dots.length || 1))));
    this.haze = color("stage");
    for (const [x, y, near, layer, paint] of dots) {  // nearness from 0, the farthest, to 1
      this.dot(pen, [x, y, span ? (near - back) / span : 1], layer, paint, size);
    }
    this.drawLines(pen, marks.lines || []);
    if (marks.circle) this.drawCircle(pen, ...marks.circle);
  }

  dot(pen, [x, y, near], layer, own, size) {
    const r = this.dim === 3 ? size * (0.65 + 0.6 * near) : size;
    const paint = mix(own, this.haze, (layer.rim ? 0.35 : 0.7) * (1 - near));
    pen.beginPath();
    pen.arc(x, y, layer.hollow ? r * 0.72 : layer.rim ? r * 1.1 + 0.5 : r, 0, 7);
    if (layer.hollow) {
      pen.strokeStyle = paint;
      pen.lineWidth = 1.2;
      pen.stroke();
    } else {
      pen.fillStyle = paint;
      pen.fill();
      if (!layer.rim) return;
      pen.strokeStyle = layer.rim;  // so that a new point shows among the kept ones
      pen.lineWidth = 1;
      pen.stroke();
    }
  }

  drawLines(pen, lines) {
    pen.strokeStyle = color("kept");
    pen.lineWidth = Math.max(4, this.canvas.clientWidth / 20);
    pen.lineCap = pen.lineJoin = "round";
    pen.globalAlpha = 0.55;
    for (const line of lines) {
      pen.beginPath();
      const [first, ...rest] = line.map(p => this.project(p));
      pen.moveTo(first[0], first[1]);
      for (const [x, y] of rest.length ? rest : [first]) pen.lineTo(x, y + 0.01);
      pen.stroke();
    }
    pen.globalAlpha = 1;
  }

  drawCircle(pen, x, y, radius) {
    pen.beginPath();
    pen.arc(x, y, radius, 0, 7);
    pen.fillStyle = pen.strokeStyle = color("accent");
    pen.globalAlpha = 0.1;
    pen.fill();
    pen.globalAlpha = 0.9;
    pen.lineWidth = 1.5;
    pen.stroke();
    pen.globalAlpha = 1;
  }
}
