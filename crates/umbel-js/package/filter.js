//! The class of filters over a WebAssembly module; `src/abi.rs` describes the module's functions. Types: umbel.d.ts.

const encoder = new TextEncoder();
const decoder = new TextDecoder();
/** Bytes of keys that go to the module together. */
const BATCH = 1 << 16;

/** The class over a module, which is given as base64: no bundler has to copy a file. */
export function load(module) {
  const letters = atob(module);
  const code = new Uint8Array(letters.length);
  for (let at = 0; at < code.length; at++) code[at] = letters.charCodeAt(at);
  // Not awaited: service workers refuse a top-level `await`, and so do bundlers for older browsers.
  return define(new WebAssembly.Instance(new WebAssembly.Module(code)).exports);
}

function define({ memory, allocate, answer, answer_length, ...wasm }) {
  const answered = () => new Uint8Array(memory.buffer, answer() >>> 0, answer_length() >>> 0).slice();

  /** Calls a function of the module, which reads `bytes`. */
  function call(name, bytes, ...numbers) {
    const pointer = allocate(bytes.length) >>> 0;
    if (pointer === 0) throw new RangeError(`cannot allocate ${bytes.length} bytes of memory`);
    new Uint8Array(memory.buffer, pointer).set(bytes);
    const result = wasm[name](...numbers);
    if (result < 0) throw new Error(decoder.decode(answered()));
    return result;
  }

  const freed = new FinalizationRegistry((number) => wasm.free(number));
  const words = (what = "", keyType = "") => encoder.encode(`${what} ${keyType}`.trimEnd());
  function made(plan) {
    const { keys, fpp, kind, format, keyType } = options(plan, ["keys", "fpp", "kind", "format", "keyType"]);
    if (!Number.isInteger(keys) || keys < 0) throw new TypeError(`keys is how many there will be, such as 1_000_000, not ${shown(keys)}`);
    if (fpp !== undefined && typeof fpp !== "number") throw new TypeError(`fpp is a rate, such as 0.01, not ${shown(fpp)}`);
    if (format !== undefined && kind !== undefined) throw new TypeError("kind and format are not for one filter: give either");
    const name = words(format ?? kind ?? "blocked", keyType);
    return call("make", name, name.length, keys, fpp ?? 0.01, fpp !== undefined);
  }

  return class Filter {
    #number;
    #floats;

    constructor(plan) {
      this.#number = plan instanceof Opened ? plan.number : made(plan);
      this.#floats = /^f\d/.test(plan.keyType);
      freed.register(this, this.#number, this);
    }

    static open(file, of = {}) {
      const { format, keyType } = options(of, ["format", "keyType"]);
      if (!Number.isInteger(file?.byteLength)) {
        throw new TypeError(`the content of a file is a Uint8Array or an ArrayBuffer, not ${shown(file)}; await the arrayBuffer() of a Response or Blob`);
      }
      const name = words(format, keyType);
      const bytes = new Uint8Array(name.length + file.byteLength);
      bytes.set(name);
      bytes.set(new Uint8Array(file.buffer ?? file, file.byteOffset, file.byteLength), name.length);
      return new Filter(new Opened(call("open", bytes, name.length), keyType));
    }

    add(key) {
      return this.#each("add", [key])[0];
    }

    addAll(keys) {
      this.#each("add", keys);
    }

    has(key) {
      return this.#each("has", [key])[0];
    }

    hasAll(keys) {
      return this.#each("has", keys);
    }

    merge(other) {
      if (!(#number in Object(other))) throw new TypeError(`merge takes another Filter of the same module, not ${shown(other)}`);
      call("merge", [], this.#number, other.#number);
    }

    save() {
      call("save", [], this.#number);
      return answered();
    }

    receipt() {
      call("receipt", [], this.#number);
      const bytes = answered();
      // Names have no byte above 127, and the first letter follows a number.
      const name = /[a-z][-a-z0-9]*$/.exec(String.fromCharCode(...bytes.subarray(48)))[0];
      const figures = new Float64Array(bytes.buffer.slice(0, bytes.length - name.length));
      const [fill, fpp, keys, keysLow, keysHigh, size, plannedKeys, plannedFpp, overFilled] = figures;
      const planned = plannedKeys === undefined ? {} : { plannedKeys, plannedFpp, overFilled: overFilled === 1 };
      return { kind: name, fill, fpp, keys, keysLow, keysHigh, bytes: size, ...planned };
    }

    free() {
      if (this.#number < 0) return;
      freed.unregister(this);
      wasm.free(this.#number);
      this.#number = -1;
    }

    /** Calls a function with keys, some at a time; returns its answers. */
    #each(name, keys) {
      if (typeof keys === "string" || isBytes(keys)) throw new TypeError("a string or Uint8Array is one key: give an array of keys");
      const answers = [];
      const start = taken;
      const flush = () => {
        call(name, room.subarray(start, taken), this.#number);
        for (const answer of answered()) answers.push(answer === 1);
        taken = start;
      };
      try {
        for (const key of keys) {
          taken = put(key, taken, this.#floats);
          if (taken - start > BATCH) flush();
        }
        if (taken > start) flush();
      } finally {
        taken = start;
      }
      return answers;
    }
  };
}

/** Keys for the module: for each its type, the number of its bytes, and these. */
let room = new Uint8Array(2 * BATCH);
let view = new DataView(room.buffer);
/** Bytes of it in use: keys wait there while an iterator, which may use filters too, makes the next one. */
let taken = 0;

// The getters of all typed arrays: the class of a key, or a proxy, may have others.
const [typeName, size] = [Symbol.toStringTag, "length"].map((name) => Object.getOwnPropertyDescriptor(Object.getPrototypeOf(Uint8Array.prototype), name).get);
const isBytes = (value) => typeName.call(value) === "Uint8Array";

/** Puts a key behind others; returns where it ends. Runs no code of the key. */
function put(key, at, floats) {
  const most = typeof key === "string" ? 3 * key.length : isBytes(key) ? size.call(key) : 16;
  if (at + 5 + most > room.length) {
    const old = room;
    room = new Uint8Array(2 * (at + 5 + most));
    room.set(old);
    view = new DataView(room.buffer);
  }
  const start = at + 5;
  let [sort, length] = [0, most];
  if (typeof key === "string") {
    length = encoder.encodeInto(key, room.subarray(start)).written;
  } else if (isBytes(key)) {
    room.set(key, start);
  } else if (Number.isSafeInteger(key) || (floats && typeof key === "number")) {
    view.setFloat64(start, key, true);
    [sort, length] = [1, 8];
  } else if (typeof key === "bigint" && key >= -(2n ** 63n) && key < 2n ** 64n) {
    view.setBigUint64(start, BigInt.asUintN(64, key), true);
    view.setBigInt64(start + 8, key < 0n ? -1n : 0n, true);
    [sort, length] = [2, 16];
  } else {
    throw refused(key);
  }
  room[at] = sort;
  view.setUint32(at + 1, length, true);
  return start + length;
}

function refused(key) {
  if (typeof key === "bigint") return new RangeError(`${key} is out of range: a bigint key is from -2**63 to 2**64 - 1; use String(key) for larger ones`);
  // String() makes one text of all objects without their own, and of all that is missing.
  let remedy = "convert it with String()";
  if (key === undefined || key === null) remedy = "leave missing values out";
  else if (key instanceof ArrayBuffer || ArrayBuffer.isView(key)) remedy = "give its bytes as a Uint8Array";
  else if (typeof key === "object") remedy = "give the text or bytes that identify it";
  return new TypeError(`a key is a string, a Uint8Array, a safe integer or a bigint, not ${shown(key)}; ${remedy}`);
}

/** The number of a filter in its module, which only `open` can give to the constructor. */
class Opened {
  constructor(number, keyType) {
    this.number = number;
    this.keyType = keyType;
  }
}

/** Options, once it is certain that each has a name that is known. */
function options(given, names) {
  const example = 'such as { keys: 1_000_000, fpp: 0.01 } or { format: "guava" }';
  if (typeof given !== "object" || given === null) throw new TypeError(`options are an object ${example}, not ${shown(given)}`);
  const unknown = Object.keys(given).find((name) => !names.includes(name));
  if (unknown !== undefined) throw new TypeError(`no option ${unknown}: there are ${names.join(", ")}`);
  return given;
}

/** A value for an error message. */
function shown(value) {
  if (typeof value === "number") return `the number ${value}`;
  return typeof value === "string" ? `the text ${JSON.stringify(value.slice(0, 40))}` : (value?.constructor?.name ?? String(value));
}
