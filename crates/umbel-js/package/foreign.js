import { load } from "./filter.js";

export const Filter = await load(new URL("./foreign.wasm", import.meta.url));
