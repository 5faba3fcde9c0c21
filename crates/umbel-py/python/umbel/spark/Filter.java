package umbel.spark;

import java.io.DataInputStream;
import java.io.FileInputStream;
import java.io.IOException;
import java.io.Serializable;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.LongBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Iterator;
import java.util.List;
import java.util.Map;
import java.util.NoSuchElementException;
import java.util.WeakHashMap;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.spark.SparkContext;
import org.apache.spark.TaskContext;
import org.apache.spark.api.java.JavaSparkContext;
import org.apache.spark.api.java.function.FlatMapFunction;
import org.apache.spark.api.python.PythonBroadcast;
import org.apache.spark.broadcast.Broadcast;
import org.apache.spark.sql.Column;
import org.apache.spark.sql.Row;
import org.apache.spark.sql.RowFactory;
import org.apache.spark.sql.SparkSession;
import org.apache.spark.sql.api.java.UDF1;
import org.apache.spark.sql.catalyst.InternalRow;
import org.apache.spark.sql.catalyst.expressions.GenericInternalRow;
import org.apache.spark.sql.catalyst.expressions.UnsafeRow;
import org.apache.spark.sql.functions;
import org.apache.spark.sql.types.DataType;
import org.apache.spark.sql.types.DataTypes;
import org.apache.spark.sql.types.StructType;
import org.apache.spark.unsafe.Platform;
import org.apache.spark.util.TaskCompletionListener;

/**
 * A blocked filter of umbel in Java, where Spark's rows are: no key passes through Python.
 *
 * <p>{@code frame.where(Filter.open("s3a://lake/seen.umbel").mightContain(frame.col("url")))}
 *
 * <p>Sections in comments are those of FORMAT.md. Two compilers read this file: that of a JDK, and Janino, which is part of Spark
 * and compiles it when a Python session needs it. Janino ignores type arguments, so this is Java without them, and without lambdas.
 */
@SuppressWarnings({"rawtypes", "unchecked"})
public final class Filter {
    /** Words of one part: an array, or a mapped piece of a file, of which Java has none larger than 2 GiB. A block is in one part. */
    private static final int PART = 27;
    /**
     * Keys that wait for each other. The memory of all their blocks is touched first, so that a processor fetches it side by side:
     * in a filter of 17 MB, a key then takes 50 ns instead of 180 (Zen 4).
     */
    private static final int BATCH = 256;
    /** Once per executor, and as long as that has the broadcast: a value of that is the key. */
    private static final Map OPEN = new WeakHashMap();

    private final Header header;
    private final LongBuffer[] parts;
    /** The last struct whose fields were found to be the filter's: that of most rows. */
    private StructType fitting;

    private Filter(Header header, LongBuffer[] parts) {
        this.header = header;
        this.parts = parts;
    }

    /**
     * The filter in a file at any path that Hadoop opens, in memory, checked byte by byte.
     *
     * @throws IOException if it cannot be read, is damaged, or is no blocked filter without a secret
     */
    public static Filter open(String path) throws IOException {
        Path place = new Path(path);
        FileSystem files = place.getFileSystem(configuration());
        long size = files.getFileStatus(place).getLen();
        DataInputStream in = files.open(place);
        try {
            Header header = new Header(path, Header.start(path, in, size), size);
            long[][] words = new long[(int) ((header.words() - 1 >> PART) + 1)][];
            for (int part = 0; part < words.length; part++) {
                words[part] = new long[(int) Math.min(header.words() - ((long) part << PART), 1L << PART)];
            }
            header.check(in, words);
            return new Filter(header, wrapped(words));
        } finally {
            in.close();
        }
    }

    private static Configuration configuration() {
        return SparkSession.getActiveSession().isDefined()
            ? SparkSession.active().sparkContext().hadoopConfiguration()
            : new Configuration();
    }

    /** The filter in a local file, which is mapped. */
    static Filter map(String path) throws IOException {
        FileInputStream file = new FileInputStream(path);
        try {
            FileChannel channel = file.getChannel();
            Header header = new Header(path, Header.start(path, new DataInputStream(file), channel.size()), channel.size());
            header.check(new DataInputStream(file), null);
            LongBuffer[] parts = new LongBuffer[(int) ((header.words() - 1 >> PART) + 1)];
            for (int part = 0; part < parts.length; part++) {
                long first = (long) part << PART;
                long count = Math.min(header.words() - first, 1L << PART);
                ByteBuffer bytes = channel.map(FileChannel.MapMode.READ_ONLY, header.bytes.length + 8 * first, 8 * count);
                parts[part] = bytes.order(ByteOrder.LITTLE_ENDIAN).asLongBuffer();
            }
            return new Filter(header, parts);
        } finally {
            file.close();
        }
    }

    /** The filter that executors have: of `Words`, or Python's of a filter's file. */
    private static Filter shared(Broadcast shared) throws IOException {
        Object value = shared.value();
        synchronized (OPEN) {
            Filter filter = (Filter) OPEN.get(value);
            if (filter == null) {
                if (value instanceof Words) {
                    Words words = (Words) value;
                    filter = new Filter(new Header("broadcast", words.header, -1), wrapped(words.words));
                } else {
                    filter = map(((PythonBroadcast) value).path());
                }
                OPEN.put(value, filter);
            }
            return filter;
        }
    }

    private static LongBuffer[] wrapped(long[][] words) {
        LongBuffer[] parts = new LongBuffer[words.length];
        for (int part = 0; part < parts.length; part++) {
            parts[part] = LongBuffer.wrap(words[part]);
        }
        return parts;
    }

    /**
     * Whether the values of a column may be keys; null for null.
     *
     * <p>The column has integers of any width, binary or text, or structs of these, whose fields are one key together, of the names
     * that the filter notes, if it does. The filter is broadcast by this call. Text whose bytes are not valid UTF-8, or that has the
     * character U+FFFD, always may be a key. Values of other types, such as doubles and decimals, or of other fields, are refused
     * when they are looked up.
     */
    public Column mightContain(Column key) {
        long[][] words = new long[parts.length][];
        for (int part = 0; part < words.length; part++) {
            words[part] = parts[part].array();
        }
        SparkContext context = SparkSession.active().sparkContext();
        Broadcast shared = JavaSparkContext.fromSparkContext(context).broadcast(new Words(header.bytes, words));
        return new MightContain(shared).of(key);
    }

    /** Whether an integer may be a key. */
    public boolean mightContain(long key) {
        return contains(Xxh3.highOfLong(key, header.seed), Xxh3.lowOfLong(key, header.seed));
    }

    /** Whether these bytes may be a key. */
    public boolean mightContain(byte[] key) {
        Xxh3 hash = new Xxh3(key, header.seed);
        return contains(hash.high, hash.low);
    }

    /** Whether a text may be a key. */
    public boolean mightContain(String key) {
        return isLost(key) || mightContain(key.getBytes(StandardCharsets.UTF_8));
    }

    private Boolean answer(Object key) {
        if (key instanceof Row) {
            Row row = (Row) key;
            return row.size() > 1 ? ofFields(row) : row.isNullAt(0) ? null : answer(row.get(0));
        }
        Object value = checked(key);
        boolean integer = value instanceof Number;
        if (header.fields.size() > 1 || header.form.equals(integer ? "bytes" : "integer")) {
            throw header.unlike(integer ? "an integer" : "a text or bytes");
        }
        if (value instanceof String || integer && header.form.equals("text")) {
            return Boolean.valueOf(mightContain(value.toString()));
        }
        return Boolean.valueOf(integer ? mightContain(((Number) value).longValue()) : mightContain((byte[]) value));
    }

    /** A value, if it has one of the types of keys: what others would be cut to is another key. */
    private static Object checked(Object value) {
        boolean integer = value instanceof Long || value instanceof Integer || value instanceof Short || value instanceof Byte;
        if (integer || value instanceof byte[] || value instanceof String) {
            return value;
        }
        throw new IllegalArgumentException("keys are strings, binary or integers, found " + value.getClass().getName() + "; cast the column");
    }

    private Boolean ofFields(Row row) {
        boolean lost = false;
        Object[] values = new Object[row.size()];
        for (int field = 0; field < values.length; field++) {
            Object value = row.get(field);
            if (value == null) {
                return null;
            }
            lost |= value instanceof String && isLost((String) value);
            values[field] = checked(value);
        }
        if (row.schema() != fitting) {
            header.check(row.schema());
            fitting = row.schema();
        }
        return Boolean.valueOf(lost || mightContain(bytesOf(values)));
    }

    /** Whether a decoder may have replaced bytes that are no text: which they were is lost. */
    private static boolean isLost(String text) {
        return text.indexOf('\ufffd') >= 0;
    }

    /** The key of several fields, section 3, of which integers are decimal text, as in CSV. */
    private static byte[] bytesOf(Object[] fields) {
        byte[][] values = new byte[fields.length][];
        int length = 0;
        for (int field = 0; field < values.length; field++) {
            Object value = fields[field];
            values[field] = value instanceof byte[] ? (byte[]) value : value.toString().getBytes(StandardCharsets.UTF_8);
            length += 4 + values[field].length;
        }
        ByteBuffer key = ByteBuffer.allocate(length).order(ByteOrder.LITTLE_ENDIAN);
        for (int field = 0; field < values.length; field++) {
            key.putInt(values[field].length).put(values[field]);
        }
        return key.array();
    }

    private long firstWord(long high) {
        long start = header.firstWord(high);
        return parts[(int) (start >>> PART)].get((int) start & (1 << PART) - 1);
    }

    /** Section 5. */
    private boolean contains(long high, long low) {
        long start = header.firstWord(high);
        LongBuffer part = parts[(int) (start >>> PART)];
        int block = (int) start & (1 << PART) - 1;
        if (header.probes % 8 == 0) {
            for (int round = 0; round < header.probes / 8; round++) {
                long positions = stretch(low, round);
                for (int lane = 0; lane < 8; lane++) {
                    if ((part.get(block + lane) >>> (positions >>> 6 * lane & 63) & 1) == 0) {
                        return false;
                    }
                }
            }
            return true;
        }
        for (int probe = 0; probe < header.probes; probe++) {
            int position = position(low, probe);
            if ((part.get(block + (position >> 6)) >>> (position & 63) & 1) == 0) {
                return false;
            }
        }
        return true;
    }

    static int position(long low, int probe) {
        return (int) (stretch(low, probe / 7) >>> 9 * (probe % 7)) & 511;
    }

    /** Section 3. */
    static long stretch(long low, int round) {
        if (round == 0) {
            return low;
        }
        long x = low + round * 0x9e3779b97f4a7c15L;
        x = (x ^ x >>> 30) * 0xbf58476d1ce4e5b9L;
        x = (x ^ x >>> 27) * 0x94d049bb133111ebL;
        return x ^ x >>> 31;
    }

    static long little(long word) {
        return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? word : Long.reverseBytes(word);
    }

    static void put(byte[] bytes, int at, long word) {
        Platform.putLong(bytes, Platform.BYTE_ARRAY_OFFSET + (long) at, little(word));
    }

    /** Sections 1 and 2, of kind 1 and algorithm 1. */
    private static final class Header {
        static final int SHORTEST = 128;
        static final int LONGEST = 131072;
        static final int CHUNK = 1 << 20;
        static final List FORMS = Arrays.asList(new String[] {"text", "bytes", "integer", "mixed"});
        static final long MAGIC = 0x0a0d4c45424d5589L;

        final String path;
        final byte[] bytes;
        final long blocks;
        final int probes;
        final long seed;
        /** Bytes of the description of the keys, and what it says: their fields, and their form, if it is noted. */
        final int described;
        final List fields = new ArrayList();
        String form = "";

        static byte[] start(String path, DataInputStream in, long size) throws IOException {
            if (size < SHORTEST) {
                throw new IOException(path + ": not an umbel filter: the file has " + size + " bytes");
            }
            byte[] bytes = new byte[SHORTEST];
            in.readFully(bytes);
            int length = Xxh3.half(bytes, 12);
            // Any other length is refused later.
            if (length > SHORTEST && length <= Math.min(LONGEST, size) && length % 64 == 0) {
                bytes = Arrays.copyOf(bytes, length);
                in.readFully(bytes, SHORTEST, length - SHORTEST);
            }
            return bytes;
        }

        Header(String path, byte[] bytes, long size) throws IOException {
            this.path = path;
            this.bytes = bytes;
            if (Xxh3.word(bytes, 0) != MAGIC) {
                throw new IOException(path + ": not an umbel filter");
            }
            int version = Xxh3.half(bytes, 8) & 0xffff;
            if (version != 1) {
                throw new IOException(path + ": version " + version + " of the format; Java reads version 1");
            }
            described = Xxh3.half(bytes, 20);
            if (!readDescription()) {
                throw new IOException(path + ": the keys have a description besides their fields and form; Java reads filters without one");
            }
            int end = bytes.length - 8;
            if (Xxh3.word(bytes, end) != Xxh3.hash(Arrays.copyOf(bytes, end), 0)) {
                throw new IOException(path + ": the header is damaged; copy the file again");
            }
            int kind = Xxh3.half(bytes, 8) >>> 16;
            int algorithm = Xxh3.half(bytes, 16) & 0xffff;
            if (kind != 1 || algorithm != 1) {
                throw new IOException(path + ": kind " + kind + " with algorithm " + algorithm + "; Java reads blocked filters without a secret");
            }
            long bits = Xxh3.word(bytes, 64);
            blocks = bits / 512;
            probes = Xxh3.half(bytes, 72);
            seed = Xxh3.word(bytes, 24);
            if (bits < 512 || bits > 1L << 48 || bits % 512 != 0 || probes < 1 || probes > 32 || !othersFit(bits)) {
                throw new IOException(path + ": a field of the header has a value that FORMAT.md does not allow");
            }
            if (size >= 0 && size != size()) {
                throw new IOException(path + ": the header declares " + size() + " bytes, the file has " + size + "; copy it again");
            }
        }

        /** Whether the description is one of fields and a form, as it then is in this header. */
        private boolean readDescription() {
            try {
                ByteBuffer left = ByteBuffer.wrap(bytes, bytes.length - 8 - described, described).order(ByteOrder.LITTLE_ENDIAN);
                while (left.hasRemaining()) {
                    String name = text(left);
                    String value = text(left);
                    if (name.equals("field")) {
                        fields.add(value);
                    } else if (name.equals("type") && FORMS.contains(value)) {
                        form = value;
                    } else {
                        return false;
                    }
                }
                return true;
            } catch (BufferUnderflowException damaged) {
                return false;
            } catch (IndexOutOfBoundsException damaged) {
                return false;
            }
        }

        private static String text(ByteBuffer in) {
            byte[] text = new byte[in.getShort() & 0xffff];
            in.get(text);
            return new String(text, StandardCharsets.UTF_8);
        }

        /** Refuses keys of several fields other than the filter's. */
        void check(StructType schema) {
            List names = Arrays.asList(schema.fieldNames());
            boolean single = form.equals("bytes") || form.equals("integer");
            if (single || !fields.isEmpty() && !fields.equals(names)) {
                throw unlike(String.join(", ", names));
            }
        }

        IllegalArgumentException unlike(String found) {
            String held = fields.isEmpty() ? "one column of " + form : String.join(", ", fields);
            return new IllegalArgumentException("the filter was built from " + held + ", found " + found + "; look up the same, under the same names");
        }

        private boolean othersFit(long bits) {
            double fpp = Double.longBitsToDouble(Xxh3.word(bytes, 48));
            int length = Math.max(SHORTEST, (84 + described + 63) / 64 * 64);
            boolean fit = length == bytes.length && Xxh3.half(bytes, 12) == length;
            fit = fit && Xxh3.word(bytes, 16) == (1 | (long) described << 32) && Xxh3.word(bytes, 32) == 0;
            fit = fit && Xxh3.word(bytes, 40) == bits / 8 && fpp > 0 && fpp < 1 && Xxh3.word(bytes, 56) != 0;
            for (int at = 76; at < length - 8 - described; at++) {
                fit = fit && bytes[at] == 0;
            }
            return fit;
        }

        long words() {
            return 8 * blocks;
        }

        /** Of the block of a key. */
        long firstWord(long high) {
            return 8 * Xxh3.multiplyHigh(high, blocks);
        }

        long chunks() {
            return (64 * blocks - 1) / CHUNK + 1;
        }

        long size() {
            return bytes.length + 64 * blocks + 8 * chunks() + 8;
        }

        /** Reads what follows the header, and compares its checksums. The payload goes to `words`, unless that is null. */
        void check(DataInputStream in, long[][] words) throws IOException {
            byte[] sums = new byte[Math.toIntExact(8 * chunks())];
            byte[] chunk = new byte[CHUNK];
            long left = 64 * blocks;
            for (int number = 0; left > 0; number++) {
                if (left < CHUNK) {
                    chunk = new byte[(int) left];
                }
                in.readFully(chunk);
                put(sums, 8 * number, Xxh3.hash(chunk, number));
                if (words != null) {
                    long first = (long) number * (CHUNK / 8);
                    LongBuffer.wrap(words[(int) (first >>> PART)], (int) first & (1 << PART) - 1, chunk.length / 8)
                        .put(ByteBuffer.wrap(chunk).order(ByteOrder.LITTLE_ENDIAN).asLongBuffer());
                }
                left -= chunk.length;
            }
            byte[] table = new byte[sums.length + 8];
            in.readFully(table);
            if (Xxh3.word(table, sums.length) != Xxh3.hash(sums, chunks()) || !Arrays.equals(sums, Arrays.copyOf(table, sums.length))) {
                throw new IOException(path + ": checksums differ, so the file is damaged; copy it again");
            }
        }
    }

    /** A filter on its way to the executors. */
    private static final class Words implements Serializable {
        final byte[] header;
        final long[][] words;

        Words(byte[] header, long[][] words) {
            this.header = header;
            this.words = words;
        }
    }

    /** The function of a column's values; null for null. */
    public static final class MightContain implements UDF1, Serializable {
        private final Broadcast shared;
        private transient Filter filter;

        /** A broadcast of `Words`, or Python's of a filter's file. */
        public MightContain(Broadcast shared) {
            this.shared = shared;
        }

        public Column of(Column key) {
            return functions.udf(this, DataTypes.BooleanType).apply(new Column[] {key});
        }

        public Object call(Object key) throws Exception {
            if (key == null) {
                return null;
            }
            if (filter == null) {
                filter = shared(shared);
            }
            return filter.answer(key);
        }
    }

    /** Of a partition's rows those whose first column, an integer without nulls, may be a key. */
    public static final class Passing implements FlatMapFunction, Serializable {
        private final Broadcast shared;
        private final long room;

        /** Up to so many bytes of rows; a last row of nulls stands for those that are left out. */
        public Passing(Broadcast shared, Number room) {
            this.shared = shared;
            this.room = room.longValue();
        }

        public Iterator call(Object rows) throws Exception {
            return new PassingRows(shared(shared), (Iterator) rows, room);
        }
    }

    private static final class PassingRows implements Iterator {
        private final Filter filter;
        private final Iterator rows;
        /** Bytes of rows, so that large ones do not wait. */
        private static final int ENOUGH = 1 << 20;
        /** Those that wait, and where each begins. */
        private byte[] waiting = new byte[64 * BATCH];
        private final int[] starts = new int[BATCH + 1];
        private int fields;
        private final long[] highs = new long[BATCH];
        private final long[] lows = new long[BATCH];
        private int count;
        private int at;
        private long room;
        /** Keeps the compiler from dropping the reads whose values nobody needs. */
        private long touched;

        PassingRows(Filter filter, Iterator rows, long room) {
            this.filter = filter;
            this.rows = rows;
            this.room = room;
        }

        public boolean hasNext() {
            while (true) {
                for (; at < count; at++) {
                    if (filter.contains(highs[at], lows[at])) {
                        return true;
                    }
                }
                if (room < 0 || !rows.hasNext()) {
                    return false;
                }
                fetch();
            }
        }

        private void fetch() {
            for (count = 0; count < BATCH && starts[count] < ENOUGH && rows.hasNext(); count++) {
                UnsafeRow row = (UnsafeRow) rows.next();
                long key = row.getLong(0);
                highs[count] = Xxh3.highOfLong(key, filter.header.seed);
                lows[count] = Xxh3.lowOfLong(key, filter.header.seed);
                // Spark writes the next row over this one.
                int end = Math.addExact(starts[count], row.getSizeInBytes());
                if (end > waiting.length) {
                    waiting = Arrays.copyOf(waiting, (int) Math.min(2L * end, Integer.MAX_VALUE - 8));
                }
                row.writeToMemory(waiting, Platform.BYTE_ARRAY_OFFSET + starts[count]);
                starts[count + 1] = end;
                fields = row.numFields();
            }
            for (at = 0; at < count; at++) {
                touched += filter.firstWord(highs[at]);
            }
            at = 0;
        }

        public Object next() {
            if (!hasNext()) {
                throw new NoSuchElementException();
            }
            byte[] bytes = Arrays.copyOfRange(waiting, starts[at], starts[at + 1]);
            at++;
            room -= bytes.length;
            if (room < 0) {
                at = count;
                return new GenericInternalRow(fields);
            }
            UnsafeRow row = new UnsafeRow(fields);
            row.pointTo(bytes, bytes.length);
            return row;
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }
    }

    /** Makes a filter of a partition's keys, whose columns have no nulls: the rows are the pieces of its file. */
    public static final class Fill implements FlatMapFunction, Serializable {
        private final byte[] header;
        private final DataType[] types;

        /** With the header of the file that it makes, and the columns of a key: integers of 64 bits or binary. */
        public Fill(byte[] header, StructType key) {
            this.header = header;
            this.types = new DataType[key.size()];
            for (int field = 0; field < types.length; field++) {
                types[field] = key.fields()[field].dataType();
            }
        }

        public Iterator call(Object partition) throws Exception {
            Iterator keys = (Iterator) partition;
            if (!keys.hasNext()) {
                return new ArrayList().iterator();
            }
            Memory memory = new Memory(new Header("a filter", header, -1));
            TaskContext.get().addTaskCompletionListener(memory);
            boolean integers = types.length == 1 && types[0].equals(DataTypes.LongType);
            while (keys.hasNext()) {
                InternalRow row = (InternalRow) keys.next();
                if (integers) {
                    memory.add(row.getLong(0));
                } else {
                    memory.add(bytes(row));
                }
            }
            memory.flush();
            return memory;
        }

        private byte[] bytes(InternalRow row) {
            if (types.length == 1) {
                return row.getBinary(0);
            }
            Object[] values = new Object[types.length];
            for (int field = 0; field < values.length; field++) {
                values[field] = row.get(field, types[field]);
            }
            return bytesOf(values);
        }
    }

    /**
     * A filter while a task makes it, outside of Java's heap, as Python has it: an executor's cores may each need one at a time.
     * Then the file of that filter, as rows of `place`, `at`, `size` and `piece`.
     */
    private static final class Memory implements Iterator, TaskCompletionListener {
        private final Long place = Long.valueOf(TaskContext.getPartitionId());
        private final Header header;
        private final byte[] sums;
        private final long[] highs = new long[BATCH];
        private final long[] lows = new long[BATCH];
        private int count;
        private long touched;
        private long address;
        private long at;

        Memory(Header header) {
            this.header = header;
            this.sums = new byte[Math.toIntExact(8 * header.chunks())];
            this.address = Platform.allocateMemory(8 * header.words());
            Platform.setMemory(address, (byte) 0, 8 * header.words());
        }

        public void onTaskCompletion(TaskContext context) {
            Platform.freeMemory(address);
            address = 0;
        }

        void add(long key) {
            add(Xxh3.highOfLong(key, header.seed), Xxh3.lowOfLong(key, header.seed));
        }

        void add(byte[] key) {
            Xxh3 hash = new Xxh3(key, header.seed);
            add(hash.high, hash.low);
        }

        private void add(long high, long low) {
            highs[count] = high;
            lows[count] = low;
            count++;
            if (count == BATCH) {
                flush();
            }
        }

        void flush() {
            for (int key = 0; key < count; key++) {
                touched += Platform.getLong(null, address + 8 * header.firstWord(highs[key]));
            }
            for (int key = 0; key < count; key++) {
                set(highs[key], lows[key]);
            }
            count = 0;
        }

        private void set(long high, long low) {
            long block = address + 8 * header.firstWord(high);
            if (header.probes % 8 == 0) {
                for (int round = 0; round < header.probes / 8; round++) {
                    long positions = stretch(low, round);
                    for (int lane = 0; lane < 8; lane++) {
                        setBit(block + 8 * lane, (int) (positions >>> 6 * lane) & 63);
                    }
                }
                return;
            }
            for (int probe = 0; probe < header.probes; probe++) {
                int position = position(low, probe);
                setBit(block + 8 * (position >> 6), position & 63);
            }
        }

        private static void setBit(long word, int bit) {
            Platform.putLong(null, word, Platform.getLong(null, word) | little(1L << bit));
        }

        public boolean hasNext() {
            return at < header.size();
        }

        public Object next() {
            byte[] piece = piece();
            Object row = RowFactory.create(new Object[] {place, Long.valueOf(at), Long.valueOf(header.size()), piece});
            at += piece.length;
            return row;
        }

        private byte[] piece() {
            if (at == 0) {
                return header.bytes;
            }
            long first = at - header.bytes.length;
            long left = 8 * header.words() - first;
            if (left == 0) {
                byte[] table = Arrays.copyOf(sums, sums.length + 8);
                put(table, sums.length, Xxh3.hash(sums, header.chunks()));
                return table;
            }
            if (address == 0) {
                throw new IllegalStateException("the task is over");
            }
            byte[] chunk = new byte[(int) Math.min(Header.CHUNK, left)];
            Platform.copyMemory(null, address + first, chunk, Platform.BYTE_ARRAY_OFFSET, chunk.length);
            int number = (int) (first / Header.CHUNK);
            put(sums, 8 * number, Xxh3.hash(chunk, number));
            return chunk;
        }

        public void remove() {
            throw new UnsupportedOperationException();
        }
    }

    /**
     * XXH3 with a seed: both halves of the hash of 128 bits, and that of 64 bits.
     *
     * <p>The steps are those of Y. Collet's specification, https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
     */
    static final class Xxh3 {
        private static final long P32_1 = 0x9e3779b1L;
        private static final long P32_2 = 0x85ebca77L;
        private static final long P32_3 = 0xc2b2ae3dL;
        private static final long P1 = 0x9e3779b185ebca87L;
        private static final long P2 = 0xc2b2ae3d27d4eb4fL;
        private static final long P3 = 0x165667b19e3779f9L;
        private static final long P4 = 0x85ebca77c2b2ae63L;
        private static final long P5 = 0x27d4eb2f165667c5L;
        private static final byte[] SECRET = secret();

        long high;
        long low;

        private static byte[] secret() {
            long[] words = {
                0xbe4ba423396cfeb8L, 0x1cad21f72c81017cL, 0xdb979083e96dd4deL, 0x1f67b3b7a4a44072L, 0x78e5c0cc4ee679cbL,
                0x2172ffcc7dd05a82L, 0x8e2443f7744608b8L, 0x4c263a81e69035e0L, 0xcb00c391bb52283cL, 0xa32e531b8b65d088L,
                0x4ef90da297486471L, 0xd8acdea946ef1938L, 0x3f349ce33f76faa8L, 0x1d4f0bc7c7bbdcf9L, 0x3159b4cd4be0518aL,
                0x647378d9c97e9fc8L, 0xc3ebd33483acc5eaL, 0xeb6313faffa081c5L, 0x49daf0b751dd0d17L, 0x9e68d429265516d3L,
                0xfca1477d58be162bL, 0xce31d07ad1b8f88fL, 0x280416958f3acb45L, 0x7e404bbbcafbd7afL
            };
            return ofWords(words);
        }

        private static byte[] ofWords(long[] words) {
            byte[] bytes = new byte[8 * words.length];
            for (int at = 0; at < words.length; at++) {
                put(bytes, 8 * at, words[at]);
            }
            return bytes;
        }

        static long word(byte[] bytes, int at) {
            return little(Platform.getLong(bytes, Platform.BYTE_ARRAY_OFFSET + (long) at));
        }

        static int half(byte[] bytes, int at) {
            int half = Platform.getInt(bytes, Platform.BYTE_ARRAY_OFFSET + (long) at);
            return ByteOrder.nativeOrder() == ByteOrder.LITTLE_ENDIAN ? half : Integer.reverseBytes(half);
        }

        private static long wide(byte[] bytes, int at) {
            return half(bytes, at) & 0xffffffffL;
        }

        /** The upper half of the product, unsigned. */
        static long multiplyHigh(long a, long b) {
            return Math.multiplyHigh(a, b) + (a >> 63 & b) + (b >> 63 & a);
        }

        private static long fold(long a, long b) {
            return a * b ^ multiplyHigh(a, b);
        }

        private static long avalanche(long x) {
            x = (x ^ x >>> 37) * 0x165667919e3779f9L;
            return x ^ x >>> 32;
        }

        /** That of XXH64. */
        private static long finish(long x) {
            x = (x ^ x >>> 33) * P2;
            x = (x ^ x >>> 29) * P3;
            return x ^ x >>> 32;
        }

        private static long flip(int a, int b) {
            return word(SECRET, a) ^ word(SECRET, b);
        }

        /** The upper half of the 128 bits of 8 bytes. */
        static long highOfLong(long key, long seed) {
            long keyed = keyed(key, seed);
            long times = P1 + 32;
            return avalanche(multiplyHigh(keyed, times) + (keyed * times << 1));
        }

        /** The lower half of the 128 bits of 8 bytes. */
        static long lowOfLong(long key, long seed) {
            long keyed = keyed(key, seed);
            return lowOf(keyed, P1 + 32);
        }

        private static long lowOf(long keyed, long times) {
            long low = keyed * times;
            long high = multiplyHigh(keyed, times) + (low << 1);
            low ^= high >>> 3;
            low = (low ^ low >>> 35) * 0x9fb21c651e98df25L;
            return low ^ low >>> 28;
        }

        private static long keyed(long word, long seed) {
            return word ^ flip(16, 24) + (seed ^ (long) Integer.reverseBytes((int) seed) << 32);
        }

        /** The 128 bits of some bytes. */
        Xxh3(byte[] key, long seed) {
            int length = key.length;
            if (length > 240) {
                ofLong(key, seed);
            } else if (length > 128) {
                ofMiddle(key, seed);
            } else if (length > 16) {
                ofPairs(key, seed);
            } else if (length > 8) {
                ofTwoWords(key, seed);
            } else if (length >= 4) {
                long keyed = keyed(wide(key, 0) | wide(key, length - 4) << 32, seed);
                long times = P1 + ((long) length << 2);
                high = avalanche(multiplyHigh(keyed, times) + (keyed * times << 1));
                low = lowOf(keyed, times);
            } else if (length > 0) {
                int word = few(key);
                long other = Integer.rotateLeft(Integer.reverseBytes(word), 13) & 0xffffffffL;
                low = finish((word & 0xffffffffL) ^ (((half(SECRET, 0) ^ half(SECRET, 4)) & 0xffffffffL) + seed));
                high = finish(other ^ (((half(SECRET, 8) ^ half(SECRET, 12)) & 0xffffffffL) - seed));
            } else {
                low = finish(seed ^ flip(64, 72));
                high = finish(seed ^ flip(80, 88));
            }
        }

        /** One to three bytes in a word. */
        private static int few(byte[] key) {
            int length = key.length;
            return (key[0] & 255) << 16 | (key[length >> 1] & 255) << 24 | key[length - 1] & 255 | length << 8;
        }

        private void ofTwoWords(byte[] key, long seed) {
            int length = key.length;
            long head = word(key, 0);
            long tail = word(key, length - 8);
            long first = head ^ tail ^ flip(32, 40) - seed;
            long low = first * P1;
            long high = multiplyHigh(first, P1);
            low += (long) (length - 1) << 54;
            tail ^= flip(48, 56) + seed;
            high += tail + (tail & 0xffffffffL) * (P32_2 - 1);
            low ^= Long.reverseBytes(high);
            this.high = avalanche(multiplyHigh(low, P2) + high * P2);
            this.low = avalanche(low * P2);
        }

        private static long mixed(byte[] key, int at, int secret, long seed) {
            return fold(word(key, at) ^ word(SECRET, secret) + seed, word(key, at + 8) ^ word(SECRET, secret + 8) - seed);
        }

        private void mix(byte[] key, int front, int back, int secret, long seed) {
            low = low + mixed(key, front, secret, seed) ^ word(key, back) + word(key, back + 8);
            high = high + mixed(key, back, secret + 16, seed) ^ word(key, front) + word(key, front + 8);
        }

        private void end(int length, long seed) {
            long sum = low + high;
            long other = low * P1 + high * P4 + (length - seed) * P2;
            low = avalanche(sum);
            high = -avalanche(other);
        }

        private void ofPairs(byte[] key, long seed) {
            int length = key.length;
            low = length * P1;
            high = 0;
            for (int round = (length - 1) / 32; round >= 0; round--) {
                mix(key, 16 * round, length - 16 * (round + 1), 32 * round, seed);
            }
            end(length, seed);
        }

        private void ofMiddle(byte[] key, long seed) {
            int length = key.length;
            low = length * P1;
            high = 0;
            for (int round = 0; round < 4; round++) {
                mix(key, 32 * round, 32 * round + 16, 32 * round, seed);
            }
            low = avalanche(low);
            high = avalanche(high);
            for (int round = 4; round < length / 32; round++) {
                mix(key, 32 * round, 32 * round + 16, 3 + 32 * (round - 4), seed);
            }
            mix(key, length - 16, length - 32, 136 - 17 - 16, -seed);
            end(length, seed);
        }

        private void ofLong(byte[] key, long seed) {
            byte[] secret = seeded(seed);
            long[] lanes = lanes(key, secret);
            low = merged(lanes, secret, 11, key.length * P1);
            high = merged(lanes, secret, 192 - 64 - 11, ~(key.length * P2));
        }

        private static byte[] seeded(long seed) {
            if (seed == 0) {
                return SECRET;
            }
            long[] words = new long[24];
            for (int at = 0; at < 24; at++) {
                words[at] = word(SECRET, 8 * at) + (at % 2 == 0 ? seed : -seed);
            }
            return ofWords(words);
        }

        private static long[] lanes(byte[] key, byte[] secret) {
            long[] lanes = {P32_3, P1, P2, P3, P4, P32_2, P5, P32_1};
            int blocks = (key.length - 1) / 1024;
            for (int block = 0; block < blocks; block++) {
                for (int stripe = 0; stripe < 16; stripe++) {
                    accumulate(lanes, key, 1024 * block + 64 * stripe, secret, 8 * stripe);
                }
                for (int lane = 0; lane < 8; lane++) {
                    lanes[lane] = (lanes[lane] ^ lanes[lane] >>> 47 ^ word(secret, 128 + 8 * lane)) * P32_1;
                }
            }
            int stripes = (key.length - 1 - 1024 * blocks) / 64;
            for (int stripe = 0; stripe < stripes; stripe++) {
                accumulate(lanes, key, 1024 * blocks + 64 * stripe, secret, 8 * stripe);
            }
            accumulate(lanes, key, key.length - 64, secret, 128 - 7);
            return lanes;
        }

        private static void accumulate(long[] lanes, byte[] key, int at, byte[] secret, int from) {
            for (int lane = 0; lane < 8; lane++) {
                long word = word(key, at + 8 * lane);
                long keyed = word ^ word(secret, from + 8 * lane);
                lanes[lane ^ 1] += word;
                lanes[lane] += (keyed & 0xffffffffL) * (keyed >>> 32);
            }
        }

        private static long merged(long[] lanes, byte[] secret, int from, long start) {
            for (int pair = 0; pair < 4; pair++) {
                start += fold(lanes[2 * pair] ^ word(secret, from + 16 * pair), lanes[2 * pair + 1] ^ word(secret, from + 16 * pair + 8));
            }
            return avalanche(start);
        }

        /** The 64 bits of some bytes. */
        static long hash(byte[] key, long seed) {
            int length = key.length;
            if (length > 240) {
                byte[] secret = seeded(seed);
                return merged(lanes(key, secret), secret, 11, length * P1);
            }
            if (length > 128) {
                return hashOfMiddle(key, seed);
            }
            if (length > 16) {
                long sum = length * P1;
                for (int round = (length - 1) / 32; round >= 0; round--) {
                    sum += mixed(key, 16 * round, 32 * round, seed) + mixed(key, length - 16 * (round + 1), 32 * round + 16, seed);
                }
                return avalanche(sum);
            }
            if (length > 8) {
                long head = word(key, 0) ^ flip(24, 32) + seed;
                long tail = word(key, length - 8) ^ flip(40, 48) - seed;
                return avalanche(length + Long.reverseBytes(head) + tail + fold(head, tail));
            }
            if (length >= 4) {
                seed ^= (long) Integer.reverseBytes((int) seed) << 32;
                long x = wide(key, length - 4) + (wide(key, 0) << 32) ^ flip(8, 16) - seed;
                x ^= Long.rotateLeft(x, 49) ^ Long.rotateLeft(x, 24);
                x *= 0x9fb21c651e98df25L;
                x ^= (x >>> 35) + length;
                x *= 0x9fb21c651e98df25L;
                return x ^ x >>> 28;
            }
            if (length > 0) {
                return finish((few(key) & 0xffffffffL) ^ (((half(SECRET, 0) ^ half(SECRET, 4)) & 0xffffffffL) + seed));
            }
            return finish(seed ^ flip(56, 64));
        }

        private static long hashOfMiddle(byte[] key, long seed) {
            int length = key.length;
            long sum = length * P1;
            for (int round = 0; round < 8; round++) {
                sum += mixed(key, 16 * round, 16 * round, seed);
            }
            sum = avalanche(sum);
            for (int round = 8; round < length / 16; round++) {
                sum += mixed(key, 16 * round, 16 * (round - 8) + 3, seed);
            }
            return avalanche(sum + mixed(key, length - 16, 136 - 17, seed));
        }
    }
}
