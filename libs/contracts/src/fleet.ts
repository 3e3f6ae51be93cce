import { z } from 'zod';
import { formatNumbersSchema } from './formats.ts';
import { AUTH_ABILITIES } from './upstream-auth.ts';
import { speaksAbility, UPSTREAM_PROTOCOLS } from './upstream-protocols.ts';

/** A node without it refuses an upstream with several credentials. */
export const CREDENTIALS_ABILITY = 'credentials';
/** Limits the credentials of one upstream. */
export const CREDENTIALS_MAX = 64;
/** Is the id of the credential that the upstream's own row has. */
export const OWN_CREDENTIAL = 0;

/**
 * Names what a node of this release can do and one of an earlier release may not. The control plane uses a thing once every registered node has it.
 * credentials: shares requests among the credentials of an upstream.
 * speaks_<protocol>: serves upstreams of that protocol. auth_<type>: uses a credential of that kind.
 */
export const NODE_ABILITIES = [
  CREDENTIALS_ABILITY,
  ...UPSTREAM_PROTOCOLS.map(speaksAbility),
  ...AUTH_ABILITIES,
] as const;

/** Names the in-memory tables of a worker that administrators may look into. */
export const NODE_TABLES = [
  'models',
  'routes',
  'upstreams',
  'upstream_health',
  'rate_denials',
  'recharge_waits',
  'requests',
] as const;
export type NodeTable = (typeof NODE_TABLES)[number];

/** Writes the number of shards that a node works with, as an ability of its report. */
export function shardsAbility(shards: number): string {
  return `shards=${shards}`;
}

/** Returns undefined where none is named. */
export function shardsOf(abilities: readonly string[]): number | undefined {
  const named = abilities.find((ability) => ability.startsWith('shards='));
  return named === undefined ? undefined : Number(named.slice('shards='.length));
}

/** Writes the seconds by which a node's clock is ahead of its providers' (below 0: behind), as an ability of its report. */
export function clockAbility(aheadMs: number): string {
  return `clock_ahead_s=${Math.round(aheadMs / 1000)}`;
}

/** Returns undefined for a node whose clock agrees with its providers', or that has not compared it. */
export function clockAheadMs(abilities: readonly string[]): number | undefined {
  const named = abilities.find((ability) => ability.startsWith('clock_ahead_s='));
  return named === undefined ? undefined : Number(named.slice('clock_ahead_s='.length)) * 1000;
}

export const NODE_STATES = ['online', 'draining', 'stopped', 'disabled', 'offline'] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** An installation has a few dozen upstreams; of more the longest failing ones are reported. */
export const REPORTED_UPSTREAMS_MAX = 256;
/** Limits the models of one upstream that a report names. */
export const REPORTED_EXCESS_MAX = 16;

/** Describes a credential that is left alone for some accounts or for all. Id 0 is the upstream's own. */
export const restingCredentialSchema = z.strictObject({
  id: z.number().int().nonnegative(),
  /** Names the kind of its last failure. */
  why: z.string().max(32),
  /** Is the time for which all accounts have to wait; 0 where only some have to. */
  open_for_ms: z.number().int().nonnegative(),
  accounts_resting: z.number().int().nonnegative(),
});
export type RestingCredential = z.infer<typeof restingCredentialSchema>;

/** Each worker process of a node reports this to the fleet every heartbeat, and at once after it applied a snapshot. */
export const nodeReportSchema = z.strictObject({
  /** Is the stable name of the node, unique in the fleet. */
  name: z.string().min(1).max(128),
  worker: z.number().int().nonnegative(),
  /** Is new at each process start; it distinguishes a restart from a continuation. */
  instance: z.uuid(),
  /** Address clients can reach directly, as configured; may be null behind a load balancer. */
  url: z.url().nullable(),
  state: z.enum(['online', 'draining', 'stopped', 'disabled']),
  version: z.number().int().nonnegative(),
  checksum: z.string().max(64),
  applied_at: z.number().int().nonnegative(),
  /** Is the reason why the newest published snapshot was refused, or null. */
  refused: z.string().max(500).nullable(),
  started_at: z.number().int(),
  reported_at: z.number().int(),
  in_flight: z.number().int().nonnegative(),
  /** Counts the finals in the journal that PostgreSQL has not acknowledged. */
  unacknowledged: z.number().int().nonnegative(),
  software: z.string().max(64),
  /** Is the lineage of the snapshot's seal. */
  lineage: z.number().int().nonnegative(),
  /** Holds `NODE_ABILITIES` and `READ_FORMATS`, and those of later releases. */
  abilities: z.array(z.string().max(64)).max(64),
  /** Lists upstreams that failed their last requests here, of all accounts that use them: how many in a row, and for how long the node leaves them alone. */
  upstreams: z
    .array(
      z.strictObject({
        id: z.number().int().positive(),
        failures_in_row: z.number().int().nonnegative(),
        open_for_ms: z.number().int().nonnegative(),
        /** Counts the accounts whose own requests fail, so that the upstream is left alone for them only; absent without any. */
        accounts_resting: z.number().int().positive().optional(),
        /** Lists the credentials that are left alone; absent where the upstream has one, or none is. */
        credentials: z.array(restingCredentialSchema).max(CREDENTIALS_MAX).optional(),
      }),
    )
    .max(REPORTED_UPSTREAMS_MAX),
  /** Counts the journal files in the node's DATA_DIR that could not be read whole and wait for a person. */
  journals_set_aside: z.number().int().nonnegative(),
  /** Lists upstreams whose reports were doubted in the last hours, and by how much holds for them are multiplied because they overran their limits. */
  doubted: z
    .array(
      z.strictObject({
        id: z.number().int().positive(),
        doubts: z.number().int().nonnegative(),
        last_doubt: z.string().max(64).nullable(),
        hold_factor: z.number().int().positive(),
        /** Counts the prompt tokens that were reported above their bound and not charged, for each model, the most first. It is absent where there are none. */
        excess: z
          .array(
            z.strictObject({
              model_id: z.number().int().positive(),
              answers: z.number().int().positive(),
              tokens: z.number().int().positive(),
              largest: z.number().int().positive(),
            }),
          )
          .max(REPORTED_EXCESS_MAX)
          .optional(),
      }),
    )
    .max(REPORTED_UPSTREAMS_MAX),
  /** Holds the time that Redis took to answer, and by how much the node's clock is ahead of Redis' (below 0: behind); null before the first answer. */
  redis: z
    .strictObject({ round_trip_ms: z.number().nonnegative(), clock_ahead_ms: z.int() })
    .nullable(),
  /** Is the hex HMAC-SHA256 over every other field (`proveReport`), keyed with SHA-256(credential): it shows the credential without sending it. */
  proof: z.string().max(64),
});
export type NodeReport = z.infer<typeof nodeReportSchema>;

/** Describes the state that the control plane wants of a node. `unknown` means that the node is not registered or was removed, and must not serve. */
export const desiredNodeStateSchema = z.strictObject({
  state: z.enum(['serve', 'stopped', 'disabled', 'unknown']),
  /** Holds the `writableFormats` of the fleet; for nodes that name what they read, and absent while all of them are 1. */
  formats: formatNumbersSchema.optional(),
  /** Holds `credentialMark` of each credential that the control plane accepts of the node; a node whose mark is not among them has a wrong credential. It is absent for a removed node. */
  credentials: z.array(z.string().max(16)).optional(),
});
export type DesiredNodeState = z.infer<typeof desiredNodeStateSchema>;

/** Each process of the control plane reports this every second. */
export const controlPlaneReportSchema = z.object({
  software: z.string().max(64),
  /** Is the highest number of each format that it reads. */
  reads: formatNumbersSchema,
  reported_at: z.number().int(),
});
export type ControlPlaneReport = z.infer<typeof controlPlaneReportSchema>;

/** Names a route. `by` is the node address of the worker. `credential_id` names the only credential of the upstream that the news concerns; absent where it concerns all. */
interface AnnouncedRoute {
  by: string;
  route_id: number;
  credential_id?: number | undefined;
}

/** Describes a rest. `is_providers` is true when its provider has named the time, with `is_rate_limit` as it limits requests. */
interface AnnouncedRest extends AnnouncedRoute {
  rest_ms: number;
  is_providers: boolean;
  is_rate_limit: boolean;
}

/** Is broadcast on the fleet channel; the periodic pull makes up for a missed message. */
export type FleetMessage =
  | { kind: 'snapshot'; version: number }
  | { kind: 'reload'; node: string | null }
  | { kind: 'desired'; node: string }
  /** The live record of an API key was changed: nothing remembered of it holds. */
  | { kind: 'key_changed'; key_hash: string }
  /** A shard that had lost its data is full again, in this epoch: running requests take their holds again. */
  | { kind: 'shard_filled'; shard: string; epoch: string }
  /** The live record of a subscription was changed or credited: requests that wait for tokens ask again. */
  | { kind: 'subscription_changed'; account_id: number; model_id: number }
  /** A worker has seen a route fail for all accounts and leaves it alone for so long. */
  | ({ kind: 'rest' } & AnnouncedRest)
  | ({ kind: 'recovered' } & AnnouncedRoute)
  /** The requests of one account fail on a route, which is left alone for that account. A release that does not know the kind passes it over. */
  | ({ kind: 'account_rest'; account_id: number } & AnnouncedRest)
  | ({ kind: 'account_recovered'; account_id: number } & AnnouncedRoute)
  | {
      kind: 'dump';
      node: string | null;
      request_id: string;
      table: string | null;
      page: number;
      page_size: number;
      /** Selects the rows of the table `requests` of this account alone; absent for those of all accounts. */
      account_id?: number | undefined;
    }
  /** The request with this id is to end, wherever it runs; `mac` is the control plane's over the id, with the purpose `end-request`. */
  | { kind: 'end_request'; rid: string; mac: string };

/** Describes a row of the table `requests`: a request that was admitted and has not ended. */
export const runningRequestSchema = z.object({
  account_id: z.number().int().positive(),
  key_id: z.number().int().positive(),
  model_id: z.number().int().positive(),
  protocol: z.string().max(32),
  is_stream: z.boolean(),
  /** Belongs to the last attempt; null before the first. */
  upstream_id: z.number().int().positive().nullable(),
  started_at: z.number().int(),
  /** Counts output tokens, by the node's own count. */
  tokens: z.number().int().nonnegative(),
  /** Its client has left or it was ended by hand: what it used is read to its end. */
  is_ending: z.boolean(),
});
export type RunningRequest = z.infer<typeof runningRequestSchema>;

/**
 * Describes a worker's answer to `dump`, written to `{fleet}:dump:<request_id>:<name>:<worker>` with a TTL of 30 s. Secrets are redacted by the node.
 * `table` null asks for the list of tables only: `rows` is then empty.
 */
export const nodeDumpSchema = z.strictObject({
  request_id: z.uuid(),
  name: z.string().min(1).max(128),
  worker: z.number().int().nonnegative(),
  /** Lists every in-memory table of the worker with its number of entries and, where it has one, its limit. */
  tables: z
    .array(
      z.strictObject({
        table: z.string().max(64),
        entries: z.number().int().nonnegative(),
        limit: z.number().int().nonnegative().nullable(),
      }),
    )
    .max(64),
  table: z.string().nullable(),
  page: z.number().int().positive(),
  page_size: z.number().int().positive(),
  /** Counts the rows of `table` in all; 0 when the table is null or unknown. */
  total: z.number().int().nonnegative(),
  rows: z.array(z.strictObject({ key: z.string().max(512), value: z.unknown() })).max(1000),
});
export type NodeDump = z.infer<typeof nodeDumpSchema>;
