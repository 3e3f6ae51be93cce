import { randomBytes } from 'node:crypto';
import { expect, test } from '@jest/globals';
import { createIdSealer, type StoredPlace } from '@tollgate/contracts';
import type { ConversationUse } from '@tollgate/keyspace';
import type { RoutingIndex } from '../snapshot/routing-index.ts';
import { StoredReach } from './stored-reach.ts';

const ACCOUNT = 7;
const CREATOR = 70;
const UPSTREAM = 3;
const sealer = createIdSealer({ current: randomBytes(32).toString('base64url') });
const index = {
  modelById: (id: number) => ({ name: `model-${id}` }),
} as unknown as RoutingIndex;

/** Returns true if a key reaches the place while Redis lists so much of it. */
async function isReached(
  place: Partial<StoredPlace>,
  { keyId = 99, allowedModels = '', use = { modelIds: [], isComplete: false } as ConversationUse },
): Promise<boolean> {
  const uses = {
    begin: () => Promise.resolve(),
    use: () => Promise.resolve(),
    read: () => Promise.resolve(use),
  };
  const whole = { upstreamId: UPSTREAM, modelIds: [], keyId: null, id: 'conv_1', ...place };
  const id = sealer.seal(ACCOUNT, whole);
  const caller = { accountId: ACCOUNT, keyId, allowedModels };
  const { open } = await new StoredReach({ sealer, uses }).of(caller, [id], index);
  return open(id) !== null;
}

test('a conversation whose list of models Redis has lost is left to its creator', async () => {
  const use = { modelIds: [1], isComplete: false };
  expect(await isReached({ keyId: CREATOR }, { use })).toBe(false);
  expect(await isReached({ keyId: CREATOR }, { use, keyId: CREATOR })).toBe(true);
  expect(await isReached({ modelIds: [1] }, { use })).toBe(false);
  const known = { modelIds: [1], isComplete: true };
  expect(await isReached({ keyId: CREATOR }, { use: known })).toBe(true);
  expect(await isReached({ modelIds: [1] }, { use: known })).toBe(true);
});

test('each model that made a thing, or was used in a conversation, must be allowed (S24a)', async () => {
  const second = { allowedModels: 'model-2' };
  const both = { allowedModels: 'model-1,model-2' };
  for (const id of ['resp_1', 'msg_1', 'cntr_1']) {
    expect(await isReached({ id, modelIds: [1] }, second)).toBe(false);
    expect(await isReached({ id, modelIds: [1, 2] }, second)).toBe(false);
    expect(await isReached({ id, modelIds: [1, 2] }, both)).toBe(true);
  }
  const use = { modelIds: [1, 2], isComplete: true };
  expect(await isReached({ keyId: CREATOR }, { ...second, use, keyId: CREATOR })).toBe(false);
  expect(await isReached({ keyId: CREATOR }, { ...both, use })).toBe(true);
});

test('an item that a key put into a conversation is reached by that key', async () => {
  expect(await isReached({ id: 'msg_1', keyId: CREATOR }, {})).toBe(false);
  expect(await isReached({ id: 'msg_1', keyId: CREATOR }, { keyId: CREATOR })).toBe(true);
});
