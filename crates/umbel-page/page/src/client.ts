//! The page's side of the worker: requests are promises, and can be replaced or cancelled.

import { TYPE, aside, type Which } from "./aside";
import { CoreError, type Answer, type Name, type Request } from "./core";
import { load } from "./script";
import { told } from "./told";
import { words } from "./words";
import type { Question, Reply } from "./worker";

declare global {
  /** A worker's script, which core.js or files.js sets. */
  var umbelCore: string | undefined;
}

/** Workers' scripts as blobs: such a worker has the page's Content-Security-Policy, on any host. */
const scripts = new Map<Which, Promise<string>>();
function source(which: Which): Promise<string> {
  const there = scripts.get(which);
  if (there) return there;
  const begun = which === "core" ? globalThis.umbelBegun : undefined;
  globalThis.umbelBegun = undefined;
  const script = (begun ?? aside(which)).catch(() => inPage(which));
  // It may have been the network: the next request asks for it again.
  script.catch(() => scripts.delete(which));
  scripts.set(which, script);
  return script;
}

/** Loads it in the page: a page from a folder has no other way. */
async function inPage(which: Which): Promise<string> {
  await load(`${which}.js`);
  const url = URL.createObjectURL(new Blob([globalThis.umbelCore ?? ""], TYPE));
  globalThis.umbelCore = undefined;
  return url;
}

export interface Options {
  file?: File;
  progress?: (done: number, total: number) => void;
  /** A request that waits, of the same asker and with the same name, is given up: only the latest counts. */
  replaces?: readonly [asker: object, name: string];
}

interface Waiting {
  question: Question;
  options: Options;
  resolve: (answer: never) => void;
  reject: (error: Error) => void;
}

/** Rejects a request that was cancelled or replaced; nobody has to be told. */
export class Dropped extends Error {}

/** One worker, with the files that it has open. */
export class Client {
  private worker: Promise<Worker> | undefined;
  private queue: Waiting[] = [];
  private current: Waiting | undefined;
  private last = 0;

  constructor(private readonly which: Which) {}

  /** Loads the core before it is needed. */
  warm(): void {
    this.worker ??= this.start();
    this.worker.catch(() => {});
  }

  ask<N extends Name>(request: Request<N> & { type: N }, options: Options = {}): Promise<Answer<N>> {
    return new Promise((resolve, reject) => {
      const { replaces } = options;
      if (replaces) {
        const same = (one: Waiting) => replaces.every((part, index) => one.options.replaces?.[index] === part);
        const stale = this.queue.filter(same);
        this.queue = this.queue.filter((one) => !stale.includes(one));
        for (const one of stale) one.reject(new Dropped());
      }
      this.last += 1;
      const question: Question = { id: this.last, request: request as Request, file: options.file };
      this.queue.push({ question, options, resolve: resolve as (answer: never) => void, reject });
      this.next();
    });
  }

  /** Ends what runs and what waits. The core starts again with the next request, without its files: handles end, as
   * they do after an error that is `fatal`. */
  cancel(): void {
    const dropped = [...(this.current ? [this.current] : []), ...this.queue];
    this.current = undefined;
    this.queue = [];
    this.end();
    for (const one of dropped) one.reject(new Dropped());
  }

  /** Gives back the memory of the core, which never shrinks. Handles end, as when it is cancelled. */
  renew(): void {
    this.cancel();
    this.warm();
  }

  private end(): void {
    this.worker?.then((worker) => worker.terminate()).catch(() => {});
    this.worker = undefined;
  }

  private async start(): Promise<Worker> {
    const worker = new Worker(await source(this.which));
    worker.onmessage = (event: MessageEvent<Reply>) => this.hear(event.data);
    worker.onerror = (event) => this.fail(event.message || words.failed.script(`${this.which}.js`));
    return worker;
  }

  private next(): void {
    if (this.current) return;
    const waiting = this.queue.shift();
    if (!waiting) return;
    this.current = waiting;
    this.warm();
    this.worker!.then(
      (worker) => {
        if (this.current === waiting) worker.postMessage(waiting.question);
      },
      (error: Error) => this.fail(error.message),
    );
  }

  private hear(reply: Reply): void {
    const waiting = this.current;
    if (!waiting || waiting.question.id !== reply.id) return;
    if ("progress" in reply) {
      waiting.options.progress?.(reply.progress.done, reply.progress.total);
      return;
    }
    this.current = undefined;
    if ("error" in reply) {
      const { message, field, fatal, reason } = reply.error;
      if (fatal) this.end();
      waiting.reject(new CoreError(reason ? words.reason(reason) : (words.core?.(message) ?? message), field ?? undefined, fatal, reason));
    } else {
      waiting.resolve(told(waiting.question.request.type, reply.answer as never) as never);
    }
    this.next();
  }

  /** The worker broke: whoever waits hears it. */
  private fail(message: string): void {
    const waiting = this.current;
    this.current = undefined;
    this.end();
    waiting?.reject(new CoreError(message, undefined, true));
    this.next();
  }
}
