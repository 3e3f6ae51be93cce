import type { UsageFinal } from '@tollgate/contracts';

/** What the pipeline knows of metering: open a hold, count, settle. Implemented by the journal, the settler and the checkpointer of this folder. */
export interface Books {
  /** Journals the admission; from here on every way out must settle. */
  open(hold: OpenHold): HoldHandle;
  /** Why new requests must be refused now (Redis away, journal unwritable, backlog over its limit), or null. */
  refusal(): 'metering_unavailable' | 'backlog_full' | null;
}

export interface OpenHold {
  rid: string;
  accountId: number;
  keyHash: string;
  keyId: number;
  modelId: number;
  subscriptionId: number;
  priceVersionId: number;
  grantedTokens: number;
  isStream: boolean;
  startedAtMs: number;
  protocol: UsageFinal['protocol'];
}

export interface HoldHandle {
  /** Charged tokens counted so far. Cheap: called per chunk; journalled every 100 ms, checkpointed every 5 s or before the hold runs out. */
  count(chargedTokens: number): void;
  /** Called once, when a checkpoint says that the stream must end. */
  onStop(listener: (reason: 'balance_exhausted' | 'access_revoked') => void): void;
  /** Journals the final, then settles in the background with retries. The first call wins; later ones do nothing. */
  settle(final: UsageFinal): void;
}
