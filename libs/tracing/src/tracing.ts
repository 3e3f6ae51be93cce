import type { TraceContext } from '@tollgate/contracts';
import type { FinishedSpan } from './finished-span.ts';

/** Receives finished spans. */
export interface Tracing {
  /** Is true when a request is traced although nothing has failed; it is decided once, where the request enters. */
  samples(caller: TraceContext | null): boolean;
  /** Queues a span for export. It never throws; beyond the queue's room spans are dropped. */
  record(span: FinishedSpan): void;
  /** Sends what is queued, for a few seconds at most. */
  close(): Promise<void>;
}

/** Names the process in each of its spans. */
export interface TracedService {
  readonly name: string;
  readonly version: string;
  /** Distinguishes several processes of the same name. */
  readonly instance: string;
}
