import type { StatedLimit, StatedLimits } from '@tollgate/protocols';

interface Room {
  requests: number;
  requestsUntil: number;
  tokens: number;
  tokensUntil: number;
}

/** A stated limit counts at most this long. Then the route is asked again, and a 429 makes it rest, so that a wrong reset keeps no route away. */
const STATED_MS_MAX = 60_000;

/** Keeps how much providers state that they still take, by route. Pure state; the clock is passed in. */
export class StatedRooms {
  readonly #rooms = new Map<number, Room>();

  stated(key: number, { requests, tokens }: StatedLimits, now: number): void {
    this.#rooms.set(key, {
      requests: requests?.remaining ?? Number.POSITIVE_INFINITY,
      requestsUntil: untilOf(requests, now),
      tokens: tokens?.remaining ?? Number.POSITIVE_INFINITY,
      tokensUntil: untilOf(tokens, now),
    });
  }

  /** A request is on its way, which no answer has counted yet. */
  started(key: number): void {
    const room = this.#rooms.get(key);
    if (room) room.requests = Math.max(0, room.requests - 1);
  }

  /** Counts the requests that the provider would still take; null where it states nothing of now. */
  of(key: number, now: number): number | null {
    const room = this.#rooms.size === 0 ? undefined : this.#rooms.get(key);
    if (!room) return null;
    if (room.tokens <= 0 && room.tokensUntil > now) return 0;
    return room.requestsUntil > now && Number.isFinite(room.requests) ? room.requests : null;
  }

  retain(isKept: (key: number) => boolean): void {
    for (const key of this.#rooms.keys()) if (!isKept(key)) this.#rooms.delete(key);
  }
}

function untilOf(limit: StatedLimit | null, now: number): number {
  return now + Math.min(limit?.resetMs ?? 0, STATED_MS_MAX);
}
