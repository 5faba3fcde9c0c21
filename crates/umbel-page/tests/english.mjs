//! Finds English left in a Chinese text, by words that every English sentence has.

const WORDS =
  "the of and is are was were with for that this it its from to has have had keys? bits? per by set not each than more rate size fill now needs? words? cells? lines? blocks choose use used add adds get gets look which who whoever what when where there they them both either neither one two any last next how why may must can could would cannot be been as if or on same other another new old out up level levels link links slot slots probe probes counter counters generation generations memory filter filters of file files in the about between over under after before field fields value values row rows expected given give build built made make hash hashes full empty found passes pass time share average least most sum";
/** Also in names, and in what is to be typed: `1 in 100`, `9.6M bits`. */
const NAMES = new Set(["in", "bits?", "filter"]);
const PATTERN = new RegExp(
  `(?<![\\p{Script=Latin}\\d_./<-])(${[...new Set(WORDS.split(" "))].filter((word) => !NAMES.has(word)).join("|")})(?![\\p{Script=Latin}\\d_=./-])`,
  "u",
);

/** Whether a text has a word of English, outside of quotes and commands; a sum is shown as a sign. */
export const english = (text) => PATTERN.test(text.replace(/“[^”]*”|"[^"]*"|umbel( [a-z]+){1,3}( --[\w-]+)*|sum over \w of/g, ""));

/** Signs of English next to Chinese letters, a space where Chinese has none, or none next to Latin letters and digits. */
const SIGNS =
  /[\p{Script=Han}”] ?[,;:?!](?! ?\))|[,;:] ?[\p{Script=Han}“]|\p{Script=Han}\.(?![\w…])|\([^()]*\p{Script=Han}|\p{Script=Han}\(|\)\p{Script=Han}|\d %| [，。：；、（）]|[，。：；、（）] |(?<!\w)"[^"]*"|\p{Script=Han}[\w%]|[\w%]\p{Script=Han}/u;

/** Whether a text in Chinese has such. */
export const unlike = (text) => /\p{Script=Han}/u.test(text) && SIGNS.test(text);
