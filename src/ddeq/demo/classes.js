// The card with the classes of the input and of what it was completed to.

import * as api from "/api.js";
import { bars, percent } from "/charts.js";

const get = id => document.getElementById(id);

export class Classes {
  // about: what the server can do
  constructor(about) {
    this.about = about;
    this.forget();
  }

  forget() {
    this.seen = undefined;  // of the input: undefined until known, null if nobody knows them
    this.completed = null;
  }

  able(cloud) {
    return this.about.classifier.includes(cloud.dim);
  }

  // The classes of a cloud's kept points.
  async ask(cloud) {
    return (await api.call("classify", { points: cloud.kept })).classes;
  }

  show(cloud, secret = "") {  // secret: what stands there instead, while a game is on
    const box = get("bars"), note = document.createElement("p"), { seen, completed } = this;
    const able = this.able(cloud);
    get("verdict").textContent = "";
    box.className = able && seen !== null ? "able" : "";
    if (!secret && (seen || completed)) {
      const best = bars(box, seen, completed);
      get("verdict").textContent =
        `${completed ? "completed" : "input"}: ${best.name}, ${percent(best.probability)}`;
      return;
    }
    note.textContent = secret ? secret
      : !able ? `No classifier for ${cloud.dim}-D clouds comes with this version.`
      : !cloud.kept.length ? "Nothing to classify yet."
      : seen === null ? "Unlike the objects that the classifier was trained on." : "Looking …";
    box.replaceChildren(note);
  }
}

export function best(classes) {
  return classes.reduce((a, b) => (b.probability > a.probability ? b : a)).name;
}
