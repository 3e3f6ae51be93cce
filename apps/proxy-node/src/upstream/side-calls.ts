import type { IncomingHttpHeaders } from 'node:http';
import { readUpstreamError } from '@tollgate/protocols';
import type { ServedUpstream } from '../snapshot/routing-index.ts';
import { headOf, wholeBody } from './collect-body.ts';
import { sentSecrets, signedRequest, singleHeaders } from './request-headers.ts';
import type { Ticker } from './ticker.ts';
import type { CallDeadlines } from './pace/call-deadlines.ts';
import { UpstreamCall } from './upstream-call.ts';
import { UpstreamFailure } from './upstream-failure.ts';
import type { UpstreamPools } from './upstream-pools.ts';

/** A stored object arrives at once or not at all. */
const ANSWER_MS = 30_000;

export interface SideCall {
  readonly upstream: ServedUpstream;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** Is the path below the upstream's base_url, with native ids. */
  readonly path: string;
  readonly body?: Uint8Array | null;
  readonly rid: string;
  /** Holds the headers that the protocol requires. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly clientHeaders?: IncomingHttpHeaders;
  /** Is true to use a new connection instead of a kept one. */
  readonly isAnew?: boolean;
}

/** Makes calls that serve no request: about stored objects, and probes. They do not affect routing health. */
export class SideCalls {
  readonly #pools: UpstreamPools;
  readonly #ticker: Ticker;
  readonly #answerBytesMax: number;

  constructor({
    pools,
    ticker,
    answerBytesMax,
  }: {
    pools: UpstreamPools;
    ticker: Ticker;
    answerBytesMax: number;
  }) {
    this.#pools = pools;
    this.#ticker = ticker;
    this.#answerBytesMax = answerBytesMax;
  }

  /** Returns a 2xx answer, or null where nothing is stored; throws UpstreamFailure. */
  async whole(asked: SideCall, answerMs = ANSWER_MS): Promise<Buffer | null> {
    const deadlines = {
      firstByteMs: answerMs,
      firstTokenMs: null,
      isKeptByKeepAlives: false,
      idleMs: answerMs,
      totalMs: answerMs,
    };
    const call = await this.#open(asked, { deadlines, isStream: false });
    return call && wholeBody(call);
  }

  /** Does the same as `whole` for an answer that is read as it arrives. */
  stream(asked: SideCall, deadlines: CallDeadlines): Promise<UpstreamCall | null> {
    return this.#open(asked, { deadlines, isStream: true });
  }

  async #open(
    asked: SideCall,
    { deadlines, isStream }: { deadlines: CallDeadlines; isStream: boolean },
  ): Promise<UpstreamCall | null> {
    const { upstream, method, path, body = null, rid, clientHeaders = {} } = asked;
    const target = this.#pools.open(upstream);
    const call = new UpstreamCall({
      deadlines,
      ticker: this.#ticker,
      bytesMax: this.#answerBytesMax,
    });
    const signed = signedRequest(target, upstream.protocol, {
      method,
      path,
      body,
      protocolHeaders: asked.headers ?? {},
      isStream,
      clientHeaders,
      rid,
    });
    const request = signed instanceof Promise ? await signed : signed;
    if (asked.isAnew) target.dispatchAnew(request, call);
    else target.pool.dispatch(request, call);
    const head = await headOf(call);
    if (head.status >= 200 && head.status < 300) return call;
    const answer = await wholeBody(call);
    if (head.status === 404) return null;
    throw new UpstreamFailure(
      readUpstreamError({
        status: head.status,
        headers: singleHeaders(head.headers),
        body: answer,
        secrets: sentSecrets(target, request),
      }),
      { evidence: 'stated' },
    );
  }
}
