// The row of buttons below the sources: which digit, which scan, which file, what it was.

const get = id => document.getElementById(id);

function button(label, work, name = null) {
  const made = document.createElement("button");
  made.textContent = label;
  if (name !== null) made.dataset.name = name;
  made.addEventListener("click", work);
  return made;
}

// does: {sample(kind, name), guess(name), round(), clear(), file()}
export function fillChoices(source, about, does, note) {
  const names = { digit: about.digits, guess: about.digits, scan: about.scans }[source] || [];
  const pick = source === "guess" ? does.guess : name => does.sample(source, name);
  const items = names.map(name => button(name, () => pick(name), name));
  if (source === "guess") items.push(button("Next", does.round));
  if (source === "scan") items.push(button("Another", () => does.sample(source, null)));
  if (source === "draw") items.push(button("Clear", does.clear));
  if (source === "file") items.push(button("Choose a file", does.file));
  if (!names.length) {
    const text = document.createElement("p");
    text.className = "note";
    text.textContent = note || (source === "draw" ? "One digit, with mouse, pen or finger."
      : `Points or a mesh: ${about.readable.map(ending => ending.slice(1)).join(", ")}`);
    items.push(text);
  }
  get("choices").replaceChildren(...items);
}
