// What a served page asks the server that it came from; the address has the secret that the server wants.

/** What stands behind the page's own address, as plain data. Throws an Error that says what is wrong. */
export async function fetched(path, given = {}) {
  const query = new URLSearchParams(given);
  return read(await fetch(`${path}${query.size ? `?${query}` : ""}`));
}

/** Send plain data, and give what comes back. */
export async function sent(path, content) {
  const headers = { "Content-Type": "application/json" };
  return read(await fetch(path, { method: "POST", headers, body: JSON.stringify(content) }));
}

async function read(response) {
  const content = await response.json();
  if (!response.ok) throw new Error(content.error);
  return content;
}
