import type { World } from './world.ts';

const TRY_MS = 5_000;

/**
 * Plays the person who decides what becomes of finals whose day was dropped: books those of requests that were not charged, and dismisses the others,
 * as the archive of that day says. Returns the requests of the dismissed ones.
 */
export async function bookLetters(world: World): Promise<Set<string>> {
  const letters = world.postgres.rows.letters
    .committed()
    .filter(({ reason }) => reason.includes('were dropped'));
  const dismissed = new Set(
    letters.map(({ rid }) => rid).filter((rid) => world.truth.bookedFor(rid) > 0),
  );
  const controlPlane = world.controlPlanes.find((one) => one !== null);
  for (const letter of letters.filter(({ rid }) => !dismissed.has(rid))) {
    void controlPlane?.bookLetter(letter).catch((error: unknown) => (world.failure ??= error));
    await world.runTo(world.scheduler.nowMs - world.startMs + TRY_MS);
  }
  return dismissed;
}
