import {
  createIdSealer,
  createSecretBox,
  encryptionKeysOf,
  parseOutboundPolicy,
  type FleetMessage,
} from '@tollgate/contracts';
import { nodeAddress, type ConversationUses } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Config } from '../config.ts';
import { Forwarder } from '../pipeline/forward.ts';
import { RestNews } from '../upstream/rest-news.ts';
import { SideCalls } from '../upstream/side-calls.ts';
import { StoredReach } from '../upstream/stored-reach.ts';
import { Ticker } from '../upstream/ticker.ts';
import { UpstreamHealth, type RestBegun } from '../upstream/upstream-health.ts';
import { UpstreamPools } from '../upstream/upstream-pools.ts';
import { UpstreamTrust } from '../upstream/upstream-trust.ts';

export type UpstreamAccess = ReturnType<typeof openUpstreams>;

export interface UpstreamEvents {
  /** A route rests: the node reports it at once, not with the next heartbeat. */
  onRested: () => void;
  /** Other workers of the fleet learn of it. */
  announce: (message: FleetMessage) => void;
}

/** How a node calls upstreams, and what it knows of them. */
export function openUpstreams(
  { config, uses, log }: { config: Config; uses: ConversationUses; log: Logger },
  { onRested, announce }: UpstreamEvents,
) {
  const secrets = createSecretBox(encryptionKeysOf(config));
  const ids = createIdSealer(encryptionKeysOf(config));
  const pools = new UpstreamPools({
    policy: parseOutboundPolicy(config.UPSTREAM_ALLOW_PRIVATE),
    openSecret: (sealed, place) => secrets.open(sealed, place),
  });
  const restNews = new RestNews({
    announce,
    by: nodeAddress(config.NODE_NAME, config.NODE_WORKER),
  });
  const rested = (begun: RestBegun): void => {
    noteRest(log, begun);
    restNews.rested(begun);
    // After this turn, in which the rest is still being begun.
    setImmediate(onRested);
  };
  const health = new UpstreamHealth({
    onRested: rested,
    onRecovered: (route) => restNews.recovered(route),
  });
  const ticker = new Ticker();
  const { ANSWER_BYTES_MAX: answerBytesMax, ERROR_BYTES_MAX: errorBytesMax } = config;
  const limits = { answerBytesMax, errorBytesMax };
  return {
    ids,
    reach: new StoredReach({ sealer: ids, uses }),
    pools,
    restNews,
    health,
    ticker,
    trust: new UpstreamTrust(log),
    calls: new SideCalls({ pools, ticker, answerBytesMax }),
    forwarder: new Forwarder({ pools, health, ticker, ids, limits }),
  };
}

function noteRest(
  log: Logger,
  { upstreamId, routeId, failuresInRow, restMs, why }: RestBegun,
): void {
  // A rate limit is daily work; a provider that keeps failing is not.
  const level = why === 'rate_limited' ? 'info' : 'warn';
  log[level](
    {
      upstream_id: upstreamId,
      route_id: routeId,
      failures_in_row: failuresInRow,
      rest_ms: restMs,
      why,
    },
    'a route rests',
  );
}
