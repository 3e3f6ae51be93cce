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

/** One fault, or something that a customer does at a moment where it matters: when it begins, how long it lasts, what it strikes (modulo how many there are) and how hard. */
export interface Fault {
  kind: FaultKind;
  atMs: number;
  forMs: number;
  target: number;
  size: number;
}

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
  'kill-control-plane': 3,
  'cut-redis': 2,
  'cut-postgres': 4,
  'postgres-crash': 2,
  'redis-crash': 5,
  'redis-flush': 2,
  'redis-old-file': 0,
  duplicates: 2,
  'lost-jobs': 2,
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
    // Mostly short; sometimes longer than a lease.
    forMs: random.chance(0.2) ? random.integer(20_000, 90_000) : random.integer(200, 12_000),
    target: random.integer(0, 1_000),
    size: random.next(),
  }));
  const losses = [...drawn, ...drawn.flatMap((fault) => lossesAfter(fault, random))];
  return [...losses, ...losses.flatMap((fault) => oldFileAfter(fault, random))].toSorted(
    (a, b) => a.atMs - b.atMs,
  );
}

const LOSSES = ['redis-flush', 'redis-crash'] as const;

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

/** Redis is lost just when a subscription's tokens are on their way out, more often than chance would have it. */
function lossesAfter({ kind, atMs }: Fault, random: Random): Fault[] {
  if (kind !== 'unsubscribe' || random.chance(0.4)) return [];
  return [
    {
      kind: random.pick(LOSSES),
      atMs: atMs + random.integer(50, 4_000),
      forMs: random.integer(200, 3_000),
      target: 0,
      size: random.next(),
    },
  ];
}

export function describeFault({ kind, atMs, forMs, target, size }: Fault): string {
  return `${kind} at ${atMs} ms for ${forMs} ms (target ${target}, size ${size.toFixed(3)})`;
}
