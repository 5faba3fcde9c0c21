//! The service worker: it keeps the page's files, so that the page opens without a network, and asks for nothing else. build.mjs
//! puts the names of the files, and a version that changes with their content, at the top.

declare const UMBEL_FILES: string[];
declare const UMBEL_VERSION: string;

const worker = self as unknown as ServiceWorkerGlobalScope;
const NAME = `umbel-${UMBEL_VERSION}`;

worker.addEventListener("install", (event) => {
  event.waitUntil(caches.open(NAME).then((cache) => cache.addAll(UMBEL_FILES)));
});

// An older version's files go when none of its pages is open.
worker.addEventListener("activate", (event) => {
  const old = (names: string[]) => names.filter((name) => name.startsWith("umbel-") && name !== NAME);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((name) => caches.delete(name)))));
});

worker.addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || !request.url.startsWith(worker.registration.scope)) return;
  event.respondWith(caches.open(NAME).then(async (cache) => (await cache.match(request, { ignoreSearch: true })) ?? fetch(request)));
});
