import { createServer } from 'node:http';
import { Pool } from 'undici';

const H2_CONNECTIONS = 2;
/** The pool of undici 8 reads it, and its types name it of a client alone. */
const PRIOR_KNOWLEDGE = { useH2c: true };

/**
 * Is the baseline of all figures: node:http in, undici out, no key, no meter, nothing parsed. The arguments are the upstream's origin and its protocol
 * (`h1`, which is the default, or `h2`: over TLS where the origin says https, else with prior knowledge). It prints its port.
 */
const [origin = '', protocol = 'h1'] = process.argv.slice(2);
const allowH2 = protocol === 'h2';
const pool = new Pool(origin, {
  // The streams of HTTP/2 share connections.
  connections: allowH2 ? H2_CONNECTIONS : null,
  allowH2,
  ...(allowH2 && origin.startsWith('http:') ? PRIOR_KNOWLEDGE : {}),
  // The bench has made the certificate for this run.
  connect: { rejectUnauthorized: false },
});
const server = createServer((request, response) => {
  void pool
    .stream(
      {
        path: request.url ?? '/',
        method: 'POST',
        body: request,
        headers: { 'content-type': 'application/json' },
        opaque: response,
      },
      ({ headers }) => {
        response.writeHead(200, { 'content-type': String(headers['content-type']) });
        return response;
      },
    )
    .catch(() => response.destroy());
});
server.listen(0, '127.0.0.1', 4_096, () =>
  process.stdout.write(`${(server.address() as { port: number }).port}\n`),
);
