// Exits 0 while the process of this container is alive. Readiness is the load balancer's business: a draining node is healthy.
import { get } from 'node:http';

get(`http://127.0.0.1:${process.env.PORT ?? 8080}/healthz`, { timeout: 2_000 }, ({ statusCode }) =>
  process.exit(statusCode === 200 ? 0 : 1),
)
  .on('timeout', () => process.exit(1))
  .on('error', () => process.exit(1));
