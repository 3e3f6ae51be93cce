import { createHash, timingSafeEqual } from 'node:crypto';
import { CHARGED_CLASSES, type UsageFinal } from '@tollgate/contracts';
import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import type { Gate } from './gate.ts';

const LATENCY_SECONDS = [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const DENIED = 'Metrics need the credential of this node: Authorization: Bearer NODE_CREDENTIAL\n';
const OPERATIONS: Record<UsageFinal['protocol'], string> = {
  chat: 'chat',
  messages: 'chat',
  responses: 'chat',
  embeddings: 'embeddings',
};

/** What an operator watches, under OpenTelemetry's GenAI names where it has one. Labels are bounded: models and upstreams, never keys or accounts; and `worker` on all, as each counts from its own start. */
export class Metrics {
  readonly #registry = new Registry();
  readonly #credentialDigest: Buffer;
  readonly #duration = new Histogram({
    name: 'gen_ai_client_operation_duration_seconds',
    help: 'Duration of admitted requests.',
    labelNames: ['gen_ai_operation_name', 'gen_ai_request_model', 'outcome'],
    buckets: LATENCY_SECONDS,
    registers: [this.#registry],
  });
  readonly #firstToken = new Histogram({
    name: 'gen_ai_server_time_to_first_token_seconds',
    help: 'Time to the first content.',
    labelNames: ['gen_ai_request_model'],
    buckets: LATENCY_SECONDS,
    registers: [this.#registry],
  });
  readonly #tokens = new Counter({
    name: 'gen_ai_client_token_usage_total',
    help: 'Tokens by class.',
    labelNames: ['gen_ai_request_model', 'gen_ai_token_type', 'basis'],
    registers: [this.#registry],
  });
  readonly #attempts = new Counter({
    name: 'tollgate_upstream_attempts_total',
    help: 'Attempts at upstreams by result.',
    labelNames: ['upstream_id', 'result'],
    registers: [this.#registry],
  });
  readonly #unpaid = new Counter({
    name: 'tollgate_unpaid_attempt_tokens_total',
    help: 'Estimated tokens of attempts that providers may bill and no customer pays.',
    labelNames: ['upstream_id', 'gen_ai_token_type'],
    registers: [this.#registry],
  });
  readonly #refusals = new Counter({
    name: 'tollgate_refusals_total',
    help: 'Requests refused or failed before their first byte, by status and code.',
    labelNames: ['status', 'code'],
    registers: [this.#registry],
  });

  constructor({
    credential,
    worker,
    gate,
    unacknowledged,
    failOpen,
    snapshotVersion,
  }: {
    credential: string;
    worker: number;
    gate: Gate;
    unacknowledged: () => number;
    failOpen: () => { admissions: number; tokens: number };
    snapshotVersion: () => number;
  }) {
    this.#credentialDigest = digest(credential);
    this.#registry.setDefaultLabels({ worker: String(worker) });
    this.#gauge('tollgate_requests_in_flight', 'Requests being served.', () => gate.inFlight);
    this.#gauge(
      'tollgate_unacknowledged_finals',
      'Finals PostgreSQL has not acknowledged.',
      unacknowledged,
    );
    this.#gauge(
      'tollgate_fail_open_admissions',
      'Requests admitted without Redis since the start.',
      () => failOpen().admissions,
    );
    this.#gauge(
      'tollgate_fail_open_tokens',
      'Charged tokens held or used without Redis that it does not know of yet.',
      () => failOpen().tokens,
    );
    this.#gauge(
      'tollgate_snapshot_version',
      'Version of the routing document in use.',
      snapshotVersion,
    );
    this.#gauge('tollgate_ready', '1 when the node takes requests.', () => Number(gate.isReady));
    collectDefaultMetrics({ register: this.#registry });
  }

  ended(final: UsageFinal, model: string): void {
    this.#duration.observe(
      {
        gen_ai_operation_name: OPERATIONS[final.protocol],
        gen_ai_request_model: model,
        outcome: final.outcome,
      },
      final.duration_ms / 1000,
    );
    if (final.first_token_ms !== null && final.is_stream)
      this.#firstToken.observe({ gen_ai_request_model: model }, final.first_token_ms / 1000);
    for (const type of CHARGED_CLASSES) {
      const count = final[`${type}_tokens`];
      if (count)
        this.#tokens.inc(
          { gen_ai_request_model: model, gen_ai_token_type: type, basis: final.basis },
          count,
        );
    }
    for (const { upstream_id: id, error, cost } of final.attempts) {
      const upstream_id = String(id);
      this.#attempts.inc({ upstream_id, result: error ?? 'ok' });
      if (!cost) continue;
      this.#unpaid.inc({ upstream_id, gen_ai_token_type: 'input' }, cost.input_tokens);
      this.#unpaid.inc({ upstream_id, gen_ai_token_type: 'output' }, cost.output_tokens);
    }
  }

  refused({ status, code }: { status: number; code: string }): void {
    this.#refusals.inc({ status: String(status), code });
  }

  /** Of this process, in Prometheus' text format. */
  text(): Promise<string> {
    return this.#registry.metrics();
  }

  /** 401 without the node's credential: who scrapes sees model names and load. `scrape` gives the text to answer with. */
  async respond(
    authorization: string | undefined,
    scrape: () => Promise<string>,
  ): Promise<Response> {
    const given = digest(authorization?.replace(/^Bearer +/i, '') ?? '');
    if (!timingSafeEqual(given, this.#credentialDigest))
      return new Response(DENIED, {
        status: 401,
        headers: { 'www-authenticate': 'Bearer', 'content-type': 'text/plain; charset=utf-8' },
      });
    return new Response(await scrape(), {
      headers: { 'content-type': this.#registry.contentType },
    });
  }

  #gauge(name: string, help: string, read: () => number): void {
    // prom-client calls collect on the gauge itself when it is scraped.
    new Gauge({
      name,
      help,
      registers: [this.#registry],
      collect() {
        this.set(read());
      },
    });
  }
}

function digest(text: string): Buffer {
  return createHash('sha256').update(text).digest();
}
