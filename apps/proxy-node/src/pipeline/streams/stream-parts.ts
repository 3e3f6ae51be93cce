import type { StreamReader } from '@tollgate/protocols';
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { StreamCount } from './stream-count.ts';
import type { StreamOutlet } from './stream-outlet.ts';

/** Holds the parts that read, count and write a stream. */
export interface StreamParts {
  // Reader and count belong to one attempt; the next attempt gets others.
  reader: StreamReader | null;
  count: StreamCount;
  readonly outlet: StreamOutlet;
}

/** Carries the data of an event to the actions that follow from it. */
export interface Load {
  readonly bytes: Uint8Array;
  /** Is the upstream's failure, when the event is one. */
  readonly failure?: UpstreamFailure;
}
