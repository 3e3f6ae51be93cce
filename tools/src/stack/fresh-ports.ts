import type { PortBook } from './port-book.ts';

const TRIES = 3;

/**
 * Runs `start`; when it fails because another program took one of the ports `names` between choosing and binding, forgets
 * those ports and runs it again, so that new ones are chosen. `start` leaves nothing running when it fails.
 */
export async function withFreshPorts<T>(
  book: PortBook,
  names: readonly string[],
  start: () => Promise<T>,
  log: (line: string) => void,
): Promise<T> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await start();
    } catch (error) {
      const taken = await book.forgetTaken(names);
      if (taken.length === 0 || tries === TRIES) throw error;
      log(`Another program took the port of ${taken.join(', ')}; choosing another one.`);
    }
  }
}
