CREATE TABLE run (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  kind TEXT NOT NULL,
  status TEXT NOT NULL, -- 'running' also of a process that was killed
  started TEXT NOT NULL, -- UTC
  ended TEXT,
  version TEXT NOT NULL,
  command TEXT,
  task TEXT,
  problem TEXT,
  problem_parameters TEXT,
  precision TEXT,
  dim_x INTEGER,
  dim_y INTEGER,
  fingerprint TEXT,
  solver TEXT,
  parameters TEXT,
  options TEXT,
  outcome TEXT,
  message TEXT,
  iterations INTEGER,
  seconds REAL,
  phi REAL,
  grad_norm REAL,
  result TEXT,
  checkpoint_iteration INTEGER,
  checkpoint_saved TEXT,
  host TEXT, boot TEXT, pid INTEGER, pid_start INTEGER);
CREATE TABLE trace (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  iteration INTEGER NOT NULL,
  seconds REAL,
  row TEXT NOT NULL,
  PRIMARY KEY (run, iteration)) WITHOUT ROWID;
CREATE TABLE attachment (
  run INTEGER NOT NULL REFERENCES run(id) ON DELETE CASCADE,
  name TEXT NOT NULL,
  part INTEGER NOT NULL, -- long ones are in several
  bytes BLOB NOT NULL,
  PRIMARY KEY (run, name, part));
PRAGMA application_id = 1651275378; -- "blvr", as in store.c, with the version
PRAGMA user_version = 1;
