import type { Outcome } from '@tollgate/contracts';
import { failedOutcome } from './stream-ending.ts';
import { outcomeOfStop, type StopReason } from '../answers/stop-reason.ts';
import type {
  Closing,
  CutBy,
  StreamAction,
  StreamEvent,
  StreamFacts,
  StreamState,
} from './stream-state.ts';

type Actions = readonly StreamAction[];
type Fields = { -readonly [Name in keyof StreamState]: StreamState[Name] };
type Reader = NonNullable<StreamFacts['reader']>;

// The possible actions on a chunk are made once.
const NOTHING: Actions = [];
const WRITE: Actions = [{ kind: 'write' }];
const KEEP_BACK: Actions = [{ kind: 'keep_back' }];
const RESUME: Actions = [{ kind: 'resume' }];
const COUNT: Actions = [{ kind: 'count' }];

/** Decides what becomes of a stream; the actions are the caller's to do, in their order. It is pure but for `state`, which it changes. */
export function streamStep(state: StreamState, event: StreamEvent, facts: StreamFacts): Actions {
  const own: Fields = state;
  switch (event.kind) {
    // The case `read` is first, because it comes with each chunk.
    case 'read':
      return own.isOver || !facts.reader ? NOTHING : read(own, facts.reader, facts);
    case 'begun':
      own.isContentSeen = false;
      return NOTHING;
    case 'asked':
      own.isAsked = true;
      return NOTHING;
    case 'answered':
      own.hasAnswer = true;
      return startCounting(own);
    case 'hold_grown':
      own.isWaiting = false;
      return readOn(own, facts);
    case 'client_reads':
      return readOn(own, facts);
    case 'stop':
      own.stopReason = event.reason;
      return own.isOver || !facts.reader ? NOTHING : stop(own, event.reason);
    case 'closed':
      own.isOver = true;
      return NOTHING;
    default:
      return own.isOver ? NOTHING : stepOfRunning(own, event, facts);
  }
}

type RunningEvent = Exclude<
  StreamEvent,
  {
    kind:
      | 'read'
      | 'begun'
      | 'asked'
      | 'answered'
      | 'hold_grown'
      | 'client_reads'
      | 'stop'
      | 'closed';
  }
>;

function stepOfRunning(state: Fields, event: RunningEvent, facts: StreamFacts): Actions {
  if (event.kind === 'client_left') return clientLeft(state, event);
  if (event.kind === 'drain_over') return leave(state);
  const { reader } = facts;
  if (!reader) return NOTHING;
  switch (event.kind) {
    case 'taken':
      return taken(state, facts, event.hasRest);
    case 'flushed':
      return flushed(state, reader, facts);
    case 'preamble_full':
      return WRITE;
    case 'upstream_ended':
      return !state.hasBegun || reader.hasFinish ? [{ kind: 'flush_reader' }] : NOTHING;
    case 'ended_early':
      return state.hasAnswer ? broke(state, reader, facts) : NOTHING;
    case 'broke':
      return broke(state, reader, facts);
    case 'cut':
      return event.isContinued ? handOver(state) : endOfCut(state, reader, event.by);
    default:
      return event satisfies never;
  }
}

function read(state: Fields, reader: Reader, facts: StreamFacts): Actions {
  if (state.isContentSeen || !reader.hasContent) return pass(state, reader, facts);
  state.isContentSeen = true;
  return [{ kind: 'note_content' }, ...pass(state, reader, facts)];
}

/** Passes bytes on to the client or into the preamble, or returns a failure while the client has received nothing. */
function pass(state: Fields, reader: Reader, facts: StreamFacts): Actions {
  if (!state.isBackground || reader.backgroundId == null || state.hasBegun || !state.hasAnswer)
    return passed(state, reader, facts);
  // Its answer continues without this stream, and without this client: no other upstream is asked for it.
  state.hasBegun = true;
  return [{ kind: 'note_background' }, ...passed(state, reader, facts)];
}

function flushed(state: Fields, reader: Reader, facts: StreamFacts): Actions {
  const { hasBegun: hadBegun } = state;
  const actions = pass(state, reader, facts);
  if (hadBegun || !state.hasBegun || reader.state !== 'running') return actions;
  // The answer comes in one piece, which says that it is made in the background: nothing more is streamed.
  return [{ kind: 'note_background' }, { kind: 'commit' }, end(state, 'completed', 'finished')];
}

function passed(state: Fields, reader: Reader, facts: StreamFacts): Actions {
  switch (reader.state) {
    case 'running':
      // Its upstream ignores the limit it was given: the client sees an answer that met its limit.
      if (facts.count.isBeyondLimit) return [...WRITE, end(state, 'completed', 'finished_early')];
      return state.hasBegun || reader.hasContent ? WRITE : KEEP_BACK;
    case 'failed':
      if (!isSpokenFor(state, reader, facts)) return reject(state, 'stated');
      return cut(state, reader, 'statement');
    case 'finished':
      return [{ kind: 'commit' }, end(state, 'completed', 'finished')];
    default:
      return reader.state satisfies never;
  }
}

function broke(state: Fields, reader: Reader, facts: StreamFacts): Actions {
  if (reader.hasFinish && reader.state === 'running') return [{ kind: 'flush_reader' }];
  if (!isSpokenFor(state, reader, facts)) return reject(state, 'contentless');
  return cut(state, reader, 'break');
}

/** The client has something of an answer, or its upstream continues making it: no other upstream is asked. */
function isSpokenFor(
  { hasBegun }: StreamState,
  { hasContent }: Reader,
  { outlet }: StreamFacts,
): boolean {
  return hasBegun || hasContent || outlet.isCommitted;
}

function reject(state: Fields, evidence: 'stated' | 'contentless'): Actions {
  state.hasAnswer = false;
  return [{ kind: 'reject', evidence }];
}

function cut(state: Fields, reader: Reader, by: CutBy): Actions {
  return state.stopReason ? endOfCut(state, reader, by) : [{ kind: 'try_to_cut', by }];
}

function handOver(state: Fields): Actions {
  state.hasAnswer = false;
  return [{ kind: 'hand_over' }];
}

/** Ends a cut answer that no other upstream continues. */
function endOfCut(state: Fields, reader: Reader, by: CutBy): Actions {
  const outcome = failedOutcome(reader);
  if (by === 'statement') return [{ kind: 'commit' }, end(state, outcome, 'stated')];
  if (state.hasBegun) return [end(state, outcome, 'severed')];
  return [{ kind: 'commit' }, end(state, outcome, 'broken')];
}

/** After a finish comes no more output, but the usage. A background run needs no reader. */
function taken(state: Fields, { reader, count }: StreamFacts, hasRest: boolean): Actions {
  if (state.isDraining && (state.hasBegun || (!reader?.hasFinish && count.isDrained)))
    return leave(state);
  if (!hasRest || !state.hasAnswer) return NOTHING;
  state.isWaiting = true;
  return [{ kind: 'wait_for_hold' }];
}

/** The upstream is not read on while the client takes nothing, or the hold covers nothing. */
function readOn({ isWaiting }: StreamState, { outlet }: StreamFacts): Actions {
  return isWaiting || outlet.isBlocked ? NOTHING : RESUME;
}

function startCounting(state: Fields): Actions {
  if (state.isCounting) return NOTHING;
  state.isCounting = true;
  return COUNT;
}

/** Closes the answer at once where that ends the bill, and where nothing was sent; else reads on, for what the provider bills is what the client pays. */
function clientLeft(
  state: Fields,
  { isSent, stopsBillingOnClose }: { isSent: boolean; stopsBillingOnClose: boolean },
): Actions {
  if (!state.isAsked || state.isDraining) return NOTHING;
  const isClosed = state.isBackground ? state.hasBegun : stopsBillingOnClose;
  if (!isSent || isClosed) return leave(state);
  state.isDraining = true;
  return [...startCounting(state), { kind: 'drain' }];
}

function leave(state: Fields): Actions {
  if (state.hasAnswer) return [end(state, 'client_closed', 'left')];
  return [{ kind: 'abort_attempt', why: 'the client disconnected' }];
}

function stop(state: Fields, reason: StopReason): Actions {
  if (!state.hasAnswer) return [{ kind: 'abort_attempt', why: 'access has ended' }];
  if (reason === 'balance_exhausted')
    return [{ kind: 'commit' }, end(state, reason, 'finished_early')];
  const isSevered = state.hasBegun && reason === 'node_stopped';
  return [{ kind: 'commit' }, end(state, outcomeOfStop(reason), isSevered ? 'severed' : 'stopped')];
}

function end(state: Fields, outcome: Outcome, closing: Closing): StreamAction {
  state.isOver = true;
  return { kind: 'end', outcome, closing };
}
