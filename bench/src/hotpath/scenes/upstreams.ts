import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { load, pinToOthers, startHelper } from '../bench-process.ts';
import { CpuClock } from '../cpu.ts';
import { startBare } from '../installation.ts';
import type { Scene } from './scene.ts';

const SECONDS = 2;

interface Way {
  name: string;
  scheme: 'http' | 'https';
  protocol: 'h1' | 'h2';
}
const WAYS: readonly Way[] = [
  { name: 'HTTP/1.1', scheme: 'http', protocol: 'h1' },
  { name: 'HTTP/2', scheme: 'http', protocol: 'h2' },
  { name: 'HTTP/1.1 over TLS', scheme: 'https', protocol: 'h1' },
  { name: 'HTTP/2 over TLS', scheme: 'https', protocol: 'h2' },
];
const KINDS = [
  { name: 'JSON', isStream: false },
  { name: 'stream event by event', isStream: true, model: 'bench-events' },
];

/** Measures the cost of a request for the bare proxy by how it speaks to its upstream. No build takes part. */
export const upstreams: Scene = async ({ subjects, rounds }) => {
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-bench-tls-'));
  const stops: (() => void)[] = [];
  try {
    makeCertificate(folder);
    const proxies = [];
    for (const way of WAYS) {
      const plain = way.protocol === 'h2' ? 'h2c' : 'http';
      const kind = way.scheme === 'https' ? folder : plain;
      const upstream = await startHelper('quick-upstream.ts', [kind], way.scheme);
      stops.push(upstream.stop);
      pinToOthers(upstream.pid);
      const proxy = await startBare(upstream.url, way.protocol);
      stops.push(proxy.stop);
      proxies.push({ name: way.name, proxy });
    }
    for (let round = 0; round <= rounds; round += 1)
      for (const { name: kind, ...order } of KINDS)
        for (const { name, proxy } of proxies) {
          const clock = new CpuClock(proxy.pid);
          const done = await load({ ...order, url: proxy.url, keys: ['none'], seconds: SECONDS });
          const micros = clock.lap() / done.requests;
          // The first round warms up.
          for (const { figures } of round === 0 ? [] : subjects) {
            figures.add(`${kind}, upstream by ${name}: bare proxy, CPU a request`, 'us', micros);
          }
        }
  } finally {
    for (const stop of stops) stop();
    rmSync(folder, { recursive: true, force: true });
  }
};

function makeCertificate(folder: string): void {
  const args =
    'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 1 -subj /CN=localhost';
  const files = ['-keyout', path.join(folder, 'tls.key'), '-out', path.join(folder, 'tls.crt')];
  execFileSync('openssl', [...args.split(' '), ...files], { stdio: ['ignore', 'ignore', 'pipe'] });
}
