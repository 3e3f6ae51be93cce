import type { StatedLimit, StatedLimits } from '@tollgate/protocols';
import { DeclaredRoom, type DeclaredLimits } from './declared-limits.ts';

/** Names a route, or a route with one of several credentials. */
export interface NamedRoute {
  readonly routeId: number;
  readonly credentialId?: number | undefined;
}

export type RouteKey = string | number;

export function keyOf({ routeId, credentialId }: NamedRoute): RouteKey {
  return credentialId === undefined ? routeId : `${routeId}/${credentialId}`;
}

interface Room {
  requests: number;
  requestsUntil: number;
  tokens: number;
  tokensUntil: number;
}

/** A stated limit counts at most this long. Then the route is asked again, and a 429 makes it rest, so that a wrong reset keeps no route away. */
const STATED_MS_MAX = 60_000;

/** Keeps how much providers still take, as they state and operators declare, by route and credential. Pure state; the clock is passed in. */
export class Rooms {
  readonly #stated = new Map<RouteKey, Room>();
  readonly #declared = new Map<RouteKey, DeclaredRoom>();

  stated(of: NamedRoute, { requests, tokens }: StatedLimits, now: number): void {
    this.#stated.set(keyOf(of), {
      requests: requests?.remaining ?? Number.POSITIVE_INFINITY,
      requestsUntil: untilOf(requests, now),
      tokens: tokens?.remaining ?? Number.POSITIVE_INFINITY,
      tokensUntil: untilOf(tokens, now),
    });
  }

  /** Keeps what was counted where the limits are as they were. */
  declare(of: NamedRoute, limits: DeclaredLimits): void {
    const key = keyOf(of);
    if (limits.rpm === undefined && limits.tpm === undefined) this.#declared.delete(key);
    else if (!this.#declared.get(key)?.isOf(limits))
      this.#declared.set(key, new DeclaredRoom(limits));
  }

  /** A request is on its way, which no answer has counted yet. */
  started(of: NamedRoute, now: number): void {
    if (this.#isEmpty) return;
    const key = keyOf(of);
    const room = this.#stated.get(key);
    if (room) room.requests = Math.max(0, room.requests - 1);
    this.#declared.get(key)?.started(now);
  }

  /** Counts the tokens of an answer against what is declared; what is stated counts them already. */
  used(of: NamedRoute, tokens: number, now: number): void {
    this.#declared.get(keyOf(of))?.used(tokens, now);
  }

  /** Counts the requests that the provider would still take; null where nothing is stated of now, or declared. */
  of(route: NamedRoute, now: number): number | null {
    if (this.#isEmpty) return null;
    const key = keyOf(route);
    const stated = statedLeft(this.#stated.get(key), now);
    const declared = this.#declared.get(key)?.left(now) ?? null;
    if (stated === null || declared === null) return stated ?? declared;
    return Math.min(stated, declared);
  }

  retain(isSame: (key: RouteKey) => boolean, isKept: (key: RouteKey) => boolean): void {
    for (const key of this.#stated.keys()) if (!isSame(key)) this.#stated.delete(key);
    for (const key of this.#declared.keys()) if (!isKept(key)) this.#declared.delete(key);
  }

  get areDeclared(): boolean {
    return this.#declared.size > 0;
  }

  get #isEmpty(): boolean {
    return this.#stated.size === 0 && this.#declared.size === 0;
  }
}

function statedLeft(room: Room | undefined, now: number): number | null {
  if (!room) return null;
  if (room.tokens <= 0 && room.tokensUntil > now) return 0;
  return room.requestsUntil > now && Number.isFinite(room.requests) ? room.requests : null;
}

function untilOf(limit: StatedLimit | null, now: number): number {
  return now + Math.min(limit?.resetMs ?? 0, STATED_MS_MAX);
}
