// What a person takes along: the cloud or its film as a file, or a link that holds the cloud.

import * as api from "/api.js";
import { encode } from "/share.js";

const get = id => document.getElementById(id);

export function fillFormats({ formats, films }) {
  for (const [label, names] of [["Cloud", formats], ["Film", films]]) {
    const group = document.createElement("optgroup");
    group.label = label;
    group.append(...names.map(name => new Option(name, name)));
    get("format").append(group);
  }
}

// fresh: the new points; films: the formats that show how they came.
export async function save(cloud, fresh, films, say) {
  const format = get("format").value;
  if (!films.includes(format)) {
    await api.download("download", { points: cloud.kept, new: fresh, format });
    return;
  }
  if (!fresh.length) throw new Error("A film shows how new points come: press Complete first.");
  say("Drawing the film …");
  await api.download("film", { ...cloud.request, format });
  say();
}

export async function shareLink(cloud, say) {
  history.replaceState(null, "", `#${encode(cloud)}`);
  const copied = await navigator.clipboard?.writeText(location.href).then(() => true, () => false);
  say(copied ? "Link copied: it holds this cloud." : "The link is in the address bar.");
}
