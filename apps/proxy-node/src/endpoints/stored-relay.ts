import { openStoredStream, withSealedIds, type StoredIds } from '@tollgate/protocols';
import type { ClientReply } from '../http/client-reply.ts';
import type { SideCall, SideCalls } from '../upstream/side-calls.ts';
import type { Ticker } from '../upstream/ticker.ts';
import { gatewayFailure } from '../upstream/upstream-failure.ts';
import { ShownCounter } from './shown-counter.ts';
import { StoredStream, storedStreamDeadlines } from './stored-stream.ts';

export interface StoredCall extends SideCall {
  readonly ids: StoredIds;
  /** Is the client's name of the model; null when the answer names none. */
  readonly model: string | null;
}

/** Holds the state of a stream that is shown to a client. */
export interface StoredView {
  readonly reply: ClientReply;
  /** The client has the events up to this number; -1 when the upstream omits them itself. */
  readonly after: number;
  /** Is called periodically and at the end with the output tokens that the client has been shown; null when they are not counted. */
  readonly onShown: ((tokens: number) => void) | null;
}

/** Relays calls about stored objects to the upstream that has them. They generate nothing and are free. */
export class StoredRelay {
  readonly #calls: SideCalls;
  readonly #ticker: Ticker;
  readonly #keepAliveMs: number;

  constructor({
    calls,
    ticker,
    keepAliveMs,
  }: {
    calls: SideCalls;
    ticker: Ticker;
    keepAliveMs: number;
  }) {
    this.#calls = calls;
    this.#ticker = ticker;
    this.#keepAliveMs = keepAliveMs;
  }

  /** Returns the upstream's answer with its ids sealed; null when nothing is stored. Throws UpstreamFailure. */
  async call({ ids, model, ...asked }: StoredCall): Promise<Uint8Array | null> {
    const answer = await this.#calls.whole(asked);
    if (!answer) return null;
    const shown = withSealedIds(answer, { ids, model });
    if (!shown) throw gatewayFailure('unreadable', 'The upstream sent an answer that is no JSON.');
    return shown;
  }

  /** Does the same as `call` for an answer of events; returns false when nothing is stored. */
  async stream(
    { ids, model, ...asked }: StoredCall,
    { reply, after, onShown }: StoredView,
  ): Promise<boolean> {
    const call = await this.#calls.stream(asked, storedStreamDeadlines(asked.upstream));
    if (!call) return false;
    const counter = onShown && new ShownCounter(onShown);
    const reader = openStoredStream({
      ids,
      model: model ?? '',
      idSeed: asked.rid,
      after,
      sink: counter ?? { output: () => undefined },
    });
    const parts = {
      call,
      reader,
      reply,
      counter,
      ticker: this.#ticker,
      keepAliveMs: this.#keepAliveMs,
    };
    await new StoredStream(parts).pass();
    return true;
  }
}
