// Exits 0 while the process of this container is alive. Readiness is the load balancer's business: a draining node is healthy.
const response = await fetch(`http://127.0.0.1:${process.env.PORT ?? 8080}/healthz`, { signal: AbortSignal.timeout(2_000) }).catch(() => undefined);
process.exit(response?.ok ? 0 : 1);
