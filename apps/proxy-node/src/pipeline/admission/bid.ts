import type { ParsedApiKey } from '@tollgate/contracts';
import type { AdmitReply, WindowState } from '@tollgate/keyspace';
import type { HoldPlan, HoldRequest } from '@tollgate/metering';
import type { OpenHold } from '../../journal/open-hold.ts';
import type { Admission } from './admission.ts';
import { isKeyDenied } from './admit-refusal.ts';

export type Keys = readonly ParsedApiKey[];
type Granted = Pick<
  Extract<AdmitReply, { kind: 'admitted' | 'duplicate' }>,
  'keyId' | 'subscriptionId' | 'generation' | 'grantedTokens' | 'epoch' | 'claims'
> & { readonly outputTokensMax?: number };
export interface Trial {
  key: ParsedApiKey;
  /** Is null when Redis did not answer. */
  reply: AdmitReply | null;
}

/** Holds the arguments of the call to Redis. */
export interface Bid {
  readonly request: HoldRequest;
  readonly plan: HoldPlan;
}

export interface Opening extends Bid {
  readonly granted: Granted;
  readonly windows: readonly WindowState[];
}

export function isDenied({ reply }: Trial): boolean {
  return reply !== null && isKeyDenied(reply);
}

/** Returns the hold that Redis has granted. */
export function holdOf(
  { accountId, hash: keyHash }: ParsedApiKey,
  {
    rid,
    receivedAtMs,
    ask,
    model,
    price,
  }: Pick<Admission, 'rid' | 'receivedAtMs' | 'ask' | 'model' | 'price'>,
  { plan, granted }: Pick<Opening, 'plan' | 'granted'>,
): OpenHold {
  const { keyId, subscriptionId, generation, grantedTokens, epoch, claims } = granted;
  return {
    rid,
    accountId,
    keyHash,
    keyId,
    modelId: model.id,
    subscriptionId,
    generation,
    epoch,
    ...(claims !== '' && { claims }),
    price,
    grantedTokens,
    sliceTokens: plan.sliceTokens,
    boundTokens: plan.boundTokens,
    ...(price.tiers && { promptTokens: plan.coveredPromptTokens }),
    isStream: ask.isStream,
    startedAtMs: receivedAtMs,
    protocol: ask.protocol,
  };
}
