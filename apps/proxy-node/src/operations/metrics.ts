import type { IncomingHttpHeaders } from 'node:http';
import { bears, BoundedLabel, negotiate, type UsageFinal } from '@tollgate/contracts';
import { Gauge, Registry, collectDefaultMetrics, type OpenMetricsContentType } from 'prom-client';
import type { KeptLimit } from '../pipeline/answers/kept-events.ts';
import type { Gate } from '../pipeline/request/gate.ts';
import type { Served } from '../observe/observed-request.ts';
import type { Probed } from '../upstream/route-probes.ts';
import { RequestMetrics } from './request-metrics.ts';

const DENIED =
  'Metrics need METRICS_CREDENTIAL, or without one the credential of this node: Authorization: Bearer NODE_CREDENTIAL\n';
const UPSTREAMS_MAX = 200;
/** A timer samples the event loop's delay, and each sample wakes an idle process. */
const EVENT_LOOP_SAMPLE_MS = 100;

interface UpstreamFigures {
  upstream_id: number;
  in_flight: number;
  latency_ms: number;
  open_for_ms: number;
  accounts_resting: number;
}

/** Holds the objects from which the current figures are read. */
export interface Readings {
  gate: Gate;
  isReady: () => boolean;
  recorder: () => { unacknowledged: number; journalsSetAside: number };
  background: () => number;
  keptBytes: () => number;
  failOpen: () => { admissions: number; tokens: number };
  snapshotVersion: () => number;
  upstreams: () => readonly UpstreamFigures[];
}

const PROCESS_GAUGES: readonly [name: string, help: string, read: (of: Readings) => number][] = [
  ['tollgate_requests_in_flight', 'Requests being served.', ({ gate }) => gate.inFlight],
  [
    'tollgate_unacknowledged_finals',
    'Finals PostgreSQL has not acknowledged.',
    ({ recorder }) => recorder().unacknowledged,
  ],
  [
    'tollgate_background_responses',
    'Responses in the background that are still to be settled.',
    ({ background }) => background(),
  ],
  [
    'tollgate_kept_event_bytes',
    'Bytes of events that streams keep, so that another upstream can end them.',
    ({ keptBytes }) => keptBytes(),
  ],
  [
    'tollgate_journals_set_aside',
    'Journal files that could not be read whole and wait for a person.',
    ({ recorder }) => recorder().journalsSetAside,
  ],
  [
    'tollgate_fail_open_admissions',
    'Requests admitted without Redis since the start.',
    ({ failOpen }) => failOpen().admissions,
  ],
  [
    'tollgate_fail_open_tokens',
    'Charged tokens held or used without Redis that it does not know of yet.',
    ({ failOpen }) => failOpen().tokens,
  ],
  [
    'tollgate_snapshot_version',
    'Version of the routing document in use.',
    ({ snapshotVersion }) => snapshotVersion(),
  ],
  ['tollgate_ready', '1 when the node takes requests.', ({ isReady }) => Number(isReady())],
];

/** Is the answer to a scrape. */
export interface Scrape {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly text: string;
}

/** Holds the metrics for operators. Each has the label `worker`, because each worker counts from its own start. */
export class Metrics {
  readonly #registry = new Registry<OpenMetricsContentType>();
  readonly #credential: string;
  readonly #requests: RequestMetrics;

  constructor({
    credential,
    worker,
    modelsMax,
    readings,
  }: {
    credential: string;
    worker: number;
    modelsMax: number;
    readings: Readings;
  }) {
    this.#credential = credential;
    this.#registry.setContentType(Registry.OPENMETRICS_CONTENT_TYPE);
    this.#registry.setDefaultLabels({ worker: String(worker) });
    this.#requests = new RequestMetrics(this.#registry, { modelsMax });
    this.#process(readings);
    this.#upstreams(readings);
    collectDefaultMetrics({
      register: this.#registry,
      eventLoopMonitoringPrecision: EVENT_LOOP_SAMPLE_MS,
    });
  }

  ended(rid: string, final: UsageFinal, of: { model: string; excessTokens?: number }): void {
    this.#requests.ended(rid, final, of);
  }

  served(served: Served): void {
    this.#requests.served(served);
  }

  probed(probed: Probed): void {
    this.#requests.probed(probed);
  }

  /** Counts a stream that keeps nothing, because it met this limit. */
  keptNothing(limit: KeptLimit): void {
    this.#requests.keptNothing(limit);
  }

  refused(refused: Parameters<RequestMetrics['refused']>[0]): void {
    this.#requests.refused(refused);
  }

  /** Returns the metrics of this process in OpenMetrics' format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** Answers 401 without the credential, because a scrape shows model names and load. `scrape` returns the text of the answer. */
  async respond(
    { authorization, accept }: Pick<IncomingHttpHeaders, 'authorization' | 'accept'>,
    scrape: () => Promise<string>,
  ): Promise<Scrape> {
    if (!bears(authorization, this.#credential))
      return {
        status: 401,
        headers: { 'www-authenticate': 'Bearer', 'content-type': 'text/plain; charset=utf-8' },
        text: DENIED,
      };
    const { contentType, text } = negotiate(accept, await scrape());
    return { status: 200, headers: { 'content-type': contentType }, text };
  }

  #process(readings: Readings): void {
    for (const [name, help, read] of PROCESS_GAUGES) this.#gauge(name, help, () => read(readings));
  }

  #upstreams({ upstreams }: Readings): void {
    this.#upstreamGauge(
      'tollgate_upstream_resting_seconds',
      'How long the upstream is still left alone after failures; 0 when it is asked.',
      () => upstreams().map((each) => [each.upstream_id, each.open_for_ms / 1000]),
    );
    this.#upstreamGauge(
      'tollgate_upstream_resting_accounts',
      'Accounts whose own requests fail, so that the upstream is left alone for them only.',
      () => upstreams().map((each) => [each.upstream_id, each.accounts_resting]),
    );
    this.#upstreamGauge(
      'tollgate_upstream_requests_in_flight',
      'Requests an upstream is answering.',
      () => upstreams().map((each) => [each.upstream_id, each.in_flight]),
    );
    this.#upstreamGauge(
      'tollgate_upstream_latency_seconds',
      'Moving average of the time to the head of an answer.',
      () => upstreams().map((each) => [each.upstream_id, each.latency_ms / 1000]),
    );
  }

  #gauge(name: string, help: string, read: () => number): void {
    // prom-client calls collect on the gauge itself at a scrape.
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }

  /** The worst value counts where upstreams share a label. */
  #upstreamGauge(name: string, help: string, read: () => [id: number, value: number][]): void {
    new Gauge({
      name,
      help,
      labelNames: ['upstream_id'],
      registers: [this.#registry],
      collect() {
        this.reset();
        const labels = new BoundedLabel(UPSTREAMS_MAX);
        const worst = new Map<string, number>();
        for (const [id, value] of read()) {
          const label = labels.of(String(id));
          worst.set(label, Math.max(value, worst.get(label) ?? 0));
        }
        for (const [upstream_id, value] of worst) this.set({ upstream_id }, value);
      },
    });
  }
}
