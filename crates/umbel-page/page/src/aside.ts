//! Workers' scripts, which are loaded where they hold up nothing.

/** The two cores: of plans and lessons, which is small and loaded first, and the whole one, which also opens and makes files. */
export type Which = "core" | "files";

export const TYPE = { type: "text/javascript" };

/** Loads a worker's script in another worker, so that half a megabyte of it does not hold up the page. */
export function aside(which: Which): Promise<string> {
  const { href } = new URL(`${which}.js`, document.baseURI);
  const code = `importScripts(${JSON.stringify(href)}); postMessage(new Blob([umbelCore], ${JSON.stringify(TYPE)}));`;
  const url = URL.createObjectURL(new Blob([code], TYPE));
  const worker = new Worker(url);
  const loaded = new Promise<string>((resolve, reject) => {
    worker.onmessage = ({ data }: MessageEvent<Blob>) => resolve(URL.createObjectURL(data));
    worker.onerror = (event) => {
      event.preventDefault();
      reject(new Error(event.message));
    };
  });
  const end = () => {
    worker.terminate();
    URL.revokeObjectURL(url);
  };
  loaded.then(end, end);
  return loaded;
}
