// From now on every text of the API that people wrote ends in markup, as if an object had been named so.
const [markup] = args;
const written = new Set(["message", "hint", "sentence", "name", "namespace", "user", "file", "field", "reason", "uri"]);
const taint = (value, key) => {
  if (Array.isArray(value)) return value.map((item) => taint(item, key));
  if (value && typeof value === "object")
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, taint(item, name)]));
  return typeof value === "string" && written.has(key) ? value + markup : value;
};
const ask = window.fetch;
window.fetch = async (address, options) => {
  const answer = await ask(String(address).replace(/\?known=.*/, ""), options);
  return new Response(JSON.stringify(taint(await answer.json())), { status: answer.status });
};
