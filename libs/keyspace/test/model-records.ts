import { BlockList } from 'node:net';
import type {
  CheckpointReply,
  CheckpointRequest,
  HoldRef,
  LiveKey,
  LiveSubscription,
  RestoreRequest,
} from '../src/index.ts';

export interface ModelHold extends HoldRef {
  state: 'open' | 'reaped' | 'done';
  amount: number;
  used: number;
  charged: number;
  deadline: number;
  generation: number;
  keyId: number;
  subscriptionId: number;
  reapPayload: string;
  /** Is the MAC of its node over `used`. */
  mac: string;
  /** Is by Redis' clock; it is set once the hold is done or reaped. */
  expiresAt: number;
  /** Holds deltas by seq, and the payloads they left with. */
  emitted: Map<number, { delta: number; payload: string }>;
}

/** Holds the MAC of the node over what its hold has used. */
export interface Signed {
  mac?: string;
}

export interface ModelSubscription {
  record: Pick<
    LiveSubscription,
    'id' | 'status' | 'generation' | 'drain' | 'revision' | 'autoRecharge'
  > | null;
  balance: number;
  held: number;
  running: number;
  /** Is null until a credit or a record came. */
  creditSeq: number | null;
  withdrawalId: string | null;
  taken: number;
  /** Sums everything credited and everything that left, for I3. */
  credited: number;
}

export interface ModelEvent {
  outboxId: string;
  rid: string;
  seq: number;
  delta: number;
  payload: string;
  subscription: ModelSubscription;
}

/** Holds a key whose allow-list is kept as its tester wrote it. */
export type ModelKey = Omit<LiveKey, 'allowlist'> & {
  allowlist: readonly { address: string; bits: number; family: 'ipv4' | 'ipv6' }[];
};

export function isListed(key: ModelKey, address: string): boolean {
  if (key.allowlist.length === 0) return true;
  const list = new BlockList();
  for (const entry of key.allowlist) list.addSubnet(entry.address, entry.bits, entry.family);
  return address !== '' && list.check(address, address.includes(':') ? 'ipv6' : 'ipv4');
}

export function isAllowed(allowedModels: string, name: string): boolean {
  if (allowedModels.trim() === '') return true;
  const asExpression = (glob: string): RegExp =>
    new RegExp(`^${glob.split('*').map(escaped).join('.*')}$`, 's');
  return allowedModels
    .split(',')
    .some((glob) => glob.trim() !== '' && asExpression(glob.trim()).test(name));
}

function escaped(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}

export function halfOf(free: number, minTokens: number): number {
  const half = Math.floor(free / 2);
  return minTokens <= half ? half : minTokens + Math.floor((free - minTokens) / 2);
}

/** Returns what is bought: one purchase after the other until the level is above the threshold, and one where the balance alone is below the least. */
export function boughtSoon(
  { record, balance, held }: ModelSubscription,
  leastTokens: number,
): number {
  if (!record?.autoRecharge) return 0;
  const { threshold, amount } = record.autoRecharge;
  let bought = 0;
  while (balance - held + bought <= threshold) bought += amount;
  return bought === 0 && balance < leastTokens ? amount : bought;
}

export function noteUsed(
  hold: ModelHold,
  { usedTokens, node, mac = '' }: { usedTokens: number; node: string } & Signed,
): void {
  if (usedTokens < hold.used) return;
  hold.used = usedTokens;
  hold.mac = mac;
  hold.reapPayload = JSON.stringify({ ...JSON.parse(hold.reapPayload), node });
}

export function withMac(payload: string, mac: string): string {
  return mac === '' ? payload : `${payload.slice(0, -1)},"mac":"${mac}"}`;
}

export function reapPayload(
  of: Pick<
    RestoreRequest,
    'accountId' | 'keyId' | 'subscriptionId' | 'modelId' | 'priceVersionId' | 'node'
  >,
): string {
  return JSON.stringify({
    kind: 'reap',
    account_id: of.accountId,
    key_id: of.keyId,
    subscription_id: of.subscriptionId,
    model_id: of.modelId,
    price_version_id: of.priceVersionId,
    node: of.node,
  });
}

export function withdrawPayload(
  withdrawalId: string,
  subscriptionId: number,
  { accountId, modelId }: { accountId: number; modelId: number },
): string {
  return JSON.stringify({
    kind: 'withdraw',
    account_id: accountId,
    subscription_id: subscriptionId,
    model_id: modelId,
    withdrawal_id: withdrawalId,
  });
}

/** More comes soon. */
export function whileRestoring(
  hold: ModelHold,
  { extendTokens }: CheckpointRequest,
): CheckpointReply {
  return {
    kind: 'ok',
    heldTokens: hold.amount,
    extendedTokens: 0,
    isRechargeDue: extendTokens > 0,
  };
}

const DONE_TTL_MS = 15 * 60_000;
export const REAPED_TTL_MS = 24 * 60 * 60_000;
/** A request that released something into a withdrawal (event 2) is remembered for a day. */
export const markerTtlMs = (emitted: ReadonlyMap<number, unknown>): number =>
  emitted.has(2) ? REAPED_TTL_MS : DONE_TTL_MS;
/** Younger ones without a marker were never settled. */
export const SETTLED_MARKER_MS = 14 * 60_000;
