/** Makes models and their prices. */
export const CATALOGUE = `
CREATE TABLE models (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name text NOT NULL CHECK (length(name) BETWEEN 1 AND 256),
  display_name text NOT NULL,
  kind text NOT NULL DEFAULT 'chat' CHECK (kind IN ('chat', 'embedding')),
  owned_by text NOT NULL DEFAULT 'tollgate',
  description text NOT NULL DEFAULT '',
  context_window integer CHECK (context_window > 0),
  max_output_tokens integer CHECK (max_output_tokens > 0),
  unbounded_input_tokens integer CHECK (unbounded_input_tokens >= 0),
  is_on_shelf boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  deleted_at timestamptz,
  -- Holds further names.
  aliases text[] NOT NULL DEFAULT '{}',
  -- Holds what the model does when an upstream fails, where that is not the default.
  failover jsonb NOT NULL DEFAULT '{}',
  default_output_tokens integer CHECK (default_output_tokens > 0),
  -- It searches or reads by itself: its usage may report more input than it was sent.
  reads_more_than_sent boolean NOT NULL DEFAULT false,
  -- Requests that mark nothing for a cache of the provider are marked.
  caches_prompts boolean NOT NULL DEFAULT false
);
CREATE UNIQUE INDEX models_name ON models (name) WHERE deleted_at IS NULL;
-- A name or alias belongs to one living model, whatever its case; the lock makes that true for two changes at once, too.
CREATE FUNCTION refuse_taken_model_alias() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  names text[];
BEGIN
  IF NEW.deleted_at IS NOT NULL THEN
    RETURN NEW;
  END IF;
  PERFORM pg_advisory_xact_lock(hashtext('model names'));
  SELECT array_agg(lower(given)) INTO names FROM unnest(NEW.name || NEW.aliases) given;
  IF NEW.name = ANY (NEW.aliases) OR EXISTS (
    SELECT FROM models other WHERE other.id <> NEW.id AND other.deleted_at IS NULL AND (lower(other.name) = ANY (names) OR EXISTS (SELECT FROM unnest(other.aliases) alias WHERE lower(alias) = ANY (names)))
  ) THEN
    RAISE unique_violation USING MESSAGE = 'another model has this name or alias', CONSTRAINT = 'models_alias';
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER models_alias BEFORE INSERT OR UPDATE OF name, aliases, deleted_at ON models FOR EACH ROW EXECUTE FUNCTION refuse_taken_model_alias();

-- Holds the table of model families that an administrator imported; without a row the shipped one is used.
CREATE TABLE model_families (
  id integer PRIMARY KEY CHECK (id = 1),
  document jsonb NOT NULL,
  imported_at timestamptz NOT NULL
);

-- Rows are immutable: a new price is a new version.
CREATE TABLE price_versions (
  id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  model_id integer NOT NULL REFERENCES models (id),
  price_per_million bigint NOT NULL CHECK (price_per_million >= 0),
  weight_input bigint NOT NULL DEFAULT 1000000 CHECK (weight_input >= 0),
  weight_output bigint NOT NULL DEFAULT 1000000 CHECK (weight_output >= 0),
  weight_cache_read bigint NOT NULL DEFAULT 1000000 CHECK (weight_cache_read >= 0),
  weight_cache_write bigint NOT NULL DEFAULT 1000000 CHECK (weight_cache_write >= 0),
  effective_at timestamptz NOT NULL DEFAULT now(),
  created_by integer REFERENCES users (id),
  created_at timestamptz NOT NULL DEFAULT now(),
  -- A price of zero is declared.
  is_free boolean NOT NULL DEFAULT false,
  -- Holds multipliers of dearer services, by name; a request names those it was charged by.
  multipliers jsonb NOT NULL DEFAULT '{}',
  -- Holds weights of requests whose prompt is longer than a threshold, ascending.
  tiers jsonb NOT NULL DEFAULT '[]',
  -- Is null for the weight of the class that it is a part of.
  weight_cache_write_1h bigint CHECK (weight_cache_write_1h >= 0),
  weight_audio_input bigint CHECK (weight_audio_input >= 0),
  weight_audio_output bigint CHECK (weight_audio_output >= 0),
  weight_image_input bigint CHECK (weight_image_input >= 0),
  weight_image_output bigint CHECK (weight_image_output >= 0),
  -- Is null where a search costs the tokens it reads and nothing of its own.
  weight_searches bigint CHECK (weight_searches >= 0),
  CONSTRAINT free_charges_nothing CHECK (NOT is_free OR price_per_million = 0 OR weight_input + weight_output = 0),
  CONSTRAINT multipliers_is_object CHECK (jsonb_typeof(multipliers) = 'object'),
  CONSTRAINT tiers_is_array CHECK (jsonb_typeof(tiers) = 'array')
);
CREATE INDEX price_versions_model ON price_versions (model_id, effective_at DESC, id DESC);
CREATE TRIGGER price_versions_immutable BEFORE UPDATE OR DELETE ON price_versions FOR EACH ROW EXECUTE FUNCTION refuse_change();
`;
