/** Keeps requests that were refused, and what upstreams answered in place of an answer. Rows are kept for 7 days and decide nothing. */
export const INCIDENTS = `
-- Holds the first of each key and minute. key_id is 0 for a key that no account has.
CREATE TABLE refused_requests (
  rid uuid PRIMARY KEY,
  at timestamptz NOT NULL,
  key_id integer NOT NULL DEFAULT 0,
  user_id integer,
  status smallint NOT NULL,
  code text NOT NULL,
  model text,
  message text NOT NULL,
  node text NOT NULL
);
CREATE INDEX refused_requests_key ON refused_requests (key_id, at);
CREATE INDEX refused_requests_user ON refused_requests (user_id, rid);

-- Counts all of them.
CREATE TABLE refusal_counts (
  minute timestamptz NOT NULL,
  key_id integer NOT NULL DEFAULT 0,
  code text NOT NULL,
  status smallint NOT NULL,
  user_id integer,
  count bigint NOT NULL,
  PRIMARY KEY (minute, key_id, code, status)
);

-- place is that of the attempt in its request.
CREATE TABLE error_excerpts (
  rid uuid NOT NULL,
  place smallint NOT NULL,
  at timestamptz NOT NULL,
  user_id integer NOT NULL,
  upstream_id integer NOT NULL,
  status smallint NOT NULL,
  excerpt text NOT NULL,
  PRIMARY KEY (rid, place)
);
CREATE INDEX error_excerpts_user ON error_excerpts (user_id);
`;
