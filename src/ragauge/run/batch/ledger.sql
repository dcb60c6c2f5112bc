-- The ledger of a batch folder.
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);

CREATE TABLE files (
    name TEXT PRIMARY KEY, wave INTEGER NOT NULL, spec TEXT NOT NULL, requests INTEGER NOT NULL DEFAULT 0,
    upload TEXT NOT NULL DEFAULT '', batch TEXT NOT NULL DEFAULT '', since TEXT NOT NULL DEFAULT '',
    ended INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE requests (
    id TEXT PRIMARY KEY, file TEXT NOT NULL REFERENCES files, spec TEXT NOT NULL, form TEXT NOT NULL,
    questions NOT NULL, waiting INTEGER NOT NULL DEFAULT 1, replied INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX requests_by_file ON requests (file, waiting);

CREATE TABLE questions (
    key TEXT PRIMARY KEY, request TEXT NOT NULL REFERENCES requests, waiting INTEGER NOT NULL,
    tries INTEGER NOT NULL, failure TEXT NOT NULL, alone INTEGER NOT NULL
);
CREATE INDEX questions_by_request ON questions (request);
