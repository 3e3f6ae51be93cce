import type { RoutingIndex } from '../snapshot/routing-index.ts';
import type { OpenHold } from '../journal/open-hold.ts';
import type { Admitted } from './admission/admission.ts';
import type { AnswerMeter } from './answers/answer-meter.ts';
import type { Credentials } from './request/authenticate.ts';
import type { ClientRequest } from './request/client-request.ts';
import type { RouteAttempt } from './sending/forward.ts';
import type { Asked } from './request/parse.ts';

/** One model's turn at a request. */
export interface Turn {
  readonly request: ClientRequest;
  readonly asked: Asked;
  readonly admitted: Admitted;
  readonly attempts: RouteAttempt[];
  /** Set when no upstream answered. */
  undelivered: AnswerMeter | null;
  /** Set once its answer is made in the background. */
  run: OpenHold | null;
}

/** What a fallback needs to be admitted. `isLast`: it is one itself. */
export interface Caller {
  readonly credentials: Credentials;
  readonly index: RoutingIndex;
  readonly isLast?: boolean;
}
