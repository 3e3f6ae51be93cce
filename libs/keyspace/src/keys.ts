import { SCOPE_VALUE } from '@tollgate/contracts';

/** Writes every Redis key of Tollgate (docs/internals.md). Parts are checked, so no two different things can ever share a key: an integer is an integer, a hash is 64 hex digits, a rid is a UUIDv7, a name has no colon or brace. */
const SCOPE_KIND = /^[su]$/;
const SHARD = /^s\d{2,5}$/;
const HASH = /^[0-9a-f]{64}$/;
const UUID_V7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-[1-8][0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;
const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,119}$/;
const NODE_ADDRESS = /^([A-Za-z0-9][A-Za-z0-9._-]{0,119})(?::(\d{1,4}))?$/;

export class InvalidKeyPart extends Error {}

/** Is BullMQ's prefix: its keys share one slot of their own. */
export const BULL_PREFIX = '{bull}';

/** Returns the name of the shard that holds everything of an account, such as `s03`. It is fixed for the life of an installation, as `shards` is. */
export function shardOf(accountId: number, shards: number): string {
  return shardName(identifier(accountId, 'account id') % shards);
}

/** Returns all shards of an installation, in order. */
export function shardNames(shards: number): string[] {
  return Array.from({ length: shards }, (_, index) => shardName(index));
}

const names = new Map<number, string>();

function shardName(index: number): string {
  let name = names.get(index);
  if (name === undefined) names.set(index, (name = `s${String(index).padStart(2, '0')}`));
  return name;
}

export const keys = {
  epoch: (shard: string): string => `${tag(shard)}:epoch`,
  key: (shard: string, hash: string): string => `${tag(shard)}:key:${keyHash(hash)}`,
  account: (shard: string, accountId: number): string =>
    `${tag(shard)}:acct:${identifier(accountId, 'account id')}`,
  budgets: (shard: string, accountId: number): string =>
    `${budgetsPrefix(shard)}${identifier(accountId, 'account id')}`,
  budgetsPrefix,
  /** Counts the budgets of a session or an end user: see `SCOPE_VALUE` of libs/contracts. */
  budgetsOfValue: (shard: string, accountId: number, value: string): string =>
    `${keys.budgets(shard, accountId)}:${matching(value, SCOPE_VALUE, 'value of a budget')}`,
  /** Lists the values of one kind, by its letter. */
  budgetValues: (shard: string, accountId: number, kind: string): string =>
    `${keys.budgets(shard, accountId)}:${matching(kind, SCOPE_KIND, 'kind of values')}`,
  subscription: (shard: string, accountId: number, modelId: number): string =>
    `${subscriptionPrefix(shard)}${subscriptionName(accountId, modelId)}`,
  subscriptionPrefix,
  subscriptionName,
  subscribedModels: (shard: string, accountId: number): string =>
    `${tag(shard)}:subs:${identifier(accountId, 'account id')}`,
  hold: (shard: string, rid: string): string => `${holdPrefix(shard)}${requestId(rid)}`,
  holdPrefix,
  holds: (shard: string): string => `${tag(shard)}:holds`,
  reaped: (shard: string): string => `${tag(shard)}:reaped`,
  windows: (shard: string, hash: string): string => `${tag(shard)}:rl:${keyHash(hash)}`,
  accountWindows: (shard: string, accountId: number): string =>
    `${tag(shard)}:rla:${identifier(accountId, 'account id')}`,
  running: (shard: string, hash: string): string => `${tag(shard)}:run:${keyHash(hash)}`,
  inquiries: (shard: string, hash: string): string => `${tag(shard)}:rlq:${keyHash(hash)}`,
  background: (shard: string, responseHash: string): string =>
    `${tag(shard)}:bg:${keyHash(responseHash)}`,
  conversation: (shard: string, conversationHash: string): string =>
    `${tag(shard)}:conv:${keyHash(conversationHash)}`,
  latestTime: (shard: string): string => `${tag(shard)}:time`,
  outbox: (shard: string): string => `${tag(shard)}:outbox`,
  relay: (shard: string): string => `${tag(shard)}:relay`,
  acknowledgements: (address: string): string => `{ack:${nodeAddressOf(address)}}`,
  currentSnapshot: '{fleet}:snapshot:current',
  snapshot: (version: number): string =>
    `${keys.snapshotPrefix}${identifier(version, 'snapshot version')}`,
  snapshotPrefix: '{fleet}:snapshot:',
  snapshotSeal: (version: number): string => `${keys.snapshot(version)}${keys.snapshotSealSuffix}`,
  snapshotSealSuffix: ':seal',
  nodes: '{fleet}:nodes',
  desired: '{fleet}:desired',
  controlPlanes: '{fleet}:control-planes',
  dump: (dumpRequestId: string, address: string): string =>
    `{fleet}:dump:${matching(dumpRequestId, UUID, 'request id')}:${nodeAddressOf(address)}`,
  incidents: '{fleet}:incidents',
  fleetChannel: '{fleet}',
} as const;

/** Writes `<name>:<worker>`: one worker process of a node. Holds, payloads and reports have it as `node`, so that acknowledgements find their journal. */
export function nodeAddress(name: string, worker: number): string {
  return `${matching(name, NODE_NAME, 'node name')}:${natural(worker, 'worker')}`;
}

/** A bare name means worker 0. Throws for anything else. */
export function parseNodeAddress(address: string): { name: string; worker: number } {
  const [, name, worker = '0'] = NODE_ADDRESS.exec(address) ?? [];
  if (name === undefined)
    throw new InvalidKeyPart(`not a node address: ${JSON.stringify(address)}`);
  return { name, worker: Number(worker) };
}

export function requestId(rid: string): string {
  return matching(rid, UUID_V7, 'rid (a UUIDv7: its time names the partition)');
}

export function isRequestId(text: string): boolean {
  return UUID_V7.test(text);
}

/** Returns a positive integer id. */
export function identifier(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value < 1)
    throw new InvalidKeyPart(`${what} must be a positive integer, not ${value}`);
  return value;
}

/** Returns an integer >= 0; throws for anything else. */
export function natural(value: number, what: string): number {
  if (!Number.isSafeInteger(value) || value < 0)
    throw new InvalidKeyPart(`${what} must be an integer >= 0, not ${value}`);
  return value;
}

function subscriptionPrefix(shard: string): string {
  return `${tag(shard)}:sub:`;
}

function budgetsPrefix(shard: string): string {
  return `${tag(shard)}:bud:`;
}

function subscriptionName(accountId: number, modelId: number): string {
  return `${identifier(accountId, 'account id')}:${identifier(modelId, 'model id')}`;
}

function holdPrefix(shard: string): string {
  return `${tag(shard)}:hold:`;
}

/** Caches names by shard, because a request names its shard in twenty keys. */
const tags = new Map<string, string>();

function tag(shard: string): string {
  let text = tags.get(shard);
  if (text === undefined) tags.set(shard, (text = `{${matching(shard, SHARD, 'shard')}}`));
  return text;
}

function keyHash(hash: string): string {
  return matching(hash, HASH, 'key hash');
}

function nodeAddressOf(address: string): string {
  const { name, worker } = parseNodeAddress(address);
  return `${name}:${worker}`;
}

function matching(value: string, pattern: RegExp, what: string): string {
  if (!pattern.test(value)) throw new InvalidKeyPart(`not a ${what}: ${JSON.stringify(value)}`);
  return value;
}
