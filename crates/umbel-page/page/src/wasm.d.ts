/** The core's module in xz, which build.mjs embeds. */
declare module "umbel:core" {
  const bytes: Uint8Array<ArrayBuffer>;
  export default bytes;
}
