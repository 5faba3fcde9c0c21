//! Tells an English text from a German one, by words that only English sentences have.

const WORDS =
  "the of and is are was were with for that this it its from to has have had keys? bits? per by set not each than more rate size fill now needs? words? cells? lines? blocks choose use used add adds get gets look which who whoever what when where there they them both either neither one two any last next how why may must can could would cannot be been as if or on same other another new old out up level levels link links slot slots probe probes counter counters generation generations memory filter filters of file files in the about between over under after before field fields value values row rows expected given give build built made make hash hashes full empty found passes pass time share average least most sum";
/** Also German, or names. */
const GERMAN = new Set(["in", "was", "am", "an", "filter", "link", "per", "rate", "hash", "bits?", "use", "index"]);
const PATTERN = new RegExp(`(?<![\\p{L}\\d_./<-])(${[...new Set(WORDS.split(" "))].filter((word) => !GERMAN.has(word)).join("|")})(?![\\p{L}\\d_=./-])`, "u");

/** Whether a text has a word that German has not; a sum is shown as a sign. */
export const english = (text) => PATTERN.test(text.replace(/„[^“]*“|"[^"]*"|umbel \w+( --[\w-]+)*|sum over \w of/g, ""));
