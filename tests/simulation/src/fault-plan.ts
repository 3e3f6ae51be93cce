import type { FunctionName } from '../../../libs/keyspace/test/past-the-stores.ts';
import type { Random } from './random.ts';

const FAULT_KINDS = [
  'kill-node',
  'power-loss',
  'lost-disk',
  'lying-disk',
  'full-disk',
  'failing-disk',
  'damaged-journal',
  'node-clock',
  'redis-clock',
  'control-plane-clock',
  'cut-node',
  'slow-link',
  'stall',
  'kill-control-plane',
  'cut-redis',
  'cut-postgres',
  'postgres-crash',
  'redis-crash',
  'redis-flush',
  'redis-old-file',
  'duplicates',
  'lost-jobs',
  'drop-days',
  'unsubscribe',
  'forgery',
] as const;
export type FaultKind = (typeof FAULT_KINDS)[number];

/** Is one fault, or something that a customer does at a moment where it matters: when it begins, how long it lasts, what it strikes (modulo how many there are) and how hard. */
export interface Fault {
  kind: FaultKind;
  atMs: number;
  forMs: number;
  target: number;
  size: number;
  /** It waits for calls of this function and strikes so long after each of the next `times`; else it strikes at its moment. */
  afterCall?: { name: FunctionName; lagMs: number; times: number };
}

const LAG_MS_MAX = 2_000;
const STRIKES_MAX = 4;
/** Lists those that move tokens or records: each is as likely to be struck, however seldom it is called. */
const STRUCK_CALLS: readonly FunctionName[] = [
  ...(['admit', 'checkpoint', 'restore', 'settle', 'reap', 'credit', 'withdraw'] as const),
  ...(['repeat_withdrawal', 'repeat_release', 'put_subscription', 'advance_epoch'] as const),
];

const WEIGHTS: Record<FaultKind, number> = {
  'kill-node': 6,
  'power-loss': 2,
  'lost-disk': 1,
  'lying-disk': 1,
  'full-disk': 2,
  'failing-disk': 1,
  'damaged-journal': 1,
  'node-clock': 2,
  'redis-clock': 3,
  'control-plane-clock': 2,
  'cut-node': 4,
  'slow-link': 3,
  stall: 3,
  'kill-control-plane': 3,
  'cut-redis': 2,
  'cut-postgres': 4,
  'postgres-crash': 2,
  'redis-crash': 5,
  'redis-flush': 5,
  'redis-old-file': 0,
  duplicates: 2,
  'lost-jobs': 4,
  'drop-days': 1,
  unsubscribe: 3,
  forgery: 2,
};

export function drawFaults(
  random: Random,
  { forMs, count }: { forMs: number; count: number },
): Fault[] {
  const bag = FAULT_KINDS.flatMap((kind) => Array.from({ length: WEIGHTS[kind] }, () => kind));
  const drawn = Array.from({ length: count }, (): Fault => ({
    kind: random.pick(bag),
    atMs: random.integer(2_000, forMs),
    // The fault is mostly short, and sometimes longer than a lease.
    forMs: random.chance(0.2) ? random.integer(20_000, 90_000) : random.integer(200, 12_000),
    target: random.integer(0, 1_000),
    size: random.next(),
    ...(random.chance(0.6) && { afterCall: drawCall(random) }),
  }));
  return [...drawn, ...drawn.flatMap((fault) => oldFileAfter(fault, random))].toSorted(
    (a, b) => a.atMs - b.atMs,
  );
}

/** Draws a call that strikes at once, or after as much as takes a thousand times as long. */
function drawCall(random: Random): NonNullable<Fault['afterCall']> {
  return {
    name: random.pick(STRUCK_CALLS),
    lagMs: random.chance(0.3) ? 0 : Math.round(LAG_MS_MAX ** random.next()),
    times: random.integer(1, STRIKES_MAX),
  };
}

/** A file from before a loss is put in place, more often than chance would have it. */
function oldFileAfter({ kind, atMs }: Fault, random: Random): Fault[] {
  if (kind !== 'redis-flush' || random.chance(0.6)) return [];
  return [
    {
      kind: 'redis-old-file',
      atMs: atMs + random.integer(6_000, 40_000),
      forMs: random.integer(200, 3_000),
      target: 0,
      size: 0,
    },
  ];
}

export function describeFault({ kind, atMs, forMs, target, size, afterCall }: Fault): string {
  const moment = afterCall
    ? `, ${afterCall.lagMs} ms after each of the next ${afterCall.times} ${afterCall.name}`
    : '';
  return `${kind} at ${atMs} ms${moment} for ${forMs} ms (target ${target}, size ${size.toFixed(3)})`;
}
