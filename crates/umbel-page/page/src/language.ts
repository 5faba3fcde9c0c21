//! A language that numbers can be written in. Where the system has none, browsers say "C" or "en-US@posix", which they then refuse
//! themselves: uPlot asks for it as soon as it is loaded, and without this no line of the page would run.

try {
  new Intl.NumberFormat(navigator.language);
} catch {
  Object.defineProperty(navigator, "language", { value: "en" });
}

export {};
