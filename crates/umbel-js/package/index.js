import { load } from "./filter.js";

export const Filter = await load(new URL("./umbel.wasm", import.meta.url));
