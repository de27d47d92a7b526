// Two curves over the steps, and the probabilities of the classes.

import { color, fit } from "/scene.js";

const PAD = { left: 44, right: 8, top: 8, bottom: 18 };

// A curve with a dot at `at`; a logarithmic axis for values that fall by powers of ten.
export function curve(canvas, values, at, log = false) {
  const [pen, width, height] = fit(canvas);
  const w = width - PAD.left - PAD.right, h = height - PAD.top - PAD.bottom;
  pen.font = "11px system-ui, sans-serif";
  pen.strokeStyle = color("line");
  pen.strokeRect(PAD.left + 0.5, PAD.top + 0.5, w, h);
  const map = value => (log ? Math.log10(value) : value);
  const good = value => value !== null && (!log || value > 0);
  const known = values.filter(good).map(map);
  if (!known.length) return;
  let low = Math.min(...known), high = Math.max(...known);
  const room = (high - low) * 0.12 || Math.abs(high) * 0.1 || 1;
  [low, high] = [log ? low - room : Math.max(0, low - room), high + room];
  const last = Math.max(values.length - 1, 1);
  const x = k => PAD.left + (w * k) / last;
  const y = value => PAD.top + h - (h * (map(value) - low)) / (high - low || 1);
  labels(pen, known.map(v => (log ? 10 ** v : v)), y, height, width, last);
  pen.strokeStyle = color("soft");
  pen.lineWidth = 1.6;
  pen.lineJoin = "round";
  pen.beginPath();
  values.forEach((value, k) => { if (good(value)) pen.lineTo(x(k), y(value)); });
  pen.stroke();
  const now = between(values, at);
  if (!good(now)) return;
  pen.fillStyle = color("new");
  pen.beginPath();
  pen.arc(x(at), y(now), 4.5, 0, 7);
  pen.fill();
}

// The step under a pixel of a curve's canvas.
export function stepAt(canvas, x, last) {
  const w = canvas.clientWidth - PAD.left - PAD.right;
  return Math.max(0, Math.min(last, ((x - PAD.left) / w) * last));
}

export function between(values, at) {
  const k = Math.floor(at), share = at - k;
  if (share === 0 || values[k + 1] == null) return values[k] ?? null;
  if (values[k] == null) return null;
  return (1 - share) * values[k] + share * values[k + 1];
}

export function short(value, digits = 3) {
  if (value === null || value === undefined) return "";
  return value !== 0 && (Math.abs(value) < 1e-2 || Math.abs(value) >= 1e4)
    ? value.toExponential(1) : String(+value.toPrecision(digits));
}

function labels(pen, values, y, height, width, last) {
  const low = Math.min(...values), high = Math.max(...values);
  pen.fillStyle = color("soft");
  pen.textAlign = "right";
  pen.textBaseline = "middle";
  pen.fillText(short(high, 2), PAD.left - 5, y(high));
  if (y(low) - y(high) > 14) pen.fillText(short(low, 2), PAD.left - 5, y(low));
  pen.textBaseline = "alphabetic";
  pen.textAlign = "left";
  pen.fillText("step 0", PAD.left, height - 4);
  pen.textAlign = "right";
  pen.fillText(String(last), width - PAD.right, height - 4);
}

// Bars of the classes before (input) and after (completed); all of a few, the likeliest of many.
export function bars(box, input, completed) {
  const main = completed || input;
  const few = main.length <= 10;
  const ranked = [...main].sort((a, b) => b.probability - a.probability);
  const shown = few ? main : ranked.slice(0, 5);
  const share = (list, name) => list.find(c => c.name === name)?.probability ?? 0;
  const list = document.createElement("div");
  list.className = few ? "columns" : "rows";
  for (const { name } of shown) {
    const item = document.createElement("div");
    const pair = document.createElement("div"), label = document.createElement("span");
    pair.className = "pair";
    label.textContent = name;
    for (const [classes, kind] of [[input, "kept"], [completed, "new"]]) {
      if (!classes) continue;
      const bar = document.createElement("i");
      bar.className = kind;
      bar.style[few ? "height" : "width"] = `${Math.max(1, 100 * share(classes, name))}%`;
      pair.append(bar);
    }
    if (name === ranked[0].name) item.className = "best";
    item.title = `${name}: ${percent(share(main, name))}`;
    item.append(...(few ? [pair, label] : [label, pair]));
    list.append(item);
  }
  box.replaceChildren(list);
  return ranked[0];
}

export function percent(p) {
  return `${(100 * p).toFixed(p > 0.9995 || p === 0 ? 0 : 1)} %`;
}

// A completion in a sentence.
export function summary({ new: fresh, residuals, seconds, status, confidence }) {
  const count = fresh.length;
  if (!count) return "Nothing seems to be missing.";
  const mean = confidence && confidence.reduce((sum, c) => sum + (c ?? 0), 0) / count;
  return `${count} new point${count === 1 ? "" : "s"} in ${residuals.length - 1} steps, ` +
    `${seconds.toFixed(2)} s. ${status}${confidence ? ` Confidence ${percent(mean)}.` : ""}`;
}
