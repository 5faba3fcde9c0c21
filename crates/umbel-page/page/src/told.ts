//! The core's sentences in the language of the page: it writes English, as the command line does, and what is not a sentence
//! stays as it is: documents, commands, code, names of files and keys.

import type { Advice, Answer, Comparison, Curves, Name, Opened, Profile, QueryAnswer, Row, Told as Toy } from "./core";
import { words } from "./words";

type Say = (english: string) => string;

/** `keys` is the number of them, or in an index what they are. */
const rows = (all: Row[], say: Say) => all.map(([name, value]): Row => [say(name === "keys" && !/\d/.test(value) ? "key" : name), say(value)]);

/** What has sentences, by the name of the request. */
const SENTENCES: { [N in Name]?: (answer: Answer<N>, say: Say) => Answer<N> } = {
  advise: (advice: Advice, say) => ({
    ...advice,
    verdict: say(advice.verdict),
    notes: advice.notes.map(say),
    columns: advice.columns.map((column) => ({ ...column, title: say(column.title), help: say(column.help) })),
    rows: advice.rows.map((row) => ({
      ...row,
      cells: Object.fromEntries(Object.entries(row.cells).map(([id, cell]) => [id, say(cell)])),
      obstacles: row.obstacles.map(say),
      formulas: row.formulas.map((one) => ({ ...one, name: say(one.name), text: say(one.text) })),
    })),
  }),
  calculate: (figures, say) =>
    figures && {
      ...figures,
      fpp: { ...figures.fpp, text: say(figures.fpp.text) },
      reached: { ...figures.reached, text: say(figures.reached.text) },
    },
  curves: ({ charts }: Curves, say) => ({
    charts: charts.map((chart) => ({
      ...chart,
      title: say(chart.title),
      x: { ...chart.x, label: say(chart.x.label) },
      y: { ...chart.y, label: say(chart.y.label) },
      series: chart.series.map((one) => ({ ...one, name: say(one.name) })),
      marks: chart.marks.map((mark) => ({ ...mark, label: say(mark.label) })),
      notes: chart.notes.map(say),
      formula: say(chart.formula),
    })),
  }),
  open: (answer, say) => ("handle" in answer ? opened(answer, say) : answer),
  unlock: opened,
  profile: (profile: Profile, say) => ({ ...profile, title: say(profile.title), facts: say(profile.facts) }),
  compare: (comparison: Comparison, say) => ({ ...comparison, rows: rows(comparison.rows, say) }),
  query: (answer: QueryAnswer, say) => ({
    ...answer,
    rate: say(answer.rate),
    keys: answer.failed === 0 ? answer.keys : answer.keys.map((one) => (one.error === null ? one : { ...one, error: say(one.error) })),
  }),
  make: (answer: Answer<"make">, say) => ({
    ...answer,
    rows: rows(answer.rows, say),
    warnings: answer.warnings.map(say),
  }),
  toy: (toy: Toy, say) => {
    const parts = (all: Toy["empty"]) => all.map((part) => ({ ...part, label: say(part.label) }));
    return {
      ...toy,
      title: say(toy.title),
      text: say(toy.text),
      empty: parts(toy.empty),
      steps: toy.steps.map((step) => ({ ...step, text: say(step.text), parts: parts(step.parts) })),
    };
  },
};

function opened(file: Opened, say: Say): Opened {
  return {
    ...file,
    rows: rows(file.rows, say),
    table: file.table && {
      columns: file.table.columns.map((column) => ({ ...column, title: say(column.title) })),
      // Names are on the left.
      rows: file.table.rows.map((row) => row.map((cell, index) => (file.table!.columns[index]!.right ? say(cell) : cell))),
    },
    parts: file.parts.map((part) => ({ ...part, name: say(part.name), unit: say(part.unit) })),
    query_why: say(file.query_why),
    warnings: file.warnings.map(say),
  };
}

/** An answer with its sentences in the language of the page. */
export function told<N extends Name>(name: N, answer: Answer<N>): Answer<N> {
  const sentences = SENTENCES[name];
  return words.core && sentences ? sentences(answer, words.core) : answer;
}
