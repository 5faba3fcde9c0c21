//! Serves the built explorer on this machine alone: `node serve.mjs DIR [--open]`. Any other server does as well; this one
//! also sends the page's policy as a header, as a host should.

import { spawn } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { join } from "node:path";

const [folder, open] = process.argv.slice(2);
if (!folder) {
  console.error("usage: node serve.mjs DIR [--open]");
  process.exit(2);
}
const TYPES = {
  html: "text/html; charset=utf-8",
  css: "text/css",
  js: "text/javascript",
  svg: "image/svg+xml",
  png: "image/png",
  webmanifest: "application/manifest+json",
  txt: "text/plain; charset=utf-8",
};
const files = await readdir(folder);
const html = await readFile(join(folder, "index.html"), "utf8");
const [, policy] = /http-equiv="Content-Security-Policy"\s+content="([^"]+)"/.exec(html) ?? [];
if (!policy) throw new Error(`${folder}/index.html has no Content-Security-Policy`);

/** The service worker asks for the page's files, and for nothing else. */
const offline = "default-src 'none'; connect-src 'self'";

const server = createServer(async ({ method, url }, response) => {
  const name = new URL(url, "http://localhost").pathname.slice(1) || "index.html";
  if (!files.includes(name) || !["GET", "HEAD"].includes(method)) return response.writeHead(404).end();
  response.writeHead(200, {
    "Content-Type": TYPES[name.split(".").pop()],
    "Content-Security-Policy": name === "offline.js" ? offline : `${policy}; frame-ancestors 'none'`,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
  });
  response.end(method === "GET" ? await readFile(join(folder, name)) : undefined);
});
server.listen(0, "127.0.0.1", () => {
  const address = `http://127.0.0.1:${server.address().port}/`;
  console.log(`${address} (Ctrl-C ends it)`);
  if (open !== "--open") return;
  const program = { darwin: "open", win32: "explorer" }[process.platform] ?? "xdg-open";
  // Without such a program the address is all there is.
  spawn(program, [address], { stdio: "ignore", detached: true })
    .on("error", () => {})
    .unref();
});
