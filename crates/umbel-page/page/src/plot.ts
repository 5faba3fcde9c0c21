//! The script plot.js: uPlot, which is loaded when the first chart is about to be seen. As soon as it runs it has dates and numbers
//! written, for which some browsers read megabytes of names.

// Before uPlot, which asks for the language.
import "./language";

import uPlot from "uplot";

declare global {
  /** Set by plot.js. */
  var umbelPlot: typeof uPlot | undefined;
}

globalThis.umbelPlot = uPlot;
