import type { UsageFinal } from '@tollgate/contracts';
import type { Logger } from 'pino';
import type { BodyQuota } from '../http/body-quota.ts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import type { RefusalLog } from '../observe/refusal-log.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import type { StoredReach } from '../upstream/stored-reach.ts';
import type { Ticker } from '../upstream/ticker.ts';
import type { UpstreamTrust } from '../upstream/upstream-trust.ts';
import type { AdoptedRun, HoldHandle } from '../usage/usage-recorder.ts';
import type { Admitter } from './admission/admit.ts';
import type { DrainLimits } from './answers/drain.ts';
import type { KeptEvents } from './answers/kept-events.ts';
import type { Failover } from './failover.ts';
import type { Gate } from './request/gate.ts';
import type { Asked } from './request/parse.ts';
import type { ReasoningRates } from './answers/reasoning-rates.ts';

export interface PipelineLimits {
  bodyBytesMax: number;
  keepAliveMs: number;
  drain: DrainLimits;
}

interface EndedRequest {
  readonly asked: Asked;
  readonly excessTokens: number;
  /** Is null where no upstream answered. */
  readonly answeredBy: Candidate | null;
}

export interface PipelineParts {
  gate: Gate;
  bodies: BodyQuota;
  keptEvents: KeptEvents;
  admitter: Admitter;
  failover: Failover;
  trust: UpstreamTrust;
  ticker: Ticker;
  reasoning: ReasoningRates;
  log: Logger;
  node: string;
  limits: PipelineLimits;
  /** Is called for every request that was admitted and has ended. */
  onFinal: (rid: string, final: UsageFinal, of: EndedRequest) => void;
  refusals: RefusalLog;
  /** `BackgroundRuns` fits. */
  background: {
    begin(handle: HoldHandle, seen: Omit<BackgroundRun, 'untilMs'>): OpenHold;
    take(run: AdoptedRun): void;
    over(hold: OpenHold): void;
  };
  newRid: () => string;
  reach: Pick<StoredReach, 'of' | 'used'>;
}
