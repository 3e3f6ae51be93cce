import type { StreamReader } from '@tollgate/protocols';
import type { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { StreamCount } from './stream-count.ts';
import type { StreamOutlet } from './stream-outlet.ts';

/** What reads, counts and writes a stream. */
export interface StreamParts {
  // Of this attempt.
  reader: StreamReader | null;
  count: StreamCount;
  readonly outlet: StreamOutlet;
}

/** What an event brings for the actions that follow from it. */
export interface Load {
  readonly bytes: Uint8Array;
  /** Of the upstream, where the event is one of its failures. */
  readonly failure?: UpstreamFailure;
}
