import { createHash } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { IdSealer } from '@tollgate/contracts';
import { countExchange, isNative, type CountAsk, type DroppedField } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import { signedRequest, singleHeaders } from '../upstream/request-headers.ts';
import { madeWith, storedIdsOf, type OpenStored } from '../upstream/stored-ids.ts';
import type { Ticker } from '../upstream/ticker.ts';
import { headOf, wholeBody } from '../upstream/collect-body.ts';
import { UpstreamCall } from '../upstream/upstream-call.ts';
import type { UpstreamPools } from '../upstream/upstream-pools.ts';

/** Agents ask for a count before each turn; after this time an estimate serves better. */
const COUNT_MS = 5_000;
const DEADLINES = {
  firstByteMs: COUNT_MS,
  firstTokenMs: null,
  isKeptByKeepAlives: false,
  idleMs: COUNT_MS,
  totalMs: COUNT_MS,
};
const ANSWER_BYTES_MAX = 64 * 1024;
/** Agents repeat the same count, so counts are cached by the body's hash and the account. */
const KEPT_MAX = 2_000;
/** An upstream that could not count is not asked again for this long. */
const LEFT_ALONE_MS = 60_000;

export interface Countable {
  accountId: number;
  rid: string;
  ask: CountAsk;
  dropped: readonly DroppedField[];
  openStored: OpenStored;
  clientHeaders: IncomingHttpHeaders;
}

/** Asks upstreams that count tokens themselves, in the caller's protocol. The calls are free and do not affect routing health. */
export class CountRelay {
  readonly #pools: UpstreamPools;
  readonly #ticker: Ticker;
  readonly #ids: IdSealer;
  readonly #kept = new Map<string, number>();
  readonly #leftAloneUntil = new Map<number, number>();

  constructor({ pools, ticker, ids }: { pools: UpstreamPools; ticker: Ticker; ids: IdSealer }) {
    this.#pools = pools;
    this.#ticker = ticker;
    this.#ids = ids;
  }

  /** Returns the count of the first of these routes whose upstream counts; null when it gives none, for any reason. */
  async count(candidates: readonly Candidate[], countable: Countable): Promise<number | null> {
    const now = monotonicMs();
    const candidate = candidates.find(
      ({ upstream }) =>
        isNative(countable.ask.protocol, upstream) &&
        (this.#leftAloneUntil.get(upstream.id) ?? 0) <= now,
    );
    if (!candidate) return null;
    const key = keyOf(candidate, countable);
    const known = this.#kept.get(key);
    if (known !== undefined) return known;
    const counted = await this.#ask(candidate, countable).catch(() => null);
    if (counted === null) this.#leftAloneUntil.set(candidate.upstream.id, now + LEFT_ALONE_MS);
    else this.#keep(key, counted);
    return counted;
  }

  async #ask(
    { route, upstream }: Candidate,
    { accountId, ask, dropped, openStored: open, rid, clientHeaders }: Countable,
  ): Promise<number | null> {
    const target = this.#pools.open(upstream);
    const maker = madeWith(route.model_id);
    const request = countExchange(ask, {
      upstreamModel: route.upstream_model,
      dropped,
      clientHeaders: singleHeaders(clientHeaders),
      ids: storedIdsOf(this.#ids, {
        ...{ accountId, maker, open },
        upstreamId: upstream.id,
        credentialId: upstream.credentialId,
      }),
    });
    const call = new UpstreamCall({
      deadlines: DEADLINES,
      ticker: this.#ticker,
      bytesMax: ANSWER_BYTES_MAX,
    });
    const { requestBody: body, requestHeaders: protocolHeaders, path } = request;
    const signed = signedRequest(target, upstream.protocol, {
      method: 'POST',
      path,
      body,
      protocolHeaders,
      isStream: false,
      clientHeaders,
      rid,
    });
    target.pool.dispatch(signed instanceof Promise ? await signed : signed, call);
    const { status } = await headOf(call);
    if (status === 200) return readCount(await wholeBody(call));
    call.abort('the upstream does not count');
    return null;
  }

  #keep(key: string, tokens: number): void {
    const [oldest] = this.#kept.keys();
    if (this.#kept.size >= KEPT_MAX && oldest !== undefined) this.#kept.delete(oldest);
    this.#kept.set(key, tokens);
  }
}

function keyOf({ route }: Candidate, { accountId, ask, clientHeaders }: Countable): string {
  const head = [accountId, route.id, route.upstream_model, clientHeaders['anthropic-beta'] ?? ''];
  return createHash('sha256')
    .update(`${JSON.stringify(head)}\n`)
    .update(ask.raw)
    .digest('base64');
}

function readCount(body: Buffer): number | null {
  const answer: unknown = JSON.parse(body.toString('utf8'));
  if (typeof answer !== 'object' || answer === null) return null;
  const { input_tokens: input, totalTokens: tokens = input } = answer as Record<string, unknown>;
  return typeof tokens === 'number' && Number.isSafeInteger(tokens) && tokens >= 0 ? tokens : null;
}
