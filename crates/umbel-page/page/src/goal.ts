//! The goal of a plan as the page's address has it: `#plan?keys=5e9&fpp=1%25&deletes`; also as other calculators' links do,
//! `?n=5e9&p=0.01&m=&k=`.

import type { Goal } from "./core";

export const TEXTS = ["keys", "fpp", "memory", "probes", "ship", "except", "lookup", "false_answer", "absent"] as const;
export const FLAGS = ["deletes", "grows", "known", "ages"] as const;

/** A goal as it is typed. The probes are for the textbook's filter alone: kinds choose theirs. */
export type Typed = Goal & { probes?: string };

/** A goal, the variant whose code and formulas are shown, and those that are compared. */
export interface State {
  goal: Typed;
  chosen: string | null;
  compared: string[];
}

export const USUAL: Typed = { keys: "1M", fpp: "1%" };
/** Kinds that are compared at a time. */
export const MOST = 4;

/** What other calculators' links have: a rate above 1 is one in so many, a size without a unit is in bits. */
const LETTERS: Record<string, (text: string) => Typed> = {
  n: (keys) => ({ keys }),
  p: (text) => ({ fpp: Number(text) > 1 ? `1 in ${text}` : text }),
  m: (text) => ({ memory: /^[\d.,_e+]+$/i.test(text) ? `${text} bits` : text }),
  k: (probes) => ({ probes }),
};

/** Whether these are the parameters of such a link. */
export function isForeign(query: string): boolean {
  const parameters = new URLSearchParams(query);
  return Object.keys(LETTERS).some((letter) => parameters.get(letter)?.trim());
}

export function read(query: string): State {
  const parameters = new URLSearchParams(query);
  const goal: Typed = {};
  for (const [letter, read] of Object.entries(LETTERS)) {
    const text = parameters.get(letter)?.trim();
    if (text) Object.assign(goal, read(text));
  }
  for (const name of TEXTS) {
    const text = parameters.get(name)?.trim();
    if (text) goal[name] = text;
  }
  for (const name of FLAGS) {
    if (parameters.has(name)) goal[name] = true;
  }
  const compared = parameters.get("compare")?.split(",").filter(Boolean) ?? [];
  return { goal: query === "" ? { ...USUAL } : goal, chosen: parameters.get("kind"), compared: compared.slice(0, MOST) };
}

export function write({ goal, chosen, compared }: State): string {
  const texts = TEXTS.filter((name) => goal[name]).map((name) => `${name}=${encodeURIComponent(goal[name]!)}`);
  const flags = FLAGS.filter((name) => goal[name]);
  const kind = chosen === null ? [] : [`kind=${encodeURIComponent(chosen)}`];
  const others = compared.length === 0 ? [] : [`compare=${compared.map(encodeURIComponent).join(",")}`];
  return [...texts, ...flags, ...kind, ...others].join("&");
}
