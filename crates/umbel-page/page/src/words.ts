//! The words of the page in the reader's language: English, unless a script before this one brought others.

import { en } from "./words/en";

export type Words = typeof en;

declare global {
  /** The words of another language, which its script sets: zh.html loads zh.js. */
  var umbelWords: Words | undefined;
}

export const words: Words = globalThis.umbelWords ?? en;
