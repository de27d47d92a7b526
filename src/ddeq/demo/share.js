// A cloud as the end of a link: its points to 1/65535 of its extent, and which are taken away.

const VERSION = 1;
const MOST = 1024;  // points, as many as the server takes

export function encode(cloud) {
  const { dim, points, gone } = cloud, axes = [...Array(dim).keys()];
  const low = axes.map(k => Math.min(...points.map(p => p[k])));
  const span = Math.max(...axes.map(k => Math.max(...points.map(p => p[k])) - low[k])) || 1;
  const view = new DataView(new ArrayBuffer(sizeOf(dim, points.length)));
  view.setUint8(0, VERSION);
  view.setUint8(1, dim);
  view.setUint16(2, points.length);
  [...low, span].forEach((value, k) => view.setFloat64(4 + 8 * k, value));
  const at = 4 + 8 * (dim + 1);
  points.forEach((p, i) => p.forEach((value, k) => {
    view.setUint16(at + 2 * (i * dim + k), Math.round((65535 * (value - low[k])) / span));
  }));
  const mask = at + 2 * dim * points.length;
  gone.forEach((is, i) => {
    if (is) view.setUint8(mask + (i >> 3), view.getUint8(mask + (i >> 3)) | (1 << (i & 7)));
  });
  const text = Array.from(new Uint8Array(view.buffer), byte => String.fromCharCode(byte)).join("");
  return btoa(text).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
}

// {dim, points, gone}: gone has the numbers of the points that are taken away.
export function decode(text) {
  let view;
  try {
    const bytes = atob(text.replaceAll("-", "+").replaceAll("_", "/"));
    view = new DataView(Uint8Array.from(bytes, letter => letter.charCodeAt(0)).buffer);
  } catch {
    throw new Error("This link does not hold a cloud.");
  }
  const dim = view.byteLength > 4 && view.getUint8(0) === VERSION ? view.getUint8(1) : 0;
  const count = dim ? view.getUint16(2) : 0;
  if (![2, 3].includes(dim) || !count || count > MOST || view.byteLength !== sizeOf(dim, count)) {
    throw new Error("This link does not hold a cloud.");
  }
  const axes = [...Array(dim).keys()], frame = [...axes, dim].map(k => view.getFloat64(4 + 8 * k));
  const at = 4 + 8 * (dim + 1), mask = at + 2 * dim * count, span = frame[dim];
  if (!frame.every(Number.isFinite)) throw new Error("This link does not hold a cloud.");
  const points = [], gone = new Set();
  for (let i = 0; i < count; i++) {
    points.push(axes.map(k => frame[k] + (span * view.getUint16(at + 2 * (i * dim + k))) / 65535));
    if (view.getUint8(mask + (i >> 3)) & (1 << (i & 7))) gone.add(i);
  }
  return { dim, points, gone };
}

function sizeOf(dim, count) {  // bytes: head, frame, points, one bit per point
  return 4 + 8 * (dim + 1) + 2 * dim * count + Math.ceil(count / 8);
}
