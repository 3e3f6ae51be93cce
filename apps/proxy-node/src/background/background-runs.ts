import type { UsageFinal } from '@tollgate/contracts';
import type { BackgroundMarks, BackgroundPlace } from '@tollgate/keyspace';
import type { StoredResponse } from '@tollgate/protocols';
import type { Logger } from 'pino';
import { finalOfHold } from '../journal/final-of-hold.ts';
import type { BackgroundRun, OpenHold } from '../journal/open-hold.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { outcomeOfStop } from '../pipeline/answers/stop-reason.ts';
import { SYSTEM_TIMERS, type Timers } from '../timers.ts';
import type { SideCalls } from '../upstream/side-calls.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { UpstreamTrust } from '../upstream/upstream-trust.ts';
import { journalled, type AdoptedRun, type HoldHandle } from '../usage/usage-recorder.ts';
import { RunCalls, type UpstreamById } from './run-calls.ts';
import { endingOfRun, type EndedBy } from './run-ending.ts';
import { RunEvidence, tokensOf } from './run-evidence.ts';

const FIRST_WAIT_MS = 1_000;
const WAIT_GROWTH = 1.5;
/** A store may need a moment to show an object that it has just accepted. */
const ABSENCES_MAX = 3;
/** A run that lasts too long is cancelled, and its upstream has this long to report the usage. */
const FINAL_GRACE_MS = 60_000;
/** A provider may know the usage of a cancelled run slightly later, and nodes that show a run may be a tick behind. */
const REPORT_WAIT_MS = 800;
const REPORT_LOOK_MS = 250;
/** The mark of a run expires this long after its end, when no node is left to settle it. */
const MARK_SPARE_MS = 3_600_000;
const STATUS_OK = 200;

export interface BackgroundOptions {
  calls: Pick<SideCalls, 'whole' | 'stream'>;
  marks: Pick<BackgroundMarks, 'set' | 'read' | 'cancelled' | 'remove'>;
  trust: Pick<UpstreamTrust, 'note'>;
  upstreamById: UpstreamById;
  onFinal: (rid: string, final: UsageFinal, excessTokens: number) => void;
  /** Returns the largest number of output tokens that a run of this hold can have generated in this time. */
  generatedTokens: (hold: OpenHold, runningMs: number) => number;
  /** Returns the hold at the price of an answer that was made at these ordinary services. */
  asAnswered: (hold: OpenHold, services: readonly string[]) => OpenHold;
  node: string;
  /** A run that lasts longer is cancelled. */
  lifeMs: number;
  /** Is the longest pause between two reads of a run. */
  pollMs: number;
  log: Pick<Logger, 'warn' | 'info'>;
  now?: () => number;
  timers?: Timers;
}

interface Run extends AdoptedRun {
  readonly background: BackgroundRun;
  readonly evidence: RunEvidence;
  endedBy: EndedBy | null;
  isCancelled: boolean;
  isAsking: boolean;
  /** Is true when something has changed while the run was being read. */
  isWoken: boolean;
  absences: number;
  failures: number;
  waitMs: number;
  stopWaiting: () => void;
}

/**
 * Follows answers that their upstreams generate in the background. Each hold stays in the journal and is renewed until its upstream reports the
 * usage; then it is settled. A process that ends leaves them to the next one on its journal.
 */
export class BackgroundRuns {
  readonly #options: BackgroundOptions;
  readonly #now: () => number;
  readonly #timers: Timers;
  readonly #calls: RunCalls;
  readonly #runs = new Map<string, Run>();
  #isClosed = false;

  constructor(options: BackgroundOptions) {
    this.#options = options;
    this.#calls = new RunCalls(options);
    this.#now = options.now ?? Date.now;
    this.#timers = options.timers ?? SYSTEM_TIMERS;
  }

  get size(): number {
    return this.#runs.size;
  }

  /** Starts a run that its upstream has named. The journal has it when this returns, before its client knows about it. */
  begin(handle: HoldHandle, seen: Omit<BackgroundRun, 'untilMs'>): OpenHold {
    const hold = handle.detach({ ...seen, untilMs: this.#now() + this.#options.lifeMs });
    this.#mark(hold);
    return hold;
  }

  /** Follows a run to its end; `handle` is settled then. */
  take({ hold, handle }: AdoptedRun): void {
    const { background } = hold;
    if (!background || this.#isClosed) return;
    const run: Run = {
      hold,
      handle,
      background,
      evidence: new RunEvidence({ startedAtMs: hold.startedAtMs, bounds: background.bounds }),
      endedBy: null,
      isCancelled: false,
      isAsking: false,
      isWoken: false,
      absences: 0,
      failures: 0,
      waitMs: Math.min(FIRST_WAIT_MS, this.#options.pollMs),
      stopWaiting: () => undefined,
    };
    this.#runs.set(nameOf(placeOf(hold)), run);
    handle.countAtLeast(() => run.evidence.shownTokens);
    this.#mark(hold);
    this.#wait(run);
    handle.onStop((reason) => {
      run.endedBy ??= outcomeOfStop(reason);
      this.#look(run);
    });
  }

  /** Notes that the run of this hold was settled by its own stream. */
  over(hold: OpenHold): void {
    this.#options.marks.remove(placeOf(hold)).catch(() => undefined);
  }

  /** A client is being shown this many output tokens of the run, if it is this process's. */
  shown(place: BackgroundPlace, tokens: number): void {
    this.#runs.get(nameOf(place))?.evidence.shown(tokens);
  }

  /** A client had the run cancelled, and its upstream answered so: it is checked now, if it is this process's. */
  wake(place: BackgroundPlace, cancelled: StoredResponse | null): void {
    const run = this.#runs.get(nameOf(place));
    if (!run) return;
    if (cancelled) run.evidence.cancelledBy(cancelled, this.#now());
    this.#look(run);
  }

  close(): void {
    this.#isClosed = true;
    for (const { stopWaiting } of this.#runs.values()) stopWaiting();
  }

  #wait(run: Run, atLeastMs = 0): void {
    run.stopWaiting();
    if (this.#isClosed) return;
    // A run ends at its time, however long an upstream asks to be left alone.
    const leftMs = run.background.untilMs + FINAL_GRACE_MS - this.#now();
    const waitMs = Math.max(run.waitMs, Math.min(atLeastMs, leftMs));
    run.waitMs = Math.min(this.#options.pollMs, run.waitMs * WAIT_GROWTH);
    run.stopWaiting = this.#timers.after(waitMs, () => this.#look(run));
  }

  #look(run: Run): void {
    run.isWoken = run.isAsking;
    const isOver = this.#runs.get(nameOf(placeOf(run.hold))) !== run;
    if (run.isAsking || isOver || this.#isClosed) return;
    run.stopWaiting();
    run.isAsking = true;
    this.#ask(run)
      .catch((error: unknown) => this.#failed(run, error))
      .finally(() => {
        run.isAsking = false;
        if (run.isWoken) this.#look(run);
      });
  }

  async #ask(run: Run): Promise<void> {
    const { background } = run;
    if (this.#now() >= background.untilMs) run.endedBy ??= 'upstream_interrupted';
    if (run.endedBy && !run.isCancelled) {
      await this.#cancel(run);
      run.isCancelled = true;
    }
    const { isThere, response } = await this.#calls.get(run.hold);
    if (this.#isClosed) return;
    run.failures = 0;
    run.absences = isThere ? 0 : run.absences + 1;
    await this.#hear(run).catch(() => undefined);
    if (response) run.evidence.look(response, this.#now());
    if (response?.isOver) return this.#over(run, response);
    if (run.absences >= ABSENCES_MAX || this.#isOverdue(run)) return this.#settle(run, null);
    this.#wait(run);
  }

  /** Settles a run that its caller ended, after its provider has reported it or has had time to. */
  async #over(run: Run, response: StoredResponse): Promise<void> {
    const { evidence, endedBy } = run;
    const isCut = response.status === 'cancelled' && endedBy !== 'upstream_interrupted';
    if (!isCut || response.usage || evidence.usage) return this.#settle(run, response);
    if (this.#now() < (evidence.endedAtMs ?? 0) + REPORT_WAIT_MS) {
      run.waitMs = REPORT_LOOK_MS;
      return this.#wait(run);
    }
    const log = await this.#calls.log(run.hold);
    if (log) await evidence.readLog(log);
    // Without what other nodes have shown, the run would be charged too little.
    await this.#hear(run);
    return this.#settle(run, response);
  }

  /** The mark is written again at each read, for a Redis that has lost it. */
  async #hear({ hold, evidence }: Run): Promise<void> {
    this.#mark(hold);
    evidence.hear(await this.#options.marks.read(placeOf(hold)));
  }

  async #cancel({ hold, evidence }: Run): Promise<void> {
    const response = await this.#calls.cancel(hold);
    if (!response) return;
    const atMs = this.#now();
    evidence.cancelledBy(response, atMs);
    evidence.shown(await tokensOf(response.outputText));
    await this.#options.marks.cancelled(placeOf(hold), atMs).catch(() => undefined);
  }

  async #failed(run: Run, error: unknown): Promise<void> {
    if (this.#isClosed) return;
    run.failures += 1;
    if (run.failures === 1)
      this.#options.log.warn(
        { err: error, rid: run.hold.rid, upstream_id: run.background.upstreamId },
        'a response in the background could not be checked; trying again',
      );
    if (this.#isOverdue(run)) return this.#settle(run, null);
    const isStated = error instanceof UpstreamFailure;
    this.#wait(run, isStated ? (error.error.retryAfterMs ?? 0) : 0);
  }

  #isOverdue({ background }: Run): boolean {
    return this.#now() >= background.untilMs + FINAL_GRACE_MS;
  }

  async #settle(run: Run, response: StoredResponse | null): Promise<void> {
    const { hold, handle, background, evidence } = run;
    const { log, node, trust, onFinal, asAnswered } = this.#options;
    const { outcome, counted } = await this.#endingOf(run, response ?? evidence.cancelled);
    if (this.#isClosed) return;
    const { upstreamId, attempts, traceparent } = background;
    const final = finalOfHold(asAnswered(hold, counted.services ?? []), {
      node,
      upstream_id: upstreamId,
      attempts,
      key_hash: hold.keyHash,
      outcome,
      status: STATUS_OK,
      basis: counted.basis,
      usage: counted.usage,
      endedAtMs: this.#now(),
      traceparent,
    });
    await journalled(handle, final);
    this.#runs.delete(nameOf(placeOf(hold)));
    this.over(hold);
    if (!response)
      log.warn(
        { rid: hold.rid, upstream_id: upstreamId, outcome },
        'a response in the background ended before its upstream reported its usage',
      );
    trust.note({ ...hold, upstreamId }, counted, monotonicMs());
    onFinal(hold.rid, final, counted.excessTokens);
  }

  #endingOf({ hold, handle, background, evidence, endedBy }: Run, response: StoredResponse | null) {
    const runningMs = evidence.generatedMs(this.#now());
    return endingOfRun(background, {
      response: response && { ...response, usage: response.usage ?? evidence.usage },
      endedBy,
      isCancelled: evidence.endedAtMs !== null,
      handle,
      generatedTokens: evidence.isAllShown ? 0 : this.#options.generatedTokens(hold, runningMs),
    });
  }

  #mark(hold: OpenHold): void {
    const lifeMs = (hold.background?.untilMs ?? 0) - this.#now() + MARK_SPARE_MS;
    const { marks, log } = this.#options;
    marks.set(placeOf(hold), lifeMs).catch((error: unknown) => {
      log.warn(
        { err: error, rid: hold.rid },
        'a response in the background could not be marked: deleting it now would lose its usage',
      );
    });
  }
}

function placeOf({ accountId, background }: OpenHold): BackgroundPlace {
  return {
    accountId,
    upstreamId: background?.upstreamId ?? 0,
    responseId: background?.responseId ?? '',
  };
}

function nameOf({ upstreamId, responseId }: BackgroundPlace): string {
  return `${upstreamId}/${responseId}`;
}
