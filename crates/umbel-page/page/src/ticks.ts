//! Numbers at the axes of charts, and as charts are read.

import { words } from "./words";

/** A number with three digits, as people write it: 0.00977, 12.5, 3.1e-7. */
export function short(value: number): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size >= 1e15 || size < 1e-4) {
    return value
      .toExponential(2)
      .replace(/\.?0+e/, "e")
      .replace("e+", "e");
  }
  if (size >= 1000) return Math.round(value).toLocaleString(words.site.language);
  return String(Number(value.toPrecision(3)));
}

/** Ticks of a logarithmic axis: powers of ten, at most `most`; of a range below a decade 1, 2 and 5 as well. */
export function logTicks(low: number, high: number, most: number): number[] {
  const from = Math.log10(Math.min(low, high));
  const to = Math.log10(Math.max(low, high));
  if (to - from <= 2.1) {
    const ticks: number[] = [];
    for (let power = Math.floor(from); power <= to; power += 1) {
      for (const digit of [1, 2, 5]) ticks.push(Number(`${digit}e${power}`));
    }
    return ticks.filter((tick) => Math.log10(tick) > from - 1e-9 && Math.log10(tick) < to + 1e-9);
  }
  const step = Math.max(1, Math.ceil((to - from) / most));
  const ticks: number[] = [];
  for (let power = Math.ceil(from - 1e-9); power <= to + 1e-9; power += 1) {
    if (power % step === 0) ticks.push(Number(`1e${power}`));
  }
  return ticks;
}

/** A power of ten, or a number near 1, at an axis. */
export function power(value: number): string {
  return value >= 1e4 || value < 1e-3 ? value.toExponential(0).replace("e+", "e") : short(value);
}
