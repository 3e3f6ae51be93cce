import { randomUUIDv7 } from 'node:crypto';
import type { AttemptCost } from '@tollgate/contracts';
import { outputTokensOf, promptTokensOf } from '@tollgate/contracts';
import {
  createExchange,
  probeAsk,
  probeLimit,
  type ClientProtocol,
  type Exchange,
  type StoredIds,
} from '@tollgate/protocols';
import type { Logger } from 'pino';
import { monotonicMs } from '../monotonic-ms.ts';
import type { Candidate } from '../snapshot/routing-index.ts';
import type { RefusedFields } from './refused-fields.ts';
import type { FailureSeen } from './route-state.ts';
import type { SideCalls } from './side-calls.ts';
import {
  gatewayFailure,
  isCredentials,
  isRoutesTrouble,
  mayBeBilled,
  seenOf,
  UpstreamFailure,
} from './upstream-failure.ts';
import type { RouteRef } from './upstream-health.ts';

/** One output token arrives within this time unless the provider is down. */
const PROBE_MS = 15_000;
/** Is the number of tokens of the fixed bodies and their template, for a probe that reports no usage. */
const PROMPT_TOKENS = 16;

/** Holds the result of a probe and the amount that its provider may bill the installation; no customer pays it. */
export interface Probed {
  readonly upstreamId: number;
  readonly routeId: number;
  readonly credentialId?: number | undefined;
  /** Is `ok`, the kind of the failure, or `unknown` when nothing could be asked. */
  readonly result: string;
  readonly cost: AttemptCost;
}

type Called = Pick<Candidate, 'route' | 'upstream'>;

/** The answer never leaves the gateway, so its ids stay as they are. */
const UNSEEN_IDS: StoredIds = { seal: (native) => native, open: () => null, isSealed: () => false };
const NOTHING: AttemptCost = { input_tokens: 0, output_tokens: 0 };

/**
 * Sends a route a fixed request of the gateway, in the protocol of the requests that failed there, to find out whether the route is down or its
 * callers provoke the failures. It never sends a caller's request, and never a stream.
 */
export class RouteProbes {
  readonly #calls: SideCalls;
  readonly #refused: RefusedFields;
  readonly #candidateOf: (route: RouteRef) => Candidate | undefined;
  readonly #onProbed: (probed: Probed) => void;
  readonly #log: Pick<Logger, 'info'>;

  constructor({
    calls,
    refused,
    candidateOf,
    onProbed,
    log,
  }: {
    calls: SideCalls;
    refused: RefusedFields;
    /** Returns the candidate from the snapshot in use. */
    candidateOf: (route: RouteRef) => Candidate | undefined;
    onProbed: (probed: Probed) => void;
    log: Pick<Logger, 'info'>;
  }) {
    this.#calls = calls;
    this.#refused = refused;
    this.#candidateOf = candidateOf;
    this.#onProbed = onProbed;
    this.#log = log;
  }

  /** Returns null when the route answers, including a refusal of the request, and when it cannot be asked. It never rejects. */
  async probe(ref: RouteRef, protocol: ClientProtocol): Promise<FailureSeen | null> {
    const candidate = this.#candidateOf(ref);
    if (!candidate) return null;
    const startedAt = monotonicMs();
    let cost = NOTHING;
    let failure: UpstreamFailure | null = null;
    try {
      cost = await this.#ask(candidate, protocol);
    } catch (error) {
      // This protocol cannot express the probe, or the node's key opens no secret; requests then show the problem themselves.
      if (!(error instanceof UpstreamFailure)) return null;
      failure = error;
      if (mayBeBilled(failure)) cost = { input_tokens: PROMPT_TOKENS, output_tokens: 0 };
    }
    const isDown =
      failure !== null && isDownBy(failure) && !isOfOneCredential(failure, { ref, candidate });
    this.#note({ ...ref, result: failure?.error.kind ?? 'ok', cost }, { failure, startedAt });
    return failure && isDown ? seenOf(failure, { protocol, now: monotonicMs() }) : null;
  }

  async #ask({ route, upstream }: Called, protocol: ClientProtocol): Promise<AttemptCost> {
    const rid = randomUUIDv7();
    const exchange = exchangeOf({ route, upstream }, { protocol, rid });
    const answer = await this.#calls.whole(
      {
        upstream,
        method: 'POST',
        path: exchange.path,
        headers: exchange.requestHeaders,
        body: this.#refused.strip(exchange.requestBody, { route, protocol }),
        rid,
        // Kept connections to a provider that failed may be stale.
        isAnew: true,
      },
      Math.min(PROBE_MS, upstream.first_token_timeout_ms),
    );
    if (!answer) throw gatewayFailure('not_found', 'not found', { evidence: 'stated' });
    const reading = exchange.readJson(answer);
    if (reading.kind === 'error') throw new UpstreamFailure(reading.error, { evidence: 'stated' });
    const { usage } = reading;
    return usage
      ? { input_tokens: promptTokensOf(usage), output_tokens: outputTokensOf(usage) }
      : { input_tokens: PROMPT_TOKENS, output_tokens: 1 };
  }

  #note(
    probed: Probed,
    { failure, startedAt }: { failure: UpstreamFailure | null; startedAt: number },
  ): void {
    this.#onProbed(probed);
    const { upstreamId, routeId, credentialId, result, cost } = probed;
    this.#log.info(
      {
        upstream_id: upstreamId,
        route_id: routeId,
        ...(credentialId !== undefined && { credential_id: credentialId }),
        result,
        status: failure?.error.upstreamStatus ?? null,
        ...cost,
        duration_ms: Math.round(monotonicMs() - startedAt),
      },
      'a route was probed at the cost of the installation',
    );
  }
}

function exchangeOf(
  { route, upstream }: Called,
  { protocol, rid }: { protocol: ClientProtocol; rid: string },
): Exchange {
  return createExchange({
    ask: probeAsk(protocol, route.upstream_model),
    speech: upstream,
    ids: UNSEEN_IDS,
    upstreamModel: route.upstream_model,
    outputLimit: probeLimit(protocol, upstream),
    outputLimitField: route.output_limit_field,
    clientHeaders: {},
    idSeed: rid,
  });
}

/** A probe of a whole route has one of its credentials: that this one is refused says nothing of the others. */
function isOfOneCredential(
  { error }: UpstreamFailure,
  { ref, candidate }: { ref: RouteRef; candidate: Candidate },
): boolean {
  const isOneOfSeveral = candidate.upstream.credentialId !== undefined;
  return isOneOfSeveral && ref.credentialId === undefined && isCredentials(error);
}

/** A redirect is not followed, so it serves no request. */
function isDownBy(failure: UpstreamFailure): boolean {
  const status = failure.error.upstreamStatus;
  return (status !== null && status < 400) || isRoutesTrouble(failure);
}
