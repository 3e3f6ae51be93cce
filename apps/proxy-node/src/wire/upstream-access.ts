import {
  createIdSealer,
  createSecretBox,
  encryptionKeysOf,
  parseOutboundPolicy,
  type FleetMessage,
} from '@tollgate/contracts';
import { nodeAddress } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import { monotonicMs } from '../monotonic-ms.ts';
import { Forwarder } from '../pipeline/sending/forward.ts';
import { ProviderTokens } from '../upstream/identity/provider-tokens.ts';
import { RefusedFields } from '../upstream/refused-fields.ts';
import { RestNews } from '../upstream/rest-news.ts';
import { RouteProbes, type Probed } from '../upstream/route-probes.ts';
import { SideCalls } from '../upstream/side-calls.ts';
import { StoredReach } from '../upstream/stored-reach.ts';
import { Ticker } from '../upstream/ticker.ts';
import { UpstreamHealth, type RestBegun, type RouteRef } from '../upstream/upstream-health.ts';
import { askToken } from '../upstream/token-client.ts';
import { UpstreamPools } from '../upstream/upstream-pools.ts';
import { UpstreamTrust } from '../upstream/upstream-trust.ts';
import type { Foundation } from './foundation.ts';

type Needed = Pick<Foundation, 'config' | 'log' | 'follower' | 'uses' | 'incidents'>;
export type UpstreamAccess = ReturnType<typeof openUpstreams>;

export interface UpstreamEvents {
  /** A route rests; the node reports that at once. */
  onRested: () => void;
  /** Other workers of the fleet learn about it. */
  announce: (message: FleetMessage) => void;
  /** The installation has paid for a request of its own. */
  onProbed: (probed: Probed) => void;
}

/** Returns the parts that call upstreams, with the node's knowledge of them. */
export function openUpstreams(foundation: Needed, events: UpstreamEvents) {
  const { config, uses, incidents, log } = foundation;
  const secrets = createSecretBox(encryptionKeysOf(config));
  const ids = createIdSealer(encryptionKeysOf(config));
  const policy = parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE);
  const tokens = new ProviderTokens({ ask: askToken(policy), now: monotonicMs, log });
  const pools = new UpstreamPools({
    policy,
    openSecret: (sealed, place) => secrets.open(sealed, place),
    tokenOf: (upstream) => tokens.tokenOf(upstream),
  });
  const ticker = new Ticker();
  const { ANSWER_BYTES_MAX: answerBytesMax, ERROR_BYTES_MAX: errorBytesMax } = config;
  const limits = { answerBytesMax, errorBytesMax };
  const calls = new SideCalls({ pools, ticker, answerBytesMax });
  const refused = new RefusedFields();
  const { health, restNews } = openHealth(foundation, { calls, refused, tokens, events });
  return {
    ids,
    reach: new StoredReach({ sealer: ids, uses }),
    pools,
    tokens,
    restNews,
    health,
    ticker,
    trust: new UpstreamTrust(log),
    calls,
    forwarder: new Forwarder({
      ...{ pools, health, ticker, ids, refused, limits },
      onError: (failed) => incidents.failed(failed),
    }),
  };
}

/** Opens the routes' health. The fleet and the log learn its changes; if several accounts' requests fail, a probe decides. */
function openHealth(
  { config, log, follower }: Needed,
  {
    calls,
    refused,
    tokens,
    events: { onRested, announce, onProbed },
  }: {
    calls: SideCalls;
    refused: RefusedFields;
    tokens: ProviderTokens;
    events: UpstreamEvents;
  },
) {
  const by = nodeAddress(config.NODE_NAME, config.NODE_WORKER);
  const restNews = new RestNews({ announce, by });
  const candidateOf = ({ routeId, credentialId }: RouteRef) =>
    follower.current?.candidateById(routeId, credentialId);
  const probes = new RouteProbes({ calls, refused, candidateOf, onProbed, log });
  const health: UpstreamHealth = new UpstreamHealth({
    tokens,
    onRested: (begun) => {
      noteRest(log, begun);
      restNews.rested(begun);
      // The callback runs after this turn, in which the rest is still being begun.
      setImmediate(onRested);
    },
    onRecovered: (recovered) => restNews.recovered(recovered),
    onProbeDue: (route, protocol) =>
      void probes
        .probe(route, protocol)
        .then((failure) => health.probed(route, failure, monotonicMs())),
  });
  return { health, restNews };
}

function noteRest(
  log: Logger,
  { upstreamId, routeId, credentialId, accountId, failuresInRow, restMs, why }: RestBegun,
): void {
  // A rate limit is daily work; a provider that keeps failing is not.
  const level = why === 'rate_limited' ? 'info' : 'warn';
  log[level](
    {
      upstream_id: upstreamId,
      route_id: routeId,
      ...(credentialId !== undefined && { credential_id: credentialId }),
      failures_in_row: failuresInRow,
      rest_ms: restMs,
      why,
      // Names the account whose routes rest; null for all accounts.
      account_id: accountId,
    },
    'a route rests',
  );
}
