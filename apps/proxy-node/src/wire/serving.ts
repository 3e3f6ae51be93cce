import { randomUUIDv7 } from 'node:crypto';
import { parseRanges } from '@tollgate/contracts';
import { nodeAddress } from '@tollgate/keyspace';
import { generatedAtMost } from '@tollgate/metering';
import { createApp } from '../app.ts';
import { workerCount } from '../config.ts';
import { BackgroundRuns } from '../background/background-runs.ts';
import { BackgroundGuard } from '../endpoints/background-guard.ts';
import { CountRelay } from '../endpoints/count-relay.ts';
import { CountingLane } from '../endpoints/counting-lane.ts';
import { StoredRelay } from '../endpoints/stored-relay.ts';
import { BodyQuota } from '../http/body-quota.ts';
import { Cors } from '../http/cors.ts';
import { monotonicMs } from '../monotonic-ms.ts';
import { Observer } from '../observe/observer.ts';
import { Metrics } from '../operations/metrics.ts';
import { Operations } from '../operations/operations.ts';
import { RefusalLog } from '../observe/refusal-log.ts';
import { KeptEvents } from '../pipeline/answers/kept-events.ts';
import { Failover } from '../pipeline/failover.ts';
import { Gate } from '../pipeline/request/gate.ts';
import { Pipeline } from '../pipeline/pipeline.ts';
import { priceAsAnswered } from '../pipeline/request/premiums.ts';
import { ReasoningRates } from '../pipeline/answers/reasoning-rates.ts';
import { joinScrapes, type PrimaryPort } from '../workers/worker-scrape.ts';
import { openAdmission, type AdmissionParts } from './admission-parts.ts';
import type { Foundation } from './foundation.ts';
import { openUpstreams, type UpstreamAccess, type UpstreamEvents } from './upstream-access.ts';

export type Serving = ReturnType<typeof createServing>;

/** Returns the parts that answer requests: the application with its pipeline, and the state that reports and messages of the fleet read and change. */
export function createServing(
  foundation: Foundation,
  { primary, ...events }: Omit<UpstreamEvents, 'onProbed'> & { primary: PrimaryPort | null },
) {
  const { recorder, follower, log } = foundation;
  const gate = new Gate(() => follower.current);
  const upstreams = openUpstreams(foundation, {
    ...events,
    onProbed: (probed) => metrics.probed(probed),
  });
  const admission = openAdmission(foundation);
  const workers = workerCount(foundation.config);
  const keptEvents = new KeptEvents(workers, (limit) => metrics.keptNothing(limit));
  // Each needs the other: metrics read the number of runs, and a run that ends is counted.
  const metrics: Metrics = openMetrics(foundation, {
    gate,
    upstreams,
    keptEvents,
    background: () => background.size,
  });
  const reasoning = new ReasoningRates();
  const background: BackgroundRuns = openBackground(foundation, { upstreams, metrics, reasoning });
  const bodies = new BodyQuota(foundation.config.BODY_BYTES_MAX);
  const parts = { gate, upstreams, admission, metrics, reasoning, background, bodies, keptEvents };
  const pipeline = openPipeline(foundation, parts);
  const operations = new Operations({
    gate,
    follower,
    metrics,
    scrape: primary ? joinScrapes(primary, () => metrics.text()) : () => metrics.text(),
    meteringRefusal: () => recorder.unreadiness,
    log,
  });
  const app = openApp(foundation, { ...parts, pipeline, operations });
  const { pools, tokens, health, restNews, trust } = upstreams;
  const { denials, waits } = admission;
  const known = { pools, tokens, health, restNews, trust, denials, waits };
  return { app, operations, gate, pipeline, background, ...known };
}

interface ServingParts {
  gate: Gate;
  upstreams: UpstreamAccess;
  admission: AdmissionParts;
  metrics: Metrics;
  reasoning: ReasoningRates;
  background: BackgroundRuns;
  bodies: BodyQuota;
  keptEvents: KeptEvents;
}

function openMetrics(
  { config, recorder, follower }: Foundation,
  {
    gate,
    upstreams,
    keptEvents,
    background,
  }: Pick<ServingParts, 'gate' | 'upstreams' | 'keptEvents'> & { background: () => number },
): Metrics {
  return new Metrics({
    credential: config.METRICS_CREDENTIAL ?? config.NODE_CREDENTIAL,
    worker: config.NODE_WORKER,
    modelsMax: config.METRICS_MODELS_MAX,
    readings: {
      gate,
      isReady: () => gate.isReady && recorder.unreadiness === null,
      recorder: () => recorder.state,
      background,
      keptBytes: () => keptEvents.bytes,
      failOpen: () => recorder.failOpen.state,
      snapshotVersion: () => follower.current?.snapshot.version ?? 0,
      upstreams: () => upstreams.health.dump(monotonicMs()),
    },
  });
}

function openBackground(
  { config, marks, follower, log }: Foundation,
  {
    upstreams: { calls, trust },
    metrics,
    reasoning,
  }: Pick<ServingParts, 'upstreams' | 'metrics' | 'reasoning'>,
): BackgroundRuns {
  return new BackgroundRuns({
    calls,
    marks,
    trust,
    upstreamById: (...named) => follower.current?.upstreamById(...named),
    onFinal: (rid, final, excessTokens) => {
      const model = follower.current?.modelById(final.model_id)?.name ?? '';
      metrics.ended(rid, final, { model, excessTokens });
    },
    asAnswered: (hold, services) => {
      const versions = follower.current?.modelById(hold.modelId)?.prices ?? [];
      return { ...hold, price: priceAsAnswered(hold.price, versions, services) };
    },
    generatedTokens: ({ modelId, background }, runningMs) =>
      generatedAtMost(runningMs, {
        upstreamModel: follower.current?.upstreamModel(modelId, background?.upstreamId ?? 0) ?? '',
        usualTokens: reasoning.of(modelId).tokensIn(runningMs),
      }),
    node: nodeAddress(config.NODE_NAME, config.NODE_WORKER),
    lifeMs: config.BACKGROUND_MS_MAX,
    pollMs: config.BACKGROUND_POLL_MS,
    log,
  });
}

function openPipeline({ config, incidents, log }: Foundation, parts: ServingParts): Pipeline {
  const { gate, bodies, keptEvents, admission, metrics, reasoning, background } = parts;
  const { reach, forwarder, health, trust, ticker } = parts.upstreams;
  return new Pipeline({
    ...{ gate, bodies, keptEvents, trust, ticker, reasoning, log },
    admitter: admission.admitter,
    failover: new Failover({
      forwarder,
      health,
      attemptsMax: config.ATTEMPTS_MAX,
      workers: workerCount(config),
    }),
    node: nodeAddress(config.NODE_NAME, config.NODE_WORKER),
    limits: {
      bodyBytesMax: config.BODY_BYTES_MAX,
      keepAliveMs: config.KEEP_ALIVE_MS,
      drain: {
        jsonMs: config.JSON_DRAIN_MS,
        streamMs: config.STREAM_DRAIN_MS,
        streamTokens: config.STREAM_DRAIN_TOKENS,
      },
    },
    newRid: randomUUIDv7,
    reach,
    background,
    onFinal: (rid, final, { asked: { model }, excessTokens, answeredBy }) => {
      metrics.ended(rid, final, { model: model.name, excessTokens });
      health.used(answeredBy, final, monotonicMs());
    },
    refusals: new RefusalLog({
      ...{ log, incidents, now: monotonicMs },
      count: (refused) => metrics.refused(refused),
    }),
  });
}

function openApp(
  { config, marks, tracing, log }: Foundation,
  {
    bodies,
    admission,
    background,
    upstreams: { ids, reach, pools, ticker, calls },
    pipeline,
    operations,
  }: ServingParts & { pipeline: Pipeline; operations: Operations },
) {
  return createApp({
    pipeline,
    bodies,
    counting: new CountingLane(),
    counts: new CountRelay({ pools, ticker, ids }),
    stored: new StoredRelay({ calls, ticker, keepAliveMs: config.KEEP_ALIVE_MS }),
    guard: new BackgroundGuard({ marks, runs: background }),
    sealer: ids,
    reach,
    admitter: admission.admitter,
    operations,
    newRid: randomUUIDv7,
    trustedProxies: parseRanges(config.TRUSTED_PROXIES),
    clientStallMs: config.CLIENT_STALL_TIMEOUT_MS,
    bodyBytesMax: config.BODY_BYTES_MAX,
    cors: new Cors({ origins: config.CORS_ORIGINS, exposed: config.CORS_EXPOSED_HEADERS }),
    observer: Observer.of(tracing, config.ACCESS_LOG === 'on' ? log : null),
  });
}
