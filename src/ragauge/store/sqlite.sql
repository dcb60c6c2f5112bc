-- Migrations of a store in a file. Columns without a type hold cells as packed by texts.py.

-- 1: the first schema
CREATE TABLE texts (id INTEGER PRIMARY KEY, digest BLOB NOT NULL UNIQUE, text NOT NULL);
CREATE TABLE judgments (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE,
    judge INTEGER NOT NULL REFERENCES texts, question NOT NULL, answer NOT NULL);
CREATE TABLE runs (number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, record NOT NULL);
CREATE TABLE samples (run INTEGER NOT NULL REFERENCES runs, position INTEGER NOT NULL,
    record NOT NULL, UNIQUE (run, position));
CREATE TABLE columns (id INTEGER PRIMARY KEY, run INTEGER NOT NULL REFERENCES runs,
    metric TEXT NOT NULL, first INTEGER NOT NULL, numbers BLOB NOT NULL);
CREATE INDEX columns_by_metric ON columns (run, metric);
CREATE TABLE labels (id INTEGER PRIMARY KEY, digest BLOB NOT NULL, question TEXT NOT NULL,
    answer TEXT NOT NULL, person TEXT NOT NULL, at TEXT NOT NULL);
CREATE INDEX labels_by_question ON labels (digest)

-- 2: a judgment names the call that produced it, by the call's own id
CREATE TABLE calls (id INTEGER PRIMARY KEY, record TEXT NOT NULL);
ALTER TABLE judgments ADD COLUMN call TEXT NOT NULL DEFAULT ''

-- 3: the responses of systems under test, by the hash of the prompt and the system
CREATE TABLE responses (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, record NOT NULL)

-- 4: blind: the hash of the data, for a label given without sight of the verdict; chance: of a random sample
ALTER TABLE labels ADD COLUMN blind TEXT NOT NULL DEFAULT '';
ALTER TABLE labels ADD COLUMN chance INTEGER NOT NULL DEFAULT 0

-- 5: mark: by which the user who stored a judgment recognises it
ALTER TABLE judgments ADD COLUMN mark BLOB NOT NULL DEFAULT x''

-- 6: how far the files of a watched folder were delivered
CREATE TABLE streams (name TEXT PRIMARY KEY, state TEXT NOT NULL)

-- 7: rows of test sets as people changed them
CREATE TABLE edits (id INTEGER PRIMARY KEY, test_set TEXT NOT NULL, edit TEXT NOT NULL)

-- 8: decides: whether a label was given to settle a difference of people
ALTER TABLE labels ADD COLUMN decides INTEGER NOT NULL DEFAULT 0
