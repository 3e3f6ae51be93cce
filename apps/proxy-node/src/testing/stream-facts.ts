import type { StreamFacts } from '../pipeline/streams/stream-state.ts';

export interface Facts {
  state: 'running' | 'finished' | 'failed';
  hasContent: boolean;
  hasFinish: boolean;
  backgroundId: string | null;
  isCommitted: boolean;
  isBlocked: boolean;
  isDrained: boolean;
  isBeyondLimit?: boolean;
}

export function factsOf({
  isCommitted,
  isBlocked,
  isDrained,
  isBeyondLimit = false,
  ...reader
}: Facts): StreamFacts {
  return { reader, outlet: { isCommitted, isBlocked }, count: { isDrained, isBeyondLimit } };
}

export const STAYS = { kind: 'client_left', isSent: true, stopsBillingOnClose: false } as const;

export const CLOSES = { kind: 'client_left', isSent: true, stopsBillingOnClose: true } as const;

export const READ = { kind: 'read' } as const;

export const BROKE = { kind: 'broke' } as const;
