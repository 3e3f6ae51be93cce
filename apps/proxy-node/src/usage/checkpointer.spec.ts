import { setTimeout as delay } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import type { CheckpointReply, CheckpointRequest } from '@tollgate/keyspace';
import { pino } from 'pino';
import { eventually } from '../../test/usage/downstream.ts';
import { PRICE } from '../../test/usage/metered-redis.ts';
import type { OpenHold } from './books.ts';
import { Checkpointer } from './checkpointer.ts';

const HOLD: OpenHold = { rid: 'r', accountId: 1, keyHash: 'k', keyId: 1, modelId: 1, subscriptionId: 1, epoch: 'e', price: PRICE, grantedTokens: 1_000, sliceTokens: 500, boundTokens: 9_000, isStream: true, startedAtMs: 0, protocol: 'chat' };

test('a stream that begins to wait while its lease is being renewed gets its slice all the same', async () => {
  const asked: { extendTokens: number; answer: (reply: CheckpointReply) => void }[] = [];
  const checkpoint = ({ extendTokens }: CheckpointRequest): Promise<CheckpointReply> => new Promise((answer) => void asked.push({ extendTokens, answer }));
  let now = 0;
  const checkpointer = new Checkpointer({ metering: { checkpoint }, log: pino({ level: 'silent' }), now: () => now, random: () => 0, leaseMs: 60_000, onCounted: () => undefined });
  try {
    const kept = checkpointer.keep(HOLD);
    now = 5_000;
    await eventually('the lease is being renewed', () => asked.length === 1);
    const grown = new Promise<void>((resolve) => kept.grow(resolve));
    await delay(50);
    expect(asked.map(({ extendTokens }) => extendTokens)).toEqual([0]);
    asked[0]?.answer({ kind: 'ok', heldTokens: 1_000, extendedTokens: 0 });
    await eventually('the slice is asked for', () => asked.length === 2);
    expect(asked[1]?.extendTokens).toBe(500);
    asked[1]?.answer({ kind: 'ok', heldTokens: 1_500, extendedTokens: 500 });
    await grown;
  } finally {
    checkpointer.close();
  }
});
