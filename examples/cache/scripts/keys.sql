-- How a column compares keys: as text, bigint or uuid, of which each key has one text; null if it takes different texts for equal.
-- Then what it is. GUARDED and KEY are replaced.
WITH RECURSIVE base (type, collated) AS (
    SELECT atttypid, attcollation FROM pg_attribute
    WHERE attrelid = 'GUARDED'::regclass AND attname = (parse_ident('KEY'))[1] AND NOT attisdropped
    UNION ALL
    SELECT typbasetype, collated FROM base JOIN pg_type ON pg_type.oid = type WHERE typtype = 'd'
)
SELECT CASE
        WHEN type IN ('smallint'::regtype, 'integer'::regtype, 'bigint'::regtype) THEN 'bigint'
        WHEN type = 'uuid'::regtype THEN 'uuid'
        WHEN type IN ('text'::regtype, 'varchar'::regtype) AND collisdeterministic THEN 'text'
    END,
    CASE WHEN collisdeterministic THEN '' ELSE coalesce('collation ' || collname || ' of ', '') END || format_type(type, NULL)
FROM base JOIN pg_type ON pg_type.oid = type LEFT JOIN pg_collation ON pg_collation.oid = collated
WHERE typtype <> 'd'
