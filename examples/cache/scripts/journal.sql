-- Writes down, in the transaction of each change, which keys came and went: whoever makes the change.
-- GUARDED and KEY are replaced. An xid of 64 bits is never used twice.
CREATE TABLE IF NOT EXISTS GUARDED_journal (
    seq bigserial PRIMARY KEY,
    xid bigint NOT NULL DEFAULT pg_current_xact_id()::text::bigint,
    at timestamptz NOT NULL DEFAULT now(),
    added boolean NOT NULL,
    key text NOT NULL
);
CREATE INDEX IF NOT EXISTS GUARDED_journal_xid ON GUARDED_journal (xid);
-- Entries of transactions before this one may have been deleted.
CREATE TABLE IF NOT EXISTS GUARDED_journal_start (xid bigint NOT NULL);
INSERT INTO GUARDED_journal_start SELECT 0 WHERE NOT EXISTS (SELECT FROM GUARDED_journal_start);
-- With a search path of its own: that of logical replication is empty.
CREATE OR REPLACE FUNCTION GUARDED_journal_write() RETURNS trigger LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
BEGIN
    IF TG_OP <> 'INSERT' THEN
        INSERT INTO GUARDED_journal (added, key) VALUES (false, OLD.KEY);
    END IF;
    IF TG_OP <> 'DELETE' THEN
        INSERT INTO GUARDED_journal (added, key) VALUES (true, NEW.KEY);
    END IF;
    RETURN NULL;
END
$$;
CREATE OR REPLACE TRIGGER GUARDED_journal AFTER INSERT OR DELETE ON GUARDED
    FOR EACH ROW EXECUTE FUNCTION GUARDED_journal_write();
-- Not UPDATE OF: a trigger may change the key, too.
CREATE OR REPLACE TRIGGER GUARDED_journal_update AFTER UPDATE ON GUARDED
    FOR EACH ROW WHEN (OLD.KEY IS DISTINCT FROM NEW.KEY) EXECUTE FUNCTION GUARDED_journal_write();
-- Also for what logical replication applies.
ALTER TABLE GUARDED ENABLE ALWAYS TRIGGER GUARDED_journal, ENABLE ALWAYS TRIGGER GUARDED_journal_update;
