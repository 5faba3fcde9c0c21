//! All words of the page, in German. What the core says (advice, receipts, formulas, errors) stays English.

import type { en } from "./en";
import { bytes, formats, fruits, percent, range } from "./names";

const zahl = (count: number) => count.toLocaleString("en");

export const de: typeof en = {
  site: {
    language: "de",
    other: { name: "English", language: "en", page: "index.html" },
    title: "umbel-Explorer: Bloomfilter planen, öffnen, machen und verstehen",
    description:
      "Die Art eines Bloomfilters für ein Ziel wählen, in eine Filterdatei schauen, einen Filter machen und sehen, wie Filter arbeiten. Alles wird auf dieser Seite berechnet.",
    noscript: "Der Explorer berechnet alles auf dieser Seite und braucht dafür JavaScript und WebAssembly.",
    name: "umbel",
    sub: "Explorer",
    skip: "Zum Inhalt springen",
    views: "Ansichten",
    foot: "Berechnet auf dieser Seite von umbels eigenem Code. Nichts, was Sie eingeben oder öffnen, verlässt Ihren Rechner. Was umbel selbst sagt, ist englisch.",
    version: (version) => `umbel ${version}`,
  },
  theme: { label: "Farben", auto: "System", light: "Hell", dark: "Dunkel" },
  failed: {
    core: (name) => `Die Datei ${name} ließ sich nicht laden. Sie gehört neben index.html.`,
  },
  reason(reason) {
    switch (reason.name) {
      case "empty":
        return "Die Datei ist leer.";
      case "text":
        return "Das ist Text. Einen Filter seiner Zeilen gibt es unter Machen.";
      case "utf16":
        return "Das ist Text in UTF-16 und kein Filter.";
      case "zip":
        return "Das ist ein Zip-Archiv: entpacken Sie es, und öffnen Sie, was darin ist.";
      case "compressed":
        return `Das ist mit ${reason.with} komprimiert: entpacken Sie es zuerst.`;
      case "unknown":
        return `Das ist kein Filter, der sich erkennen lässt: die Datei beginnt mit „${reason.start}“. Hat ein anderes System sie geschrieben, wählen Sie sein Format, und öffnen Sie sie noch einmal.`;
      case "delta":
        return "Das ist ein Delta, das einen Filter ändert und selbst keiner ist. Wenden Sie es auf seine Grundlage an: umbel patch";
      case "too_large":
        return `Sie hat ${bytes(reason.bytes)}, und eine Seite fasst ${bytes(reason.most)}. Die Kommandozeile öffnet sie: umbel info`;
      case "newer":
        return "Eine neuere Version von umbel hat diese Datei geschrieben; diese Seite kann sie noch nicht lesen.";
      case "cut":
        return `Die Datei sollte ${zahl(reason.expected)} Bytes haben und hat ${zahl(reason.found)}: sie ist abgeschnitten. Kopieren Sie sie noch einmal.`;
      case "appended":
        return `Die Datei sollte ${zahl(reason.expected)} Bytes haben und hat ${zahl(reason.found)}: etwas wurde angehängt. Kopieren Sie sie noch einmal.`;
      case "header_damaged":
        return "Die Datei ist am Anfang beschädigt. Kopieren oder bauen Sie sie noch einmal.";
      case "damaged":
        return `Die Datei ist zwischen den Bytes ${zahl(reason.start)} und ${zahl(reason.end)} beschädigt. Kopieren oder bauen Sie sie noch einmal.`;
      case "broken":
        return "Die Datei ist beschädigt: ihr Inhalt passt nicht zu ihren Prüfsummen. Kopieren Sie sie noch einmal.";
      case "wrong_secret":
        return "Das ist ein anderes Geheimnis als das, mit dem der Filter gebaut wurde.";
      case "no_secret":
        return "Ein Geheimnis hat 32 Hexadezimalziffern oder ist der Text, den umbel key new ausgegeben hat.";
      case "not_signed":
        return "Die Datei ist nicht signiert. Besorgen Sie eine signierte, oder öffnen Sie sie ohne einen Schlüssel, der sie signiert haben muss.";
      case "signed_within":
        return "Nur der Filter in dieser gepackten Datei ist signiert, nicht die gepackte Datei. Besorgen Sie eine signierte, oder entpacken Sie sie zuerst.";
      case "other_signer":
        return `Sie ist von ${reason.found} signiert, nicht von ${reason.expected}.`;
      case "other_list":
        return `Sie ist ${reason.found === "" ? "ohne Namen einer Liste" : `als die Liste „${reason.found}“`} signiert, nicht als „${reason.expected}“. Besorgen Sie diese Liste.`;
      case "not_newer":
        return `Ihre Version ist ${reason.found}, und die ist nicht neuer als ${reason.newer_than}. Besorgen Sie eine neuere.`;
      case "forged":
        return "Die Signatur passt nicht: die Datei wurde verändert oder gefälscht. Verwenden Sie sie nicht.";
      case "no_filter":
        return "Diese Tabelle hat keinen Filter: wer sie schreibt, muss eine Filter-Policy wählen.";
      case "other_length":
        return `Als ${formats[reason.format] ?? reason.format} sollte sie ${zahl(reason.expected)} Bytes haben, und hat ${zahl(reason.found)}: sie ist abgeschnitten oder hat ein anderes Format.`;
      case "other_format":
        return `Das ist kein Filter des Formats ${formats[reason.format] ?? reason.format}, oder er ist beschädigt. Wählen Sie ein anderes Format.`;
    }
  },
  copy: {
    copy: "Kopieren",
    done: "Kopiert",
    manual: "Strg+C kopiert",
    label: (what) => `Kopieren: ${what}`,
  },
  charts: {
    values: "Werte als Tabelle",
    table: (title) => `Tabelle: ${title}`,
    read: (axis, title) => `Werte ablesen bei ${axis}: ${title}`,
    none: "–",
    bars: "ein Schlüssel je Aufruf",
    batch: "viele je Aufruf",
  },

  plan: {
    nav: "Planen",
    title: "Welcher Filter?",
    lede: "Ein Bloomfilter beantwortet „Kenne ich diesen Schlüssel?“ mit etwa 10 Bits je Schlüssel und irrt sich in 1 % der Fälle.",
    links: { install: "Installieren", source: "Quelltext", learn: "Lernen, wie er arbeitet" },
    form: "Ihr Ziel",
    any: "Zwei oder drei hiervon",
    letters: { keys: "n", fpp: "p", memory: "m", probes: "k" },
    textbook: {
      title: "Der Filter des Lehrbuchs",
      rate: (rate, times) => (times === null ? rate : `${rate} (1 von ${times})`),
      size: (bits, size) => `${bits} Bits (${size})`,
      perKey: (bits) => `${bits} Bits je Schlüssel`,
      best: (probes) => `Am besten wäre k = ${probes}.`,
      enough: (rate) => `Diese Bits führen zu ${rate}.`,
      short: (needed, rate) => `Die Rate braucht ${needed} Bits; diese führen zu ${rate}.`,
    },
    fields: {
      keys: { label: "Schlüssel", hint: "etwa 5e9, 5G oder 3 * 1,000" },
      fpp: { label: "Fehlerrate", hint: "etwa 0.01, 1% oder 1 in 100" },
      memory: { label: "Höchstens so viel Speicher", hint: "etwa 64MiB, 9.6M bits oder 2^16" },
      probes: { label: "Proben je Schlüssel", hint: "wird gewählt, wenn leer" },
      ship: { label: "Datei höchstens", hint: "wenn sie verschickt wird, etwa 12MB" },
      except: { label: "Schlüssel, die nie durchgehen dürfen", hint: "wie viele auf der Ausnahmeliste stehen" },
      lookup: { label: "Abfrage, die der Filter spart", hint: "etwa 100us oder 5ms" },
      false_answer: { label: "Kosten eines Fehlers", hint: "meist diese Abfrage" },
      absent: { label: "Anteil fehlender Schlüssel", hint: "von 0 bis 1; meist 0.5" },
    },
    use: "Was mit den Schlüsseln geschieht",
    flags: {
      deletes: "Einige werden wieder entfernt",
      grows: "Es kommen mehr, niemand weiß wie viele",
      known: "Alle sind vorher bekannt",
      ages: "Nur die letzten zählen",
    },
    costs: "Datei, Ausnahmen, Kosten einer Abfrage",
    clear: "Leeren",
    examples: "Beispiele",
    presets: [
      { label: "5 Milliarden Schlüssel mit 1 %", goal: "keys=5e9&fpp=1%25" },
      { label: "5 Milliarden Schlüssel in 4 GiB", goal: "keys=5e9&memory=4GiB" },
      { label: "Vor einer Datenbank", goal: "keys=100M&fpp=1%25&lookup=1ms&absent=0.9" },
      { label: "Zeilen werden gelöscht", goal: "keys=100M&fpp=1%25&deletes" },
      { label: "Ein Crawler, der wächst", goal: "keys=100M&fpp=1e-4&grows" },
      { label: "Eine Liste für Telefone", goal: "keys=10M&ship=12MB&known" },
      { label: "Sperrliste und Ausnahmen", goal: "keys=4G&fpp=1.3%25&known&except=1M" },
    ],
    ranking: "Rangfolge",
    caption: "Arten von Filtern, die passen, die beste zuerst. Wählen Sie eine, um Code und Formeln zu sehen; bis zu vier lassen sich vergleichen.",
    kind: "Art",
    columns: {
      keys: "Schlüssel",
      fpp: "Fehlerrate",
      memory: "Speicher",
      bits_per_key: "Bits je Schlüssel",
      bound: "× Schranke",
      lines: "Cachezeilen",
      ns: "Abfrage, ns",
      expected_ns: "mit Kosten, ns",
    },
    headline: {
      size: (kind, size) => `${kind} · ${size}`,
      bits: (bits) => `${bits} Bits je Schlüssel`,
      probes: (probes) => `k = ${probes}`,
      rate: (times) => `1 von ${times}`,
    },
    purpose: {
      blocked: "der schnellste: eine Cachezeile je Abfrage",
      classic: "Blooms Original: die wenigsten Bits seiner Familie",
      sliced: "ein Teil der Bits für jede Probe",
      counting: "Schlüssel können wieder entfernt werden",
      scalable: "wächst, wenn mehr Schlüssel kommen als geplant",
      stable: "ein endloser Strom in festem Platz; Altes verblasst",
      window: "die letzten Schlüssel; ältere werden vergessen",
      bloomier: "der kleinste; einmal gebaut aus allen Schlüsseln, auch eine Abbildung",
      attributes: "Zeilen, gesucht nach jedem ihrer Felder",
      coded: "eine Tabelle kurzer Codes, so breit wie die Rate verlangt",
      cascade: "einmal gebaut; kein Fehler auf zwei bekannten Listen",
    },
    compare: {
      tick: (kind) => `${kind} vergleichen`,
      short: "vergleichen",
      title: "Nebeneinander",
      most: "Vier Arten lassen sich zugleich vergleichen.",
      purpose: "für",
      probes: "Proben je Schlüssel",
      ship: "Datei",
      rate: "1 von",
      yes: "ja",
      no: "nein",
      deletes: "entfernt Schlüssel",
      grows: "wächst",
      forgets: "vergisst alte Schlüssel",
      clear: "Keine vergleichen",
    },
    unfit: (count) => (count === 1 ? "1 Art passt nicht" : `${count} Arten passen nicht`),
    notes: "Was die Spalten bedeuten",
    chosen: (kind) => `Wie die Zahlen von ${kind} entstehen`,
    why: (kind) => `Warum ${kind} nicht passt`,
    make: (kind) => `Diesen Filter machen: ${kind}`,
    snippets: { command: "Kommandozeile", rust: "Rust", python: "Python", redis: "Redis, Valkey" },
    noRedis: "Das Modul für Redis und Valkey hat keinen Filter dieser Art.",
    same: "Dieselbe Rangfolge auf der Kommandozeile",
    share: "Link zu diesem Ziel kopieren",
    charts: "Was wäre, wenn …",
    chartsLede: "Kurven zu Ihrem Ziel. Die gewählte Art ist fett. Zeigen Sie in ein Bild oder bewegen Sie seinen Regler, um es abzulesen.",
    more: "Weitere Kurven",
    working: "Rechne …",
    incomplete: ["Geben Sie zwei Werte ein: Schlüssel und Fehlerrate, oder eines davon und eine Größe.", "Geben Sie einen zweiten Wert ein."],
    correct: (field) => `Berichtigen Sie „${field}“, um die Rangfolge zu sehen.`,
  },

  look: {
    nav: "Öffnen",
    title: "Was ist darin?",
    lede: "Öffnen Sie eine Filterdatei: von umbel, RedisBloom, Guava, Spark, LevelDB, RocksDB und anderen, oder eine Parquet-Datei. Sie wird auf Ihrem Rechner gelesen und nirgendwohin gesandt.",
    drop: "Legen Sie eine Filterdatei hier ab, oder",
    choose: "wählen Sie eine",
    two: "Zwei Dateien werden verglichen.",
    sample: "Ein Beispiel öffnen",
    sampleKeys: "key-1\nkey-15000\nkey-25000\nno such key",
    opening: (name) => `${name} wird geöffnet`,
    progress: (done, total) => `${done} von ${total}`,
    cancel: "Abbrechen",
    cancelled: (name) => `Abgebrochen: ${name} ist nicht offen.`,
    refused: (name) => `${name} wurde nicht geöffnet.`,
    only: "Zwei Dateien sind offen; die ältere wurde geschlossen.",
    others: (names) => `Zwei Dateien können zugleich offen sein. Nicht geöffnet: ${names}.`,
    closed: (name) => `${name} ist geschlossen.`,
    close: (name) => `${name} schließen`,
    which: (name) => `${name} ist keine Datei von umbel und passt zu mehreren Systemen. Öffnen als`,
    none: "Keines davon",
    opened: (name, title) => `${name} ist offen: ${title}`,
    receipt: "Beleg",
    json: "Dasselbe als JSON",
    warnings: "Warnungen",
    filters: "Filter in dieser Datei",
    part: "Teil",
    verified: "Signatur geprüft",
    kinds(title) {
      switch (title.name) {
        case "own":
          return `${title.kind}-Filter von umbel, für ${zahl(title.keys)} Schlüssel geplant`;
        case "foreign":
          return `${formats[title.format] ?? title.format}, Filter von ${bytes(title.bytes)}`;
        case "table":
          return `LevelDB-Tabelle, ${zahl(title.filters)} Bloomfilter von ${bytes(title.bytes)}`;
        case "parquet":
          return `Parquet-Datei, ${zahl(title.row_groups)} Zeilengruppen, ${zahl(title.filters)} Bloomfilter von ${bytes(title.bytes)}`;
      }
    },
    wrapping: ({ packed, table, signer }) => [
      ...(packed ? ["gepackt"] : []),
      ...(table ? ["in einer Tabellendatei"] : []),
      ...(signer === null ? [] : [`signiert von ${signer}`]),
    ],
    saturated: "saturated",
    full: (share) =>
      share === "saturated"
        ? "Dieser Filter ist gesättigt: fast jeder Schlüssel geht durch."
        : `Dieser Filter hält ${share} der Schlüssel, für die er geplant war.`,
    successor: "Den Nachfolger planen",
    told: {
      title: "Format, und wessen Signatur die Datei haben muss",
      format: "Format",
      recognize: "wie der Inhalt es zeigt",
      salts: "Salze, eines je Probe, mit Kommas getrennt",
      saltsHint: "die Dateien enthalten sie nicht",
      trust: "Öffentlicher Schlüssel dessen, der signiert haben muss",
      trustHint: "der Text seiner Datei .pub; eine Datei mit anderer oder ohne Signatur wird abgelehnt",
      list: "Liste, als die sie signiert sein muss",
      listHint: "ihr Name, wenn der Absender mehrere Listen verteilt",
      newer: "Neuer als Version Nummer",
      newerHint: "die Nummer der Version, die Sie haben; dieselbe oder eine ältere wird abgelehnt",
    },
    lock: {
      why: "Der Filter hat ein Geheimnis, ohne das niemand Schlüssel suchen kann.",
      secret: "Geheimnis dieses Filters, 32 Hexadezimalziffern",
      unlock: "Aufschließen",
    },
    map: {
      title: "Seine Bits",
      unit: (unit) => `Sein Inhalt: ${unit}`,
      lede: "Jedes Feld zeigt, wie voll ein Abschnitt des Filters ist. Je dunkler, in dunklen Farben je heller, desto voller.",
      keys: "Ziehen verschiebt; ein Klick, und danach das Rad, vergrößert. Mit Tasten: Pfeile bewegen, + und − vergrößern und verkleinern, Pos1 zeigt alles.",
      marked: (key, cells) => `Proben von ${key}: ${cells}`,
      elsewhere: (key) => `Die Proben von ${key} sind in einem anderen Teil dieses Filters.`,
      label: ({ from, to, per, values, fill, mean }) => {
        const [low, high] = range(values);
        return fill
          ? `Karte. Zellen ${zahl(from)} bis ${zahl(to)}: Abschnitte von ${zahl(per)}, von ${percent(low)} bis ${percent(high)} voll; ${percent(mean)} aller Zellen sind benutzt.`
          : `Karte. Zellen ${zahl(from)} bis ${zahl(to)}, jede für sich: ${values.filter((value) => value > 0).length} von ${values.length} sind benutzt.`;
      },
      in: "Größer",
      out: "Kleiner",
      left: "Früher",
      right: "Später",
      all: "Alles zeigen",
      empty: "0 %",
      full: "100 %",
      expected: (low, high) => `Durch Zufall sind fast alle zwischen ${low} und ${high};`,
      stretch: (from, to, unit, fill) => `${unit} ${from} bis ${to}: ${fill} benutzt`,
      cell: (at, unit, value) => `${unit.replace(/s\b.*/, "")} ${at}: ${value}`,
      contrast: "Kontrast spreizen",
      outside: (count) => `${count} nicht: ●`,
      caption: (per, unit) => `${per} ${unit} je Feld`,
      one: (unit) => `Ein Feld für jedes: ${unit}`,
      table: "Karte",
      from: "Von",
      to: "Bis",
      value: "Benutzt",
      state: "Wert",
      none: "Von dieser Art Filter lässt sich nichts zeichnen.",
    },
    profile: { title: "Wie voll seine Blöcke sind", counted: "gezählt", expected: "durch Zufall", x: "benutzte Bits in einem Block", y: "Blöcke" },
    query: {
      title: "Schlüssel suchen",
      label: "Schlüssel, einer je Zeile",
      hint: "Schlüssel eingeben oder einfügen. Sie werden dabei gesucht.",
      many: "Alle Schlüssel werden gesucht. Nur die ersten stehen hier, und keiner lässt sich ändern.",
      clear: "Schlüssel leeren",
      file: "Schlüssel aus einer Datei",
      large: (name) => `${name} ist größer als 64 MiB; suchen Sie diese Schlüssel auf der Kommandozeile: umbel query FILTER ${name}`,
      field: "Feld",
      type: "Schlüssel sind",
      unknown: (assumed) => `Typ wählen (bis dahin ${assumed})`,
      failed: "ließ sich nicht suchen",
      mark: "Zeigen, wohin seine Proben fallen",
      maybe: "vielleicht drin",
      no: "nicht drin",
      unfound: "nicht gefunden",
      meaning({ keys, found, failed, doubt, rate }) {
        const absent = keys.length - found - failed;
        const sind = absent === 1 ? "ist" : "sind";
        const not = {
          none: `; ${zahl(absent)} ${sind} sicher nicht darin.`,
          assumed: `; ${zahl(absent)} ${sind} nicht gefunden.`,
          left: `; ${zahl(absent)} ${sind} nicht gefunden: nie eingefügt, oder aus seinem Fenster gefallen und vergessen.`,
          faded: `; ${zahl(absent)} ${sind} nicht gefunden: nie eingefügt, oder verblasst und vergessen.`,
          sorted: `; ${zahl(absent)} ${sind} nicht darin, wenn die Tabelle ihre Schlüssel nach deren Bytes ordnet, wie es üblich ist.`,
        }[doubt?.name ?? "none"];
        return [
          `${zahl(found)} von ${zahl(keys.length)} vielleicht darin${absent === 0 ? "." : not}`,
          failed > 0 && `${zahl(failed)} ließen sich nicht suchen.`,
          doubt?.name === "assumed" &&
            `Gesucht wurden Schlüssel des Typs ${doubt.key_type}, denn der Filter sagt ihn nicht; wählen Sie den Typ, denn Schlüssel eines anderen werden auch dann nicht gefunden, wenn sie darin sind.`,
          `Ein Schlüssel, der nicht darin ist, geht mit einer Wahrscheinlichkeit von ${rate} durch.`,
        ]
          .filter(Boolean)
          .join(" ");
      },
      groups: (groups) => (groups.length === 0 ? "in keiner Zeilengruppe" : `Zeilengruppen ${groups.join(", ")}`),
      all: "alle",
      shown: "Gezeigte Antworten",
      more: (some, all) => `${zahl(some)} von ${zahl(all)} weiteren zeigen`,
      save: "Als CSV speichern",
      key: "Schlüssel",
      answer: "Antwort",
      value: "Wert",
      results: "Antworten",
      speed: (ns) => `${ns} ns je Schlüssel auf dieser Seite.`,
    },
    compare: {
      title: "Die beiden Dateien im Vergleich",
      overlap: "Schlüssel in der einen, in beiden, in der anderen",
      left: "nur in A",
      both: "in beiden",
      right: "nur in B",
      about: (name, count) => `${name}: etwa ${count}`,
    },
  },

  make: {
    nav: "Machen",
    title: "Einen Filter machen",
    lede: "Fügen Sie eine Liste ein, und nehmen Sie ihren Filter als Datei mit: umbels eigenen, oder den eines anderen Systems, Byte für Byte wie dieses ihn schreibt. Die Liste bleibt auf Ihrem Rechner.",
    keys: "Schlüssel, einer je Zeile",
    hint: "Wiederholungen schaden nicht",
    what: "Art oder Format",
    own: "umbel",
    foreign: "Andere Systeme",
    rate: "Fehlerrate",
    except: "Schlüssel, die nicht durchgehen dürfen, einer je Zeile",
    exceptHint: "bei diesen irrt sich der Filter nie",
    make: "Filter machen",
    working: "Arbeite …",
    download: "Herunterladen",
    look: "Hineinschauen",
    same: "Dasselbe auf der Kommandozeile",
  },

  formats,

  learn: {
    nav: "Lernen",
    title: "Wie arbeitet er?",
    lede: "Ein Bloomfilter merkt sich eine Menge in wenigen Bits je Schlüssel und hält ab und zu einen Fremden für ein Mitglied. Gehen Sie Schritt für Schritt, dann mit eigenen Wörtern.",
    lessons: "Lektionen",
    keys: "Auch die Pfeiltasten gehen weiter und zurück.",
    chance: (chance) => `So oft geht jetzt ein Wort durch, das nie eingefügt wurde: ${chance}`,
    strangers: ["hammer", "violin", "cloud"],
    steps: "Schritte",
    step: (at, of) => `Schritt ${at} von ${of}`,
    start: "Noch ist nichts eingefügt: alle Zellen sind leer.",
    empty: "Leerer Filter",
    back: "Zurück",
    next: "Weiter",
    play: "Abspielen",
    pause: "Pause",
    restart: "Erster Schritt",
    own: "Selbst versuchen",
    word: "Wort",
    insert: "Einfügen",
    query: "Suchen",
    remove: "Entfernen",
    except: "Darf nicht durch",
    advance: "Zeit vergeht",
    bulk: (count) => `${count} Früchte einfügen`,
    clear: "Mit leerem Filter beginnen",
    again: "Zurück zur Lektion",
    ops: {
      insert: (word) => `${word} einfügen`,
      except: (word) => `${word} darf nicht durch`,
      remove: (word) => `${word} entfernen`,
      query: (word) => `${word} suchen`,
      advance: () => "Zeit vergeht",
    },
    answer: { right: "vielleicht drin", wrong: "vielleicht drin: falsch", no: "nicht drin" },
    probes: "Was die Proben des Wortes finden",
    cell: "Zelle",
    part: "Teil",
    state: "Wert",
    by: "Zuerst gesetzt von",
    nobody: "–",
    changed: "geändert",
    line: (number) => `Cachezeile ${number}`,
    touched: (count) => (count === 1 ? "Alle Proben sind in 1 Cachezeile." : `Die Proben sind in ${count} Cachezeilen.`),
    part_of: (label, used, cells) => `${label === "" ? "" : `${label}: `}${used} von ${cells} Zellen benutzt`,
    fruits,
    list: [
      {
        id: "first",
        title: "Äpfel, Pflaumen, Mango",
        short: "Erste Schritte",
        text: "Vierzehn Bits, drei Proben je Wort. Äpfel (apples) und Pflaumen (plums) werden eingefügt. Mango nie, und geht doch durch: ein falscher Treffer, der einzige Fehler, den es gibt.",
      },
      {
        id: "words",
        title: "Ihre eigenen Wörter",
        short: "Eigene Wörter",
        text: "Ein Filter von 32 Bits mit umbels eigener Hashfunktion. Fügen Sie Wörter ein, bis die meisten Bits gesetzt sind: dann geht fast alles durch. Mehr Bits je Wort machen das selten.",
      },
      {
        id: "full",
        title: "Überfüllt: jeder gilt als Mitglied",
        short: "Überfüllt",
        text: "Sechzehn Bits reichen für drei Wörter: ein Fremder geht mit etwa 8 % durch. Bei zwölf Wörtern ist kaum ein Bit frei. Kein Wort geht verloren, aber Fremde gehen durch, am Ende alle.",
      },
      {
        id: "counting",
        title: "Zählen: Wörter gehen",
        short: "Zählen",
        text: "Ein Bit lässt sich nicht löschen, denn ein anderes Wort kann es brauchen: Äpfel und Pflaumen teilen sich Zelle 11. Mit einem Zähler an seiner Stelle nimmt ein entferntes Wort von jeder seiner Zellen eins zurück, und das andere bleibt.",
      },
      {
        id: "scalable",
        title: "Skalierbar: er wächst",
        short: "Skalierbar",
        text: "Niemand weiß, wie viele Wörter kommen. Ist ein Filter voll, kommt ein größerer mit kleinerer Rate hinzu. Eine Suche fragt alle, und zusammen bleiben die Raten unter der versprochenen.",
      },
      {
        id: "window",
        title: "Fenster: nur die letzten",
        short: "Fenster",
        text: "Der Filter besteht aus Generationen. Wörter kommen in die neueste. Ist sie voll, oder vergeht Zeit, wird die älteste geleert und zur neuesten. Im Fenster wird nichts übersehen.",
      },
      {
        id: "stable",
        title: "Stabil: er verblasst",
        short: "Stabil",
        text: "Jedes Einfügen setzt die Zellen des Wortes auf den höchsten Wert und senkt zufällig einige andere. Alte Wörter verblassen, so füllt ein endloser Strom den Filter nie. Ein verblasstes Wort kann übersehen werden.",
      },
      {
        id: "blocked",
        title: "In Blöcken: eine Cachezeile",
        short: "Blöcke",
        text: "Speicher wird in Cachezeilen von 64 Bytes gelesen, 512 Bits. Die Proben eines klassischen Filters liegen überall, eine Suche wartet auf mehrere Zeilen. Ein Filter in Blöcken hält alle Proben eines Wortes in einer Zeile.",
      },
      {
        id: "bloomier",
        title: "Bloomier: einmal gebaut, aus allen Wörtern",
        short: "Bloomier",
        text: "Sind alle Wörter vorher bekannt, genügen einer Tabelle weniger Bits. Ein Wort hat einen Fingerabdruck von 4 Bits und ein Fach in jedem Drittel der Tabelle. Die Fächer bekommen Werte, deren XOR den Fingerabdruck jedes Wortes ergibt. Die Fächer eines Fremden ergeben irgendeinen Wert: 1 von 16 Fremden geht durch. umbel nimmt längere Fingerabdrücke.",
      },
      {
        id: "cascade",
        title: "Kaskade: kein Fehler auf zwei Listen",
        short: "Kaskade",
        text: "Manche Wörter müssen durch, und manche bekannten dürfen es nicht, wie gültige und gesperrte Zertifikate. Ebene 1 hält die Wörter, die durch müssen. Ebene 2 hält jene, die nicht durch dürfen und Ebene 1 doch passieren; Ebene 3 jene, bei denen wiederum Ebene 2 irrt. Die erste Ebene, die ein Wort abweist, entscheidet.",
      },
    ],
    beside: { classic: "Klassisch", blocked: "In Blöcken" },
  },
};
