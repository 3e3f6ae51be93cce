import { readStoredResponse, type StoredResponse } from '@tollgate/protocols';
import type { ServedUpstream } from '../snapshot/routing-index.ts';
import type { OpenHold } from '../journal/open-hold.ts';
import type { SideCall, SideCalls } from '../upstream/side-calls.ts';
import type { CallDeadlines } from '../upstream/pace/call-deadlines.ts';
import type { UpstreamCall } from '../upstream/upstream-call.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';

/** The events of an ended response arrive at once. A client that deletes the response waits for them. */
const LOG: CallDeadlines = {
  firstByteMs: null,
  firstTokenMs: null,
  isKeptByKeepAlives: false,
  idleMs: 2_000,
  totalMs: 10_000,
};

export type UpstreamById = (id: number, credentialId?: number) => ServedUpstream | undefined;

/** Asks an upstream about a response that it generates in the background. Throws UpstreamFailure. */
export class RunCalls {
  readonly #calls: Pick<SideCalls, 'whole' | 'stream'>;
  readonly #upstreamById: UpstreamById;

  constructor({
    calls,
    upstreamById,
  }: {
    calls: Pick<SideCalls, 'whole' | 'stream'>;
    upstreamById: UpstreamById;
  }) {
    this.#calls = calls;
    this.#upstreamById = upstreamById;
  }

  /** `isThere` is false when nothing is stored. */
  async get(hold: OpenHold): Promise<{ isThere: boolean; response: StoredResponse | null }> {
    const body = await this.#calls.whole(this.#asked(hold, 'GET', ''));
    return { isThere: body !== null, response: body && readStoredResponse(body) };
  }

  /** Returns the upstream's answer; null for a response that refuses to be cancelled because it has ended, as the next read shows. */
  async cancel(hold: OpenHold): Promise<StoredResponse | null> {
    try {
      const body = await this.#calls.whole(this.#asked(hold, 'POST', '/cancel'));
      return body && readStoredResponse(body);
    } catch (error) {
      const isRefused = error instanceof UpstreamFailure && error.error.kind === 'invalid_request';
      if (isRefused) return null;
      throw error;
    }
  }

  /** Returns its events from the first one; null when the upstream keeps none, which says nothing about the response. */
  async log(hold: OpenHold): Promise<UpstreamCall | null> {
    try {
      return await this.#calls.stream(this.#asked(hold, 'GET', '?stream=true'), LOG);
    } catch (error) {
      if (error instanceof UpstreamFailure) return null;
      throw error;
    }
  }

  #asked({ rid, background }: OpenHold, method: 'GET' | 'POST', action: string): SideCall {
    const { upstreamId = 0, credentialId, responseId = '' } = background ?? {};
    const upstream = this.#upstreamById(upstreamId, credentialId);
    if (!upstream) throw new Error(`upstream ${upstreamId} is not configured`);
    return {
      upstream,
      method,
      path: `/responses/${encodeURIComponent(responseId)}${action}`,
      rid,
    };
  }
}
