import { finalLine } from '../../src/journal/journal-line.ts';
import type { OpenHold } from '../../src/journal/open-hold.ts';
import { finalOf, PRICE, usageOf, uuidV7 } from './metered-redis.ts';

/** Makes the hold of a request that has just been admitted; Redis does not know it. */
export function openHold(change: Partial<OpenHold> = {}): OpenHold {
  return {
    rid: uuidV7(Date.now()),
    accountId: 1,
    keyHash: 'a'.repeat(64),
    keyId: 2,
    modelId: 3,
    subscriptionId: 4,
    generation: 1,
    epoch: 'e',
    price: PRICE,
    grantedTokens: 10,
    sliceTokens: 5,
    boundTokens: 100,
    isStream: true,
    startedAtMs: Date.now(),
    protocol: 'chat',
    ...change,
  };
}

/** Returns the journal's line of a final of that request. */
export function finalText(hold: OpenHold): string {
  const { rid, epoch } = hold;
  const payload = JSON.stringify(finalOf(hold, usageOf(1, 2)));
  return finalLine({ atMs: Date.now(), rid, epoch, payload });
}
