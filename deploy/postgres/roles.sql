-- The roles of an installation, whose names and passwords are in the session's settings tollgate.owner, tollgate.owner_password and so on.
-- A superuser runs it in the installation's database, or a role that may create roles and owns the database and all that is in it. Repeated, it changes
-- nothing but passwords. What the runtime and the reader may do with tables is granted by the owner, with each migration.
DO $roles$
DECLARE
  kind text;
  name text;
  password text;
  owner_name text := current_setting('tollgate.owner');
  is_superuser boolean := (SELECT rolsuper FROM pg_roles WHERE rolname = current_user);
  -- Each of them runs programs, reaches files of the server or writes every table.
  powers text[] := ARRAY['pg_execute_server_program', 'pg_read_server_files', 'pg_write_server_files', 'pg_write_all_data', 'pg_create_subscription'];
  found record;
BEGIN
  FOREACH kind IN ARRAY ARRAY['owner', 'runtime', 'reader'] LOOP
    name := nullif(current_setting('tollgate.' || kind, true), '');
    password := nullif(current_setting('tollgate.' || kind || '_password', true), '');
    CONTINUE WHEN name IS NULL;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = name) THEN
      EXECUTE format('CREATE ROLE %I LOGIN', name);
    END IF;
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = name AND (rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls))
      OR EXISTS (SELECT FROM pg_roles r WHERE r.rolname = ANY (powers) AND pg_has_role(name, r.oid, 'MEMBER'))
      OR (kind <> 'owner' AND (pg_has_role(name, owner_name, 'MEMBER') OR pg_has_role(name, 'pg_database_owner', 'MEMBER'))) THEN
      RAISE EXCEPTION E'The role % may do more than the % of an installation.\n  Fix: name a role of its own in the address of the %; it is created.', name, kind, kind;
    END IF;
    IF password IS NOT NULL THEN
      EXECUTE format('ALTER ROLE %I LOGIN PASSWORD %L', name, password);
    END IF;
    EXECUTE format('GRANT CONNECT ON DATABASE %I TO %I', current_database(), name);
    EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), name);
  END LOOP;

  EXECUTE format('REVOKE CREATE, TEMPORARY ON DATABASE %I FROM PUBLIC', current_database());
  EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());
  EXECUTE format('GRANT CREATE ON SCHEMA %I TO %I', current_schema(), owner_name);

  -- Large objects take room and belong to no table. Where the administrator is no superuser, PostgreSQL does not let them be revoked.
  IF is_superuser THEN
    REVOKE EXECUTE ON FUNCTION pg_catalog.lo_creat(integer), pg_catalog.lo_create(oid), pg_catalog.lo_from_bytea(oid, bytea),
      pg_catalog.lo_put(oid, bigint, bytea), pg_catalog.lo_import(text), pg_catalog.lo_import(text, oid) FROM PUBLIC;
  END IF;

  -- Searches among accounts have an index with it; the owner may not create it.
  BEGIN
    CREATE EXTENSION IF NOT EXISTS pg_trgm;
  EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported THEN
    RAISE NOTICE 'pg_trgm is not available: a search among accounts reads all of them';
  END;
  -- A database that another role migrated until now.
  IF NOT is_superuser THEN
    EXECUTE format('GRANT %I TO CURRENT_USER', owner_name);
  END IF;
  FOR found IN
    SELECT format('ALTER TABLE %I.%I OWNER TO %I', n.nspname, c.relname, owner_name) AS change
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE n.nspname = current_schema() AND c.relkind IN ('r', 'p', 'v', 'm') AND pg_get_userbyid(c.relowner) <> owner_name
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid AND d.deptype = 'e')
    UNION ALL
    SELECT format('ALTER ROUTINE %s OWNER TO %I', p.oid::regprocedure, owner_name)
    FROM pg_proc p
    WHERE p.pronamespace = current_schema()::regnamespace AND pg_get_userbyid(p.proowner) <> owner_name
      AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = p.oid AND d.deptype = 'e')
  LOOP
    EXECUTE found.change;
  END LOOP;
END $roles$;
