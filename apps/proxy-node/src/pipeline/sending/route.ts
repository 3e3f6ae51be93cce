import type { SkipReason } from '@tollgate/contracts';
import type { CandidateGroups, Candidate } from '../../snapshot/routing-index.ts';
import type { UpstreamHealth } from '../../upstream/upstream-health.ts';
import { rankFor } from './session-affinity.ts';

export type Choice =
  | { kind: 'candidate'; candidate: Candidate }
  /** Routes are left, but all rest: `skipped` says why. The first may be tried after `waitMs`; `isRateLimited` is true where its provider's limit is what it waits for. */
  | {
      kind: 'resting';
      waitMs: number;
      isRateLimited: boolean;
      skipped: readonly Skipped[];
    }
  | { kind: 'exhausted' };

/** Describes a route that may not be tried now. */
export interface Skipped {
  readonly upstreamId: number;
  readonly routeId: number;
  readonly reason: SkipReason;
}

/** Full upstreams are checked again soon: a place may free any moment. */
const FULL_WAIT_MS = 1_000;

export interface Routing {
  groups: CandidateGroups;
  tried: readonly number[];
  /** Lists candidates whose credential was refused; their routes may be tried with another. */
  refused?: readonly Candidate[];
  /** Is the session that the request belongs to; null when there is none. */
  session: string | null;
  health: UpstreamHealth;
  /** Is the account of the request: a route may rest for one account alone. */
  accountId: number;
  now: number;
  random: () => number;
}

/**
 * Returns the next upstream to try: in the first group with a candidate that is free, the one that ranks first for the session, else of two drawn by weight
 * the less loaded one (power of two choices). A route is tried once a request, and again with another credential where one is refused.
 */
export function route(routing: Routing): Choice {
  const { groups, tried, refused = [] } = routing;
  let first: Wait = { ms: Number.POSITIVE_INFINITY, isRateLimit: false, reason: 'resting' };
  const skipped: Skipped[] = [];
  let full: readonly Candidate[] = [];
  for (const group of groups) {
    const free: Candidate[] = [];
    for (const candidate of group) {
      if (tried.includes(candidate.route.id) || refused.includes(candidate)) continue;
      const wait = waitFor(candidate, routing);
      if (!wait) {
        free.push(candidate);
        continue;
      }
      if (wait.ms < first.ms) first = wait;
      const { route: of, upstream } = candidate;
      skipped.push({ upstreamId: upstream.id, routeId: of.id, reason: wait.reason });
    }
    if (full.length === 0) full = free;
    const candidate = chosen(withRoom(free, routing), routing);
    if (candidate) return { kind: 'candidate', candidate };
  }
  // A provider's word may be old: where none has room the first group is asked nevertheless.
  const candidate = chosen(full, routing);
  if (candidate) return { kind: 'candidate', candidate };
  if (skipped.length === 0) return { kind: 'exhausted' };
  return { kind: 'resting', waitMs: first.ms, isRateLimited: first.isRateLimit, skipped };
}

interface Wait {
  readonly ms: number;
  readonly isRateLimit: boolean;
  readonly reason: SkipReason;
}

function waitFor(
  { route: { id }, upstream }: Candidate,
  { health, accountId, now }: Routing,
): Wait | null {
  const tokenMs = health.tokenWaitMs(upstream, now);
  if (tokenMs > 0) return { ms: tokenMs, isRateLimit: false, reason: 'no_token' };
  const use = {
    upstreamId: upstream.id,
    routeId: id,
    credentialId: upstream.credentialId,
    accountId,
  };
  const ms = health.waitMs(use, now);
  if (ms > 0) return { ms, isRateLimit: health.isRateLimited(use, now), reason: 'resting' };
  return upstream.max_concurrency !== null &&
    health.inFlight(upstream.id) >= upstream.max_concurrency
    ? { ms: FULL_WAIT_MS, isRateLimit: false, reason: 'full' }
    : null;
}

function roomOf({ route: { id: routeId }, upstream }: Candidate, { health, now }: Routing) {
  return health.rooms.of({ routeId, credentialId: upstream.credentialId }, now);
}

/** Returns those candidates whose providers do not state that they would refuse. */
function withRoom(free: readonly Candidate[], routing: Routing): readonly Candidate[] {
  const hasRoom = (candidate: Candidate): boolean => roomOf(candidate, routing) !== 0;
  return free.every(hasRoom) ? free : free.filter(hasRoom);
}

function chosen(free: readonly Candidate[], routing: Routing): Candidate | undefined {
  const { session, health, random } = routing;
  if (free.length < 2) return free[0];
  if (session !== null) return firstFor(session, free);
  const rooms = free.map((candidate) => roomOf(candidate, routing) ?? 0);
  // The candidates share requests by what each still takes, so that all are used up together.
  return rooms.every((room) => room > 0)
    ? draw(free, rooms, random)
    : lessLoaded(free, health, random);
}

function firstFor(session: string, free: readonly Candidate[]): Candidate | undefined {
  if (free.length < 2) return free[0];
  const ranks = free.map(({ route: { id }, upstream: { credentialId }, weight }) =>
    rankFor(session, { id, weight, credentialId }),
  );
  return free[ranks.indexOf(Math.max(...ranks))];
}

function lessLoaded(
  free: readonly Candidate[],
  health: UpstreamHealth,
  random: () => number,
): Candidate | undefined {
  if (free.length < 2) return free[0];
  const one = draw(free, free.map(weightOf), random);
  const others = free.filter((candidate) => candidate !== one);
  const other = draw(others, others.map(weightOf), random);
  return health.load(other.upstream.id) < health.load(one.upstream.id) ? other : one;
}

function weightOf({ weight }: Candidate): number {
  return weight;
}

function draw(
  candidates: readonly Candidate[],
  weights: readonly number[],
  random: () => number,
): Candidate {
  let point = random() * weights.reduce((sum, weight) => sum + weight, 0);
  const at = weights.findIndex((weight) => (point -= weight) < 0);
  return candidates.at(at) as Candidate;
}
