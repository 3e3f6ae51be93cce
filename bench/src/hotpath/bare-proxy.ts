import { createServer } from 'node:http';
import { Pool } from 'undici';

/** What all figures are compared with: node:http in, undici out, no key, no meter, nothing parsed. Argument: the upstream's origin. Prints its port. */
const pool = new Pool(process.argv[2] ?? '', { connections: 1_024 });
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
