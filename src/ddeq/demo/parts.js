// Parts that any page has: a line for messages, buttons that stay pressed, a place to drop files on.

export function say(text = "", bad = false) {
  document.getElementById("message").textContent = text;
  document.getElementById("message").className = bad ? "bad" : "";
}

export async function attempt(work) {  // what goes wrong is said in a sentence
  try {
    await work();
  } catch (error) {
    say(error.message, true);
  }
}

export function press(selector, name, value) {
  for (const button of document.querySelectorAll(selector)) {
    button.setAttribute("aria-pressed", String(button.dataset[name] === value));
  }
}

// take: what to do with a file that is dropped on an element.
export function onDrop(element, take) {
  for (const kind of ["dragover", "dragleave", "drop"]) {
    element.addEventListener(kind, event => {
      event.preventDefault();
      element.classList.toggle("over", kind === "dragover");
      if (kind === "drop") take(event.dataTransfer.files[0]);
    });
  }
}
