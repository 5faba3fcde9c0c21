//! Names that are the same in all languages.

/** Other systems' formats by their full names. */
export const formats: { [format: string]: string } = {
  parquet: "Parquet, split-block filter",
  "parquet-bits": "Parquet, bits alone",
  guava: "Guava",
  spark: "Spark",
  redisbloom: "RedisBloom, Bloom filter",
  "redisbloom-cuckoo": "RedisBloom, cuckoo filter",
  leveldb: "LevelDB, goleveldb, Badger",
  "rocksdb-legacy": "RocksDB before format version 5",
  rocksdb: "RocksDB",
  "pybloom-3": "pybloom 2, pybloom-live 3",
  "pybloom-4": "pybloom-live 4",
  "pybloom-3-scalable": "pybloom 2, pybloom-live 3, scalable",
  "pybloom-4-scalable": "pybloom-live 4, scalable",
  datasketches: "Apache DataSketches",
  hadoop: "Hadoop",
  hive: "Hive",
  orc: "ORC",
  "bits-and-blooms": "bits-and-blooms (Go)",
  "bits-and-blooms-json": "bits-and-blooms (Go), JSON",
  squid: "Squid, cache digest",
  "valkey-bloom": "valkey-bloom, data of BF.LOAD",
  "salted-sha1": "SHA-1 of salts and key",
};

/** A size as files have it. */
export function bytes(size: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, size)) / 10));
  const value = size / 1024 ** unit;
  return `${unit === 0 ? value : value.toPrecision(3)} ${units[unit]}`;
}

/** A share with two digits after the point, and the sign of the language. */
export const percent = (share: number, sign = " %"): string => `${(100 * share).toFixed(2)}${sign}`;

/** The range of some numbers. */
export const range = (values: number[]): [number, number] =>
  values.reduce(([low, high], value) => [Math.min(low, value), Math.max(high, value)], [Infinity, -Infinity]);

/** Words for lessons. Apples and plums come first: the published example has them. */
export const fruits =
  "apples plums cherries pears quinces figs dates grapes lemons limes oranges melons papayas mangoes kiwis lychees guavas peaches apricots nectarines currants gooseberries blackberries blueberries raspberries strawberries cranberries mulberries elderberries rowanberries medlars persimmons pomegranates pineapples bananas plantains coconuts avocados olives tamarinds durians rambutans longans loquats kumquats tangerines satsumas clementines pomelos grapefruits".split(
    " ",
  );
