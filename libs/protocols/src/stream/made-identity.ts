/** Holds the id and time of an answer that the gateway itself writes. Both come from the request id, so that no clock or random source is needed. */
export interface Identity {
  id: string;
  /** Is in Unix seconds. */
  created: number;
}

const UUID_V7 = /^([0-9a-f]{8})-([0-9a-f]{4})-7/i;

export function madeIdentity(prefix: string, idSeed: string): Identity {
  return { id: `${prefix}${idSeed.replaceAll('-', '')}`, created: secondsOf(idSeed) };
}

/** A UUIDv7 begins with its Unix milliseconds (RFC 9562, 5.7). */
function secondsOf(idSeed: string): number {
  const match = UUID_V7.exec(idSeed);
  return match ? Math.floor(Number.parseInt(`${match[1]}${match[2]}`, 16) / 1_000) : 0;
}
