import { Agent, request } from 'node:http';

/** Keeps CONNECTIONS requests in flight for SECONDS. Arguments: url, key, model, json|stream, seconds. Prints {requests, failures, latenciesMs: {p50, p99}}. */
const [url = '', key = '', model = '', kind = 'json', seconds = '8'] = process.argv.slice(2);
const CONNECTIONS = 32;
const body = JSON.stringify({
  model,
  ...(kind === 'stream' ? { stream: true } : {}),
  max_tokens: 200,
  messages: [{ role: 'user', content: 'How many tokens pass the gate?' }],
});
const agent = new Agent({ keepAlive: true, maxSockets: CONNECTIONS });
const until = Date.now() + Number(seconds) * 1000;
const latencies: number[] = [];
let failures = 0;

function once(): Promise<void> {
  return new Promise((resolve) => {
    const startedAt = performance.now();
    const outgoing = request(
      `${url}/v1/chat/completions`,
      {
        agent,
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
        },
      },
      (response) => {
        if (response.statusCode !== 200) failures += 1;
        response.resume();
        response.on('close', () => {
          latencies.push(performance.now() - startedAt);
          resolve();
        });
      },
    );
    outgoing.on('error', () => {
      failures += 1;
      resolve();
    });
    outgoing.end(body);
  });
}

async function worker(): Promise<void> {
  while (Date.now() < until) await once();
}

await Promise.all(Array.from({ length: CONNECTIONS }, worker));
latencies.sort((a, b) => a - b);
const at = (share: number): number =>
  Math.round((latencies[Math.floor(latencies.length * share)] ?? 0) * 100) / 100;
process.stdout.write(
  `${JSON.stringify({ requests: latencies.length, failures, p50Ms: at(0.5), p99Ms: at(0.99) })}\n`,
);
agent.destroy();
