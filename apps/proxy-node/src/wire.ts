import { setTimeout as delay } from 'node:timers/promises';
import { closeRedis, onRedisReturn } from '@tollgate/keyspace';
import type { Logger } from 'pino';
import type { Config } from './config.ts';
import { createHttpServer, listen } from './http/server.ts';
import { monotonicMs } from './monotonic-ms.ts';
import type { Operations } from './operations/operations.ts';
import { stopNode, type StopParts } from './operations/stop-node.ts';
import { followFleet, reportIncidents } from './wire/follow-fleet.ts';
import { layFoundation, type Foundation } from './wire/foundation.ts';
import { createServing, type Serving } from './wire/serving.ts';
import type { PrimaryPort } from './workers/worker-scrape.ts';

/** A worker of a stopped or unregistered node also listens after this time, because it reports health. */
const JOIN_MS = 3_000;
const JOIN_POLL_MS = 20;

export interface RunningNode {
  port: number;
  /** Takes no more requests, lets running ones finish within the drain time, hands its usage over, and closes its connections. */
  stop(options?: Pick<StopParts, 'handOverMs'>): Promise<void>;
}

/**
 * Creates and connects the parts of a node; only this file and `wire/` do so. With a `primary`, other workers already serve on the same port, so this
 * worker joins them only when it can serve, too, or when the fleet has had time to report that it must not.
 */
export async function startNode(
  config: Config,
  log: Logger,
  primary: PrimaryPort | null = null,
): Promise<RunningNode> {
  const foundation = await layFoundation(config, log);
  const { redis, fleet, recorder, follower } = foundation;
  const heard: { report?: () => void } = {};
  const serving = createServing(foundation, {
    primary,
    onRested: () => heard.report?.(),
    // A lost message costs other workers a few failures of their own.
    announce: (message) => void fleet.announce(message).catch(() => undefined),
  });
  const reporter = followFleet(foundation, serving);
  heard.report = () => void reporter.report();
  // At the first start and after each outage the node catches up at once.
  onRedisReturn(redis.plain, () => void follower.pull().then(() => reporter.report()));
  await follower.start();
  for (const run of recorder.adopted) serving.background.take(run);
  reporter.start();
  const server = createHttpServer(serving.app, {
    headerBytesMax: config.HEADER_BYTES_MAX,
    headerTimeoutMs: config.HEADER_TIMEOUT_MS,
    bodyTimeoutMs: config.BODY_TIMEOUT_MS,
  });
  // An upstream that needs a token is served from the first request on.
  await serving.tokens.settled(JOIN_MS);
  if (primary) await untilReady(serving.operations);
  const port = await listen(server, { host: config.HOST, port: config.PORT });
  const { gate, pipeline, pools, background } = serving;
  const disconnect = untilStopped(foundation, serving);
  const stopping = { server, gate, pipeline, reporter, follower, background, recorder, pools, log };
  const { DRAIN_NOTICE_MS: noticeMs, DRAIN_TIMEOUT_MS: drainTimeoutMs } = config;
  return {
    port,
    stop: ({ handOverMs } = {}) =>
      stopNode({ ...stopping, disconnect, noticeMs, drainTimeoutMs, handOverMs }),
  };
}

/** Reports incidents until the returned function is called, which closes the connections. */
function untilStopped(foundation: Foundation, { tokens }: Serving): () => Promise<void> {
  const { redis, tracing } = foundation;
  const reporter = reportIncidents(foundation);
  return async () => {
    tokens.close();
    await reporter.stop();
    Object.values(redis).forEach(closeRedis);
    await tracing?.close();
  };
}

async function untilReady(operations: Operations): Promise<void> {
  const deadline = monotonicMs() + JOIN_MS;
  while (!operations.readiness().ready && monotonicMs() < deadline) await delay(JOIN_POLL_MS);
}
