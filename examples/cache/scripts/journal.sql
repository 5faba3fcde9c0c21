-- Writes down, in the transaction of each change, which keys came and went: whoever makes the change.
-- TABLE and KEY are replaced. An xid of 64 bits is never used twice.
CREATE TABLE IF NOT EXISTS TABLE_journal (
    seq bigserial PRIMARY KEY,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    at timestamptz NOT NULL DEFAULT now(),
    added boolean NOT NULL,
    key text NOT NULL
);
CREATE INDEX IF NOT EXISTS TABLE_journal_xid ON TABLE_journal (xid);
-- Entries of transactions before this one may have been deleted.
CREATE TABLE IF NOT EXISTS TABLE_journal_start (xid bigint NOT NULL);
INSERT INTO TABLE_journal_start SELECT 0 WHERE NOT EXISTS (SELECT FROM TABLE_journal_start);
CREATE OR REPLACE FUNCTION TABLE_journal_write() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'UPDATE' AND OLD.KEY = NEW.KEY THEN
        RETURN NULL;
    END IF;
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO TABLE_journal (added, key) VALUES (false, OLD.KEY);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO TABLE_journal (added, key) VALUES (true, NEW.KEY);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER TABLE_journal AFTER INSERT OR DELETE OR UPDATE OF KEY ON TABLE
    FOR EACH ROW EXECUTE FUNCTION TABLE_journal_write();
