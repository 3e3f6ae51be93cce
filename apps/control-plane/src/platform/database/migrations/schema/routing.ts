/** Makes upstreams and routes. */
export const ROUTING = `
CREATE TABLE upstreams (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL,
  protocol text NOT NULL CHECK (protocol IN ('openai', 'anthropic', 'azure', 'gemini', 'vertex', 'bedrock')),
  auth_type text NOT NULL DEFAULT 'api_key',
  base_url text NOT NULL,
  -- Holds an AES-256-GCM envelope bound to this id; it is never readable through the API. NULL: none, or further credentials only.
  sealed_api_key text,
  -- The share of requests that its own credential gets beside further ones.
  credential_weight integer NOT NULL DEFAULT 1 CHECK (credential_weight BETWEEN 1 AND 1000),
  -- Limits the requests that it may send in a minute to each model. NULL declares no limit.
  credential_rpm integer CHECK (credential_rpm > 0),
  credential_tpm integer CHECK (credential_tpm > 0),
  credential_enabled boolean NOT NULL DEFAULT true,
  headers jsonb NOT NULL DEFAULT '{}',
  connect_timeout_ms integer NOT NULL DEFAULT 5000 CHECK (connect_timeout_ms > 0),
  first_token_timeout_ms integer NOT NULL DEFAULT 120000 CHECK (first_token_timeout_ms > 0),
  idle_timeout_ms integer NOT NULL DEFAULT 120000 CHECK (idle_timeout_ms > 0),
  total_timeout_ms integer NOT NULL DEFAULT 900000 CHECK (total_timeout_ms > 0),
  max_concurrency integer CHECK (max_concurrency > 0),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Says whether it stops billing a stream that is closed; null means what is known of its host.
  stops_billing_on_close boolean,
  -- Lists what it has besides the endpoints of every server of its protocol; null means what is known of its host.
  endpoints text[] CHECK (endpoints <@ ARRAY['responses', 'completions', 'threads']),
  -- Says whether requests may name files of the provider's account, which all customers share.
  passes_file_ids boolean NOT NULL DEFAULT false,
  -- Says which fields of requests reach it.
  fields text NOT NULL DEFAULT 'known' CONSTRAINT upstreams_fields CHECK (fields IN ('known', 'all'))
);
CREATE UNIQUE INDEX upstreams_name ON upstreams (name) WHERE deleted_at IS NULL;

-- Credentials beside an upstream's own.
CREATE TABLE upstream_credentials (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  upstream_id integer NOT NULL REFERENCES upstreams (id),
  name text NOT NULL,
  auth_type text NOT NULL,
  -- AES-256-GCM envelope bound to this id, the upstream and its address.
  sealed text NOT NULL,
  weight integer NOT NULL DEFAULT 1 CHECK (weight BETWEEN 1 AND 1000),
  rpm integer CHECK (rpm > 0),
  tpm integer CHECK (tpm > 0),
  enabled boolean NOT NULL DEFAULT true,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT upstream_credentials_name UNIQUE (upstream_id, name)
);

CREATE TABLE routes (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model_id integer NOT NULL REFERENCES models (id),
  upstream_id integer NOT NULL REFERENCES upstreams (id),
  upstream_model text NOT NULL,
  priority integer NOT NULL DEFAULT 0,
  weight integer NOT NULL DEFAULT 1 CHECK (weight > 0),
  enabled boolean NOT NULL DEFAULT true,
  -- 'auto' follows the model's name.
  output_limit_field text NOT NULL DEFAULT 'auto' CHECK (output_limit_field IN ('auto', 'max_tokens', 'max_completion_tokens')),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  -- A route may take longer prompts than its model says: what overflows elsewhere goes there.
  context_window integer CHECK (context_window > 0)
);
CREATE INDEX routes_model ON routes (model_id);
CREATE INDEX routes_upstream ON routes (upstream_id);
-- A model has one route to the same model of an upstream; the lock makes that true for two changes at once, too.
CREATE FUNCTION refuse_twin_route() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('routes of a model'), NEW.model_id);
  IF EXISTS (
    SELECT FROM routes other
    WHERE other.id <> NEW.id AND other.model_id = NEW.model_id AND other.upstream_id = NEW.upstream_id
      AND other.upstream_model = NEW.upstream_model
  ) THEN
    RAISE unique_violation USING MESSAGE = 'the model has this route', CONSTRAINT = 'routes_twin';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER routes_twin BEFORE INSERT OR UPDATE OF model_id, upstream_id, upstream_model ON routes FOR EACH ROW EXECUTE FUNCTION refuse_twin_route();
`;
