import type { Outcome } from '@tollgate/contracts';
import type { StreamReader } from '@tollgate/protocols';
import type { StopReason } from '../answers/stop-reason.ts';
import type { StreamCount } from './stream-count.ts';
import type { StreamOutlet } from './stream-outlet.ts';

/**
 * Holds the state of a stream. One object serves the whole stream, and `streamStep` alone changes it, in place:
 * a chunk allocates nothing.
 */
export interface StreamState {
  /** Its upstream may continue making the answer when this stream ends. */
  readonly isBackground: boolean;
  /** Its end is decided: whatever comes later changes nothing. */
  readonly isOver: boolean;
  /** An attempt is on its way to an upstream. */
  readonly isAsked: boolean;
  /** The upstream of this attempt has answered. */
  readonly hasAnswer: boolean;
  /** This attempt has brought content. */
  readonly isContentSeen: boolean;
  /** The upstream has named an answer that it makes in the background. */
  readonly hasBegun: boolean;
  readonly isCounting: boolean;
  /** The client has left and the answer is read on for its usage. */
  readonly isDraining: boolean;
  /** The hold covers no more until it has grown. */
  readonly isWaiting: boolean;
  readonly stopReason: StopReason | null;
}

/** Holds the facts that the step reads of the stream's parts at this moment. */
export interface StreamFacts {
  /** Is the reader of this attempt; null before there is one. */
  readonly reader: Pick<StreamReader, 'state' | 'hasContent' | 'hasFinish' | 'backgroundId'> | null;
  readonly outlet: Pick<StreamOutlet, 'isCommitted' | 'isBlocked'>;
  readonly count: Pick<StreamCount, 'isDrained' | 'isBeyondLimit'>;
}

/** Names the ways in which an upstream fails in the middle of an answer: it says so, or it breaks off. */
export type CutBy = 'statement' | 'break';

export type StreamEvent =
  /** Begins a new attempt. */
  | { kind: 'begun' }
  | { kind: 'asked' }
  | { kind: 'answered' }
  /** The reader has read a chunk, or what the hold covers of it. */
  | { kind: 'read' }
  /** The chunk is dealt with; `hasRest`: the hold does not cover all of it. */
  | { kind: 'taken'; hasRest: boolean }
  /** The reader has given its last bytes. */
  | { kind: 'flushed' }
  /** The bytes that are kept back from the client have become too many for a preamble. */
  | { kind: 'preamble_full' }
  | { kind: 'upstream_ended' }
  /** The upstream ended the connection, and that was not the end of the answer. */
  | { kind: 'ended_early' }
  | { kind: 'broke' }
  /** The answer was cut; `isContinued`: another upstream may continue it. */
  | { kind: 'cut'; by: CutBy; isContinued: boolean }
  | { kind: 'hold_grown' }
  | { kind: 'client_reads' }
  | { kind: 'client_left'; isSent: boolean; stopsBillingOnClose: boolean }
  | { kind: 'drain_over' }
  | { kind: 'stop'; reason: StopReason }
  | { kind: 'closed' };

/** Names the ways in which the client's stream is closed. */
export type Closing =
  /** The upstream ended the stream. */
  | 'finished'
  /** Ends with the error that the upstream stated. */
  | 'stated'
  /** Ends with an error of the gateway's: the upstream broke off. */
  | 'broken'
  /** The stream ends like one that met its limit. */
  | 'finished_early'
  /** Ends with an error of the gateway's: it was stopped. */
  | 'stopped'
  /** The connection is cut: the answer itself continues. */
  | 'severed'
  /** The request has no client any more. */
  | 'left';

export type StreamAction =
  | { kind: 'count' }
  | { kind: 'note_content' }
  | { kind: 'note_background' }
  /** Keeps the bytes until there is content. */
  | { kind: 'keep_back' }
  /** Sends the bytes that were kept back. */
  | { kind: 'commit' }
  /** Sends the bytes, after what was kept back. */
  | { kind: 'write' }
  | { kind: 'flush_reader' }
  /** The attempt fails and the client knows nothing of it. */
  | { kind: 'reject'; evidence: 'stated' | 'contentless' }
  /** Asks whether another upstream may continue the answer; the event `cut` follows. */
  | { kind: 'try_to_cut'; by: CutBy }
  | { kind: 'hand_over' }
  | { kind: 'wait_for_hold' }
  | { kind: 'resume' }
  | { kind: 'drain' }
  | { kind: 'abort_attempt'; why: string }
  | StreamEnd;

export interface StreamEnd {
  kind: 'end';
  outcome: Outcome;
  closing: Closing;
}

export function startStream({ isBackground }: Pick<StreamState, 'isBackground'>): StreamState {
  return {
    isBackground,
    isOver: false,
    isAsked: false,
    hasAnswer: false,
    isContentSeen: false,
    hasBegun: false,
    isCounting: false,
    isDraining: false,
    isWaiting: false,
    stopReason: null,
  };
}
