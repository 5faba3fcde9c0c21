//! The worker: answers the page's requests one after the other with the core, off the thread that draws.

import { XzReadableStream } from "xz-decompress";

import packed from "umbel:core";

import { Core, CoreError, readable, type Reason, type Request } from "./core";

/** What the page sends. `file` is for `open`. */
export interface Question {
  id: number;
  request: Request;
  file?: File;
}

/** What comes back: any number of `progress`, then an answer or an error. */
export type Reply =
  | { id: number; progress: { done: number; total: number } }
  | { id: number; answer: unknown }
  | { id: number; error: { message: string; field?: string; fatal: boolean; reason?: Reason } };

const page = self as unknown as DedicatedWorkerGlobalScope;
const reply = (message: Reply) => page.postMessage(message);

let current = 0;
let heard = 0;

/** Reports at most every 50 ms, which is as often as anyone can see. */
function progress(done: number, total: number): void {
  const now = performance.now();
  if (now - heard < 50) return;
  heard = now;
  reply({ id: current, progress: { done, total } });
}

async function start(): Promise<Core> {
  // The unpacker would say "Failed to fetch".
  if (typeof WebAssembly === "undefined")
    throw new Error("this browser blocks WebAssembly, which this page computes with: allow it here, or use another browser");
  const stream = new XzReadableStream(new Blob([packed]).stream());
  return Core.start(await new Response(stream).arrayBuffer(), progress);
}

const started = start();
// Each answer says it.
started.catch(() => {});

async function answer({ id, request, file }: Question): Promise<void> {
  try {
    const core = await started;
    current = id;
    const complete = file ? { ...request, file: core.add(readable(file)) } : request;
    reply({ id, answer: core.call(complete as Request<"advise">) });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const { field, fatal = false, reason } = error instanceof CoreError ? error : {};
    reply({ id, error: { message, field, fatal, reason } });
  }
}

page.onmessage = (event: MessageEvent<Question>) => void answer(event.data);
