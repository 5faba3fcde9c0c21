//! The core's sentences in Chinese.

/** Letters of a sentence without which it may be a part of others. */
const FEW = 8;
/** Letters of the longest text that is compared with sentences: a longer one has words of a link or names of a file in it, and where these
 * repeat what is between the gaps of a sentence, the time grows with the power of their length. */
const LONGEST = 600;

/** Numbers and codes of a list, without words. */
const ITEM = /^([\w.%+-]+( and [\w.%+-]+)?|…+)$/;

/** A number of something, or a share. */
const COUNT = /^\{\} [\p{L}% ]+$/u;

/** Chinese letters and signs; between two of them, and next to a sign, is no space. */
const SPACES = /(?<=[\p{Script=Han}（，。：；、）”]) (?=[\p{Script=Han}（，。：；、）“])|(?<=[（，。：；、）]) | (?=[（，。：；、）])/gu;
/** A word or a name in quotes; those of code are next to its other signs. */
const QUOTES = /(?<![\w=({[])"((?:[^"\\]|\\.)*)"(?![\w)}\]])/g;

/** Signs as Chinese has them, of which the core writes some. */
const signs = (text: string) =>
  text
    .replace(QUOTES, "“$1”")
    .replace(/(?<=\d) %/g, "%")
    .replace(SPACES, "");

/** Sentences of the core by their translations: `{}` in both stands for what differs, such as a number. Gaps keep their order unless they
 * are numbered, `{2}`. A text that is not a sentence may be several of them, or a list. */
export function translation(pairs: readonly (readonly [english: string, other: string])[]): (english: string) => string {
  const whole = new Map<string, string>();
  const patterns: { pattern: RegExp; other: string; letters: number }[] = [];
  for (const [english, other] of pairs) {
    if (!english.includes("{}")) {
      whole.set(english, other);
      continue;
    }
    // What is counted is one part of a list, not all that comes before it.
    const gap = COUNT.test(english) ? "((?:(?!, )[^])+?)" : "([^]+?)";
    const pattern = new RegExp(`^${english.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replaceAll("{}", gap)}$`);
    // Of what is said before a colon, all the rest is said.
    const letters = /^[^{}]+: \{\}$/.test(english) ? 1000 : (english.match(/\p{L}/gu)?.length ?? 0);
    patterns.push({ pattern, other, letters });
  }
  // The more of a sentence is given, the surer it is that one.
  patterns.sort((one, other) => other.letters - one.letters);
  const short = patterns.findIndex(({ letters }) => letters < FEW);
  const long = patterns.splice(0, short < 0 ? patterns.length : short);
  const matched = (text: string, some: typeof patterns) => {
    if (text.length > LONGEST) return null;
    for (const { pattern, other } of some) {
      const found = pattern.exec(text);
      if (!found) continue;
      let next = 0;
      return other.replace(/\{(\d?)\}/g, (_, number: string) => say(found[number ? Number(number) : (next += 1)]!));
    }
    return null;
  };
  const parts = (text: string, between: RegExp, by: string) => {
    const all = text.split(between);
    return all.length > 1 ? all.map(say).join(by === "，" && all.every((one) => ITEM.test(one)) ? "、" : by) : null;
  };
  function say(text: string): string {
    return (
      whole.get(text) ??
      parts(text, /(?<=[\p{Ll}\d)%][.!?]) (?=[\p{Lu}\d])/u, "") ??
      matched(text, long) ??
      parts(text, /; (?![^()]*\))/, "；") ??
      parts(text, /, /, "，") ??
      matched(text, patterns) ??
      text
    );
  }
  return (text) => signs(say(text));
}
