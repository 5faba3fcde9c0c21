/** The core's modules, which build.mjs embeds, in raw deflate. */
declare module "umbel:plain" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
declare module "umbel:simd" {
  const bytes: Uint8Array<ArrayBuffer> | null;
  export default bytes;
}
