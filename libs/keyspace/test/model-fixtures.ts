import { hashOf, MODEL_ID, OTHER_MODEL_ID, type Tenant } from './world.ts';
import { NO_LIMITS, type SubscriptionRef } from '../src/index.ts';
import type { ModelKey } from './model-records.ts';

/** The indexes of model-commands.ts refer to these values. */
export const LIMITS = [
  { ...NO_LIMITS, rpm: 0, rph: 0, rpd: 0 },
  { ...NO_LIMITS, rpm: 3, rph: 8, rpd: 20 },
  { ...NO_LIMITS, rpm: 5, rph: 0, rpd: 12 },
  { ...NO_LIMITS, rpm: 0, rph: 4, rpd: 0 },
  { ...NO_LIMITS, rpm: 2, rph: 0, rpd: 0 },
];
export const MODELS = ['', '*', 'gpt-4', 'gpt-*', ' claude-3 , gpt-4 ', '*-3', 'gpt-4,*x*y*'];
export const MODEL_NAMES = ['gpt-4', 'claude-3'];
export const ADDRESSES = ['', '10.1.2.3', '11.0.0.1', '2001:db8::7', '2001:db9::1'];
export const ALLOWLISTS: ModelKey['allowlist'][] = [
  [],
  [],
  [],
  [{ address: '10.0.0.0', bits: 8, family: 'ipv4' }],
  [
    { address: '11.0.0.1', bits: 32, family: 'ipv4' },
    { address: '2001:db8::', bits: 31, family: 'ipv6' },
  ],
];

export type ModelSubscriptionRef = SubscriptionRef & { subscriptionId: number };

/** Returns two subscriptions of one account, and one of another in the same shard. */
export function subscriptionsOf({
  accountId: a,
  otherAccountId: b,
}: Tenant): ModelSubscriptionRef[] {
  return [
    { accountId: a, modelId: MODEL_ID, subscriptionId: 7 },
    { accountId: a, modelId: OTHER_MODEL_ID, subscriptionId: 8 },
    { accountId: b, modelId: MODEL_ID, subscriptionId: 9 },
  ];
}

/** Returns two keys of one account, and one of the other. */
export function keysOf({
  accountId: a,
  otherAccountId: b,
}: Tenant): { accountId: number; keyHash: string; id: number }[] {
  return [a, a, b].map((accountId, index) => ({
    accountId,
    keyHash: hashOf(accountId * 10 + index),
    id: 20 + index,
  }));
}
