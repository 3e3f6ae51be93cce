import type { IncomingHttpHeaders } from 'node:http';
import { readUpstreamError, withSealedIds, type StoredIds } from '@tollgate/protocols';
import type { SnapshotUpstream } from '@tollgate/snapshot';
import { requestHeaders, singleHeaders } from '../upstream/request-headers.ts';
import type { Ticker } from '../upstream/ticker.ts';
import { UpstreamCall, wholeBody } from '../upstream/upstream-call.ts';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { UpstreamPools } from '../upstream/upstream-pools.ts';

/** What is stored is there at once or not at all. */
const ANSWER_MS = 30_000;

export interface StoredCall {
  readonly upstream: SnapshotUpstream;
  readonly method: 'GET' | 'POST' | 'DELETE';
  /** With native ids, below the upstream's base_url. */
  readonly path: string;
  readonly body: Uint8Array | null;
  readonly rid: string;
  readonly clientHeaders: IncomingHttpHeaders;
  readonly ids: StoredIds;
  /** The client's name of the model; null where the answer names none. */
  readonly model: string | null;
}

/** Passes calls about what an upstream has stored on to it: they generate nothing and are free. No part of routing's health. */
export class StoredRelay {
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

  /** The upstream's answer with its ids sealed. Null where nothing is stored; throws UpstreamFailure. */
  async call(asked: StoredCall): Promise<Uint8Array | null> {
    const { upstream, method, path, body, rid, clientHeaders, ids, model } = asked;
    const target = this.#pools.open(upstream);
    const call = new UpstreamCall({
      deadlines: {
        firstByteMs: ANSWER_MS,
        firstTokenMs: null,
        isKeptByKeepAlives: false,
        idleMs: ANSWER_MS,
        totalMs: ANSWER_MS,
      },
      ticker: this.#ticker,
      bytesMax: this.#answerBytesMax,
    });
    const headers = requestHeaders(target, upstream.protocol, {
      protocolHeaders: {},
      isStream: false,
      clientHeaders,
      rid,
    });
    target.pool.dispatch(
      {
        method,
        path: `${target.pathPrefix}${path}`,
        headers,
        body: body && Buffer.from(body.buffer, body.byteOffset, body.byteLength),
      },
      call,
    );
    const head = await call.answered;
    const answer = await wholeBody(call);
    if (head.status === 404) return null;
    if (head.status < 200 || head.status >= 300)
      throw new UpstreamFailure(
        readUpstreamError({
          status: head.status,
          headers: singleHeaders(head.headers),
          body: answer,
          secrets: target.apiKey === null ? [] : [target.apiKey],
        }),
        { evidence: 'stated' },
      );
    const shown = withSealedIds(answer, { ids, model });
    if (!shown) throw gatewayFailure('unreadable', 'The upstream sent an answer that is no JSON.');
    return shown;
  }
}
