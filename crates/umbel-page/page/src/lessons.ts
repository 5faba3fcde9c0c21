//! The lessons: which filter each one shows, and what is done with it first. Its words are in words.ts.

import type { Toy } from "./core";
import { words } from "./words";

export type Operation = Toy["operations"][number];

export interface Lesson {
  id: string;
  /** The filters that are shown side by side. */
  toys: Omit<Toy, "operations">[];
  /** What is done first. */
  script: Operation[];
  /** What can be done with own words. */
  can: { remove?: boolean; except?: boolean; advance?: boolean; bulk?: number };
}

const fruits = words.learn.fruits;
const insert = (list: string[]): Operation[] => list.map((word) => ({ op: "insert", word }));
const query = (word: string): Operation => ({ op: "query", word });
const except = (word: string): Operation => ({ op: "except", word });
const remove = (word: string): Operation => ({ op: "remove", word });

export const lessons: Lesson[] = [
  {
    id: "first",
    toys: [{ kind: "classic", bits: 14, probes: 3, published: true }],
    script: [...insert(["apples", "plums"]), query("apples"), query("mango"), query("kiwi")],
    can: {},
  },
  {
    id: "words",
    toys: [{ kind: "classic", bits: 32, probes: 3 }],
    script: [...insert(["apples", "plums", "cherries"]), query("plums"), query("mango")],
    can: { bulk: 5 },
  },
  {
    id: "full",
    toys: [{ kind: "classic", bits: 16, probes: 3 }],
    script: [...insert(fruits.slice(0, 12)), ...words.learn.strangers.map(query)],
    can: { bulk: 5 },
  },
  {
    id: "counting",
    toys: [{ kind: "counting", bits: 14, probes: 3, published: true }],
    script: [...insert(["apples", "plums"]), remove("apples"), query("apples"), query("plums"), remove("apples")],
    can: { remove: true, bulk: 3 },
  },
  {
    id: "scalable",
    toys: [{ kind: "scalable", blocks: 1 }],
    script: [...insert(fruits.slice(0, 4)), query("apples"), query("mango")],
    can: { bulk: 5 },
  },
  {
    id: "window",
    toys: [{ kind: "window", blocks: 1 }],
    script: [...insert(["apples"]), { op: "advance" }, ...insert(["plums"]), { op: "advance" }, { op: "advance" }, query("apples"), query("plums")],
    can: { advance: true, bulk: 10 },
  },
  {
    id: "stable",
    toys: [{ kind: "stable", blocks: 1 }],
    script: [...insert(fruits.slice(0, 40)), query(fruits[39]!), query(fruits[0]!)],
    can: { bulk: 10 },
  },
  {
    id: "blocked",
    toys: [
      { kind: "classic", bits: 4096, probes: 8 },
      { kind: "blocked", blocks: 8, probes: 8 },
    ],
    script: [...insert(fruits.slice(0, 4)), query("plums"), query("mango")],
    can: { bulk: 25 },
  },
  {
    id: "bloomier",
    toys: [{ kind: "bloomier", bits: 12 }],
    script: [...insert(fruits.slice(0, 4)), query("plums"), ...words.learn.strangers.map(query)],
    can: { bulk: 2 },
  },
  {
    id: "cascade",
    toys: [{ kind: "cascade", bits: 14, probes: 2 }],
    script: [
      ...insert(fruits.slice(0, 4)),
      ...words.learn.strangers.map(except),
      query("cherries"),
      ...words.learn.strangers.slice(0, 2).map(query),
      query("mango"),
    ],
    can: { except: true, bulk: 2 },
  },
];
