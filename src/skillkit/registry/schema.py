"""The tables, as numbered migrations that only go forward.

A migration only adds, tables or columns with a default: while a server is replaced by a newer one, both run.
"""

from typing import NamedTuple


class Migration(NamedTuple):
    """SQL for both databases, and for each of them."""

    tables: str
    sqlite: str = ""
    postgresql: str = ""


_FIRST = """
    CREATE TABLE owner (
        id INTEGER PRIMARY KEY,
        name TEXT NOT NULL,
        folded TEXT NOT NULL UNIQUE,
        private INTEGER NOT NULL,
        created REAL NOT NULL
    );
    CREATE TABLE skill (
        id INTEGER PRIMARY KEY,
        owner INTEGER NOT NULL REFERENCES owner (id),
        name TEXT NOT NULL,
        description TEXT NOT NULL,
        latest INTEGER,
        downloads INTEGER NOT NULL DEFAULT 0,
        created REAL NOT NULL,
        updated REAL NOT NULL,
        UNIQUE (owner, name)
    );
    CREATE INDEX skill_name ON skill (name);
    CREATE INDEX skill_updated ON skill (updated);
    CREATE TABLE version (
        id INTEGER PRIMARY KEY,
        skill INTEGER NOT NULL REFERENCES skill (id),
        number TEXT NOT NULL,
        header TEXT NOT NULL,
        digest TEXT NOT NULL,
        fingerprint TEXT NOT NULL,
        git TEXT NOT NULL,
        tar TEXT NOT NULL,
        zip TEXT NOT NULL,
        files TEXT NOT NULL,
        instructions TEXT NOT NULL,
        card TEXT NOT NULL,
        checks TEXT NOT NULL,
        cases TEXT NOT NULL,
        changelog TEXT NOT NULL,
        state TEXT NOT NULL,
        earlier TEXT NOT NULL DEFAULT '',
        reason TEXT NOT NULL,
        publisher TEXT NOT NULL,
        created REAL NOT NULL,
        published REAL,
        UNIQUE (skill, number)
    );
    CREATE INDEX version_state ON version (state);
    CREATE TABLE event (
        id INTEGER PRIMARY KEY,
        time REAL NOT NULL,
        actor TEXT NOT NULL,
        action TEXT NOT NULL,
        owner INTEGER,
        subject TEXT NOT NULL,
        detail TEXT NOT NULL
    );
    CREATE INDEX event_owner ON event (owner, id);
    CREATE TABLE token (
        id INTEGER PRIMARY KEY,
        hash TEXT NOT NULL UNIQUE,
        "user" TEXT NOT NULL,
        scopes TEXT NOT NULL,
        owner INTEGER REFERENCES owner (id),
        created REAL NOT NULL,
        expires REAL,
        revoked REAL
    );
    CREATE INDEX token_user ON token ("user");
    CREATE TABLE ticket (
        hash TEXT PRIMARY KEY,
        token INTEGER NOT NULL REFERENCES token (id),
        path TEXT NOT NULL,
        size INTEGER NOT NULL,
        sha256 TEXT NOT NULL,
        expires REAL NOT NULL,
        content BLOB
    );
    CREATE INDEX ticket_expires ON ticket (expires);
    CREATE TABLE device (
        hash TEXT PRIMARY KEY,
        user_code TEXT NOT NULL UNIQUE,
        label TEXT NOT NULL,
        expires REAL NOT NULL,
        polled REAL NOT NULL,
        state TEXT NOT NULL,
        token INTEGER REFERENCES token (id)
    );
    CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL);
    """
_SQLITE = """
    CREATE TRIGGER event_kept BEFORE DELETE ON event BEGIN SELECT RAISE(ABORT, 'events are kept'); END;
    CREATE TRIGGER event_fixed BEFORE UPDATE ON event BEGIN SELECT RAISE(ABORT, 'events are kept'); END;
    CREATE VIRTUAL TABLE search USING fts5 (name, description, tokenize = 'porter unicode61');
    """
_POSTGRESQL = """
    CREATE FUNCTION event_kept() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION 'events are kept'; END $$;
    CREATE TRIGGER event_kept BEFORE UPDATE OR DELETE OR TRUNCATE ON event
        FOR EACH STATEMENT EXECUTE FUNCTION event_kept();
    CREATE TABLE search (skill BIGINT PRIMARY KEY, words TSVECTOR NOT NULL);
    CREATE INDEX search_words ON search USING gin (words);
    """
MIGRATIONS = (Migration(_FIRST, _SQLITE, _POSTGRESQL),)
KEPT = ("owner", "skill", "version", "event", "token")
"""Tables of an export, in the order of their references."""
MIRRORED = ("owner", "skill", "version")
"""Tables of an export for a mirror, which has its own tokens and events."""
