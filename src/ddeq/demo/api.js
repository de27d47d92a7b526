// Calls to the server. What it refuses comes as an Error whose message is a sentence.

async function answer(promise) {
  let response;
  try {
    response = await promise;
  } catch {
    throw new Error("The server does not answer: is ddeq demo still running?");
  }
  if (response.ok) return response;
  const said = await response.json().catch(() => ({}));
  throw new Error(said.error || `The server answered with status ${response.status}.`);
}

export async function about() {
  return (await answer(fetch("/api/about"))).json();
}

function post(path, body, type) {
  return answer(fetch(path, { method: "POST", body, headers: { "Content-Type": type } }));
}

export async function call(name, request) {
  return (await post(`/api/${name}`, JSON.stringify(request), "application/json")).json();
}

export async function upload(file) {
  const path = `/api/upload?name=${encodeURIComponent(file.name)}`;
  return (await post(path, file, "application/octet-stream")).json();
}

export async function download(what, request) {
  const response = await post(`/api/${what}`, JSON.stringify(request), "application/json");
  const name = /filename="([^"]+)"/.exec(response.headers.get("Content-Disposition"))[1];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return name;
}
