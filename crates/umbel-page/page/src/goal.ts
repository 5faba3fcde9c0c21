//! The goal of a plan as the page's address has it: `#plan?keys=5e9&fpp=1%25&deletes`.

import type { Goal } from "./core";

export const TEXTS = ["keys", "fpp", "memory", "ship", "except", "lookup", "false_answer", "absent"] as const;
export const FLAGS = ["deletes", "grows", "known", "ages"] as const;

/** A goal, and the variant whose formulas are shown; without one it is the best. */
export interface State {
  goal: Goal;
  chosen: string | null;
}

export const USUAL: Goal = { keys: "1M", fpp: "1%" };

export function read(query: string): State {
  const parameters = new URLSearchParams(query);
  const goal: Goal = {};
  for (const name of TEXTS) {
    const text = parameters.get(name)?.trim();
    if (text) goal[name] = text;
  }
  for (const name of FLAGS) {
    if (parameters.has(name)) goal[name] = true;
  }
  return { goal: query === "" ? { ...USUAL } : goal, chosen: parameters.get("kind") };
}

export function write({ goal, chosen }: State): string {
  const texts = TEXTS.filter((name) => goal[name]).map((name) => `${name}=${encodeURIComponent(goal[name]!)}`);
  const flags = FLAGS.filter((name) => goal[name]);
  const kind = chosen === null ? [] : [`kind=${encodeURIComponent(chosen)}`];
  return [...texts, ...flags, ...kind].join("&");
}
