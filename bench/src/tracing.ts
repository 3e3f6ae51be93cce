import type { ObservedRequest } from '../../apps/proxy-node/src/observe/observed-request.ts';
import { Observer } from '../../apps/proxy-node/src/observe/observer.ts';
import type { Candidate } from '../../apps/proxy-node/src/snapshot/routing-index.ts';
import type { Tracing } from '@tollgate/tracing';

const REQUESTS = 200_000;
const PASSES = 9;
const CANDIDATE = {
  route: { id: 1, upstream_model: 'gpt-5' },
  upstream: { id: 1, protocol: 'openai', base_url: 'https://api.example.com/v1' },
} as Candidate;
const HEADERS = { traceparent: `00-${'a'.repeat(32)}-${'b'.repeat(16)}-00` };

/** Measures the cost of tracing a request at the node: off, on without being sampled, sampled. Nanoseconds a request, median of the passes. */
export async function benchTracing(): Promise<void> {
  let kept = 0;
  const tracing = (isSampled: boolean): Tracing => ({
    samples: () => isSampled,
    record: () => void (kept += 1),
    close: () => Promise.resolve(),
  });
  const modes: Readonly<Record<string, Observer | null>> = {
    off: Observer.of(null, null),
    'on, not sampled': Observer.of(tracing(false), null),
    sampled: Observer.of(tracing(true), null),
  };
  const figures = new Map<string, number[]>();
  for (let pass = 0; pass <= PASSES; pass += 1)
    for (const [name, observer] of Object.entries(modes)) {
      const nanoseconds = measure(observer);
      // The first pass warms up.
      if (pass > 0) figures.set(name, [...(figures.get(name) ?? []), nanoseconds]);
    }
  for (const [name, all] of figures) {
    const sorted = all.toSorted((one, other) => one - other);
    const [least, median, most] = [sorted[0], sorted[PASSES >> 1], sorted.at(-1)].map((each) =>
      (each ?? 0).toFixed(0),
    );
    process.stdout.write(`${name.padEnd(16)} ${median} ns a request (${least} to ${most})\n`);
  }
  process.stdout.write(`${kept} spans were recorded.\n`);
  await Promise.resolve();
}

function measure(observer: Observer | null): number {
  const startedAt = process.hrtime.bigint();
  for (let index = 0; index < REQUESTS; index += 1) follow(observer, `r${index}`);
  return Number(process.hrtime.bigint() - startedAt) / REQUESTS;
}

/** Makes the calls that a request of one attempt makes, in their order. */
function follow(observer: Observer | null, rid: string): void {
  const observed: ObservedRequest | null =
    observer?.follow({ rid, callerId: null, headers: HEADERS }) ?? null;
  for (const stage of ['authenticate', 'parse', 'admit'] as const) observed?.enter(stage);
  const attempt = observed?.attempt(CANDIDATE, { protocol: 'chat', outputLimit: 100 }) ?? null;
  observed?.enter('answer');
  attempt?.end({ upstream_id: 1, status: 200 } as never);
  observed?.enter('journal');
  observed?.traceparentFor('completed');
  observed?.leave();
  observed?.served({
    method: 'POST',
    route: '/v1/chat/completions',
    status: 200,
    durationMs: 1,
  } as never);
}
