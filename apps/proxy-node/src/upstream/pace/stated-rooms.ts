import type { StatedLimits } from '@tollgate/protocols';

interface Room {
  requests: number;
  requestsUntil: number;
  tokens: number;
  tokensUntil: number;
}

/** So many routes; beyond them all is learned again. */
const ROOMS_MAX = 10_000;

/** Keeps how much providers state that they still take, by route. Pure state; the clock is passed in. */
export class StatedRooms {
  readonly #rooms = new Map<number, Room>();

  stated(key: number, { requests, tokens }: StatedLimits, now: number): void {
    if (this.#rooms.size >= ROOMS_MAX) this.#rooms.clear();
    this.#rooms.set(key, {
      requests: requests?.remaining ?? Number.POSITIVE_INFINITY,
      requestsUntil: now + (requests?.resetMs ?? 0),
      tokens: tokens?.remaining ?? Number.POSITIVE_INFINITY,
      tokensUntil: now + (tokens?.resetMs ?? 0),
    });
  }

  /** A request is on its way, which no answer has counted yet. */
  started(key: number): void {
    const room = this.#rooms.get(key);
    if (room) room.requests = Math.max(0, room.requests - 1);
  }

  /** Requests that the provider would still take; null where it states nothing of now. */
  of(key: number, now: number): number | null {
    const room = this.#rooms.size === 0 ? undefined : this.#rooms.get(key);
    if (!room) return null;
    if (room.tokens <= 0 && room.tokensUntil > now) return 0;
    return room.requestsUntil > now && Number.isFinite(room.requests) ? room.requests : null;
  }

  retain(keys: ReadonlyMap<number, unknown>): void {
    for (const key of this.#rooms.keys()) if (!keys.has(key)) this.#rooms.delete(key);
  }
}
