import { randomInt } from 'node:crypto';
import { createServer } from 'node:net';

/** Is below the ephemeral range (32768 and up): an outgoing connection can never take a port between our look and our use. */
const LOWEST = 20_000;
/** The product refuses upstreams on the ports of other services, 26379 and 27017 among them. */
const HIGHEST = 26_000;
const TRIES = 200;

/** Finds a port on which nothing listens at this moment. `preferred` ones are tried first, in order. */
export async function findFreePort(
  preferred: readonly number[] = [],
  taken: ReadonlySet<number> = new Set(),
): Promise<number> {
  for (const port of preferred) {
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  for (let tries = 0; tries < TRIES; tries += 1) {
    const port = randomInt(LOWEST, HIGHEST);
    if (!taken.has(port) && (await isFree(port))) return port;
  }
  throw new Error(`No free port found between ${LOWEST} and ${HIGHEST}.`);
}

/** Probes all addresses, as a listener on the wildcard address also takes the loopback one. */
export async function isFree(port: number): Promise<boolean> {
  return (await canListen(port, '127.0.0.1')) && (await canListen(port, undefined));
}

function canListen(port: number, host: string | undefined): Promise<boolean> {
  return new Promise((resolve) => {
    const probe = createServer();
    probe.once('error', () => resolve(false));
    probe.listen({ port, host, exclusive: true }, () => probe.close(() => resolve(true)));
  });
}
