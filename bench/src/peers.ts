import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { findFreePort } from '@tollgate/tools';
import { load } from './hotpath/bench-process.ts';
import { CpuClock } from './hotpath/cpu.ts';
import { Figures, medianOf, sumOf, type Figure } from './hotpath/figures.ts';
import { BenchInstallation, NODE, startYardstick, type Yardstick } from './hotpath/installation.ts';
import type { LoadOrder } from './hotpath/load-order.ts';
import { litellm } from './peers/litellm.ts';
import { nginx } from './peers/nginx.ts';
import { PEER_KEY, type Peer, type Place } from './peers/peer.ts';
import { portkey } from './peers/portkey.ts';

const FOLDER = path.resolve(import.meta.dirname, '..', '..', '.tollgate', 'bench', 'peers');
const PEERS: readonly Peer[] = [nginx, portkey, litellm];
const KINDS = [
  { name: 'JSON', isStream: false },
  { name: 'stream in one write', isStream: true },
] as const;
const SECONDS = 3;
const WARM_UP_SECONDS = 6;
const READY_MS = 120_000;
const READY_POLL_MS = 250;
const USAGE = `npm run bench -- peers [NAME ...] [--rounds N]   of ${PEERS.map(({ name }) => name).join(', ')}; installs them under .tollgate/bench/peers`;

/** Holds what is measured in each round: all of it on the first core, load and upstream on the others. */
interface Contender {
  name: string;
  clocks: Readonly<Record<string, CpuClock>>;
  load: (order: Partial<LoadOrder>) => ReturnType<typeof load>;
  stop: () => void;
}

/** Compares Tollgate with other gateways and a bare proxy, before the same upstream and under the same load, one after the other in each round. */
export async function benchPeers(args: readonly string[]): Promise<void> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: 'string', default: '5' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  });
  const isNamed = ({ name }: Peer): boolean =>
    positionals.length === 0 || positionals.some((one) => one.toLowerCase() === name.toLowerCase());
  const peers = PEERS.filter(isNamed);
  if (values.help || peers.length < positionals.length) {
    process.stdout.write(`${USAGE}\n`);
    return;
  }
  const yardstick = await startYardstick();
  const installation = await BenchInstallation.start({
    checkout: path.resolve(import.meta.dirname, '..', '..'),
    upstreamUrl: yardstick.upstream.url,
  });
  const contenders = [bareContender(yardstick), ownContender(installation)];
  try {
    for (const peer of peers) contenders.push(await startPeer(peer, yardstick.upstream.url));
    for (const { load: send } of contenders)
      for (const { isStream } of KINDS) await send({ isStream, seconds: WARM_UP_SECONDS });
    const figures = await measure(contenders, Number(values.rounds));
    await installation.audit();
    process.stdout.write(`${tableOf(figures)}\n\n${described(peers)}\n`);
  } finally {
    for (const { stop } of contenders) stop();
    await installation.stop();
  }
}

async function measure(
  contenders: readonly Contender[],
  rounds: number,
): Promise<Map<string, Figures['all']>> {
  const sets = new Map(contenders.map(({ name }) => [name, new Figures()]));
  for (let round = 0; round < rounds; round += 1)
    for (const kind of KINDS)
      for (const { name, clocks, load: send } of contenders) {
        for (const clock of Object.values(clocks)) clock.lap();
        const { requests, refused, p50Ms } = await send({ ...kind, seconds: SECONDS });
        const answered = requests - sumOf(refused);
        const figures = sets.get(name);
        figures?.add(`${kind.name}: refused`, '%', (sumOf(refused) / requests) * 100);
        // A release may not do one of the kinds on the Node of today.
        if (answered === 0) continue;
        for (const [what, clock] of Object.entries(clocks))
          figures?.add(`${kind.name}: CPU a request, ${what}`, 'us', clock.lap() / answered);
        figures?.add(`${kind.name}: answered`, '/s', answered / SECONDS);
        figures?.add(`${kind.name}: p50 of 32 at once`, 'ms', p50Ms);
      }
  return new Map([...sets].map(([name, figures]) => [name, figures.all]));
}

function bareContender({ bare, stop }: Yardstick): Contender {
  const clock = (): CpuClock => new CpuClock(bare.pid);
  return {
    name: 'bare proxy',
    clocks: { gateway: clock(), all: clock() },
    load: (order) => load({ url: bare.url, keys: ['none'], ...order }),
    stop,
  };
}

/** `all` is what it has done until the next turn: booking follows within the same rounds. */
function ownContender(installation: BenchInstallation): Contender {
  return {
    name: 'Tollgate, everything on',
    clocks: { gateway: installation.clock(NODE), all: installation.clockOfAll() },
    load: async (order) => {
      const report = await installation.load(order);
      await installation.audit();
      return report;
    },
    stop: () => undefined,
  };
}

async function startPeer(peer: Peer, upstreamUrl: string): Promise<Contender> {
  const folder = path.join(FOLDER, peer.name.toLowerCase());
  mkdirSync(folder, { recursive: true });
  process.stderr.write(`${peer.name} ...\n`);
  peer.install(folder);
  const place = { folder, port: await findFreePort(), upstreamUrl };
  const child = startOnFirstCore(peer, place);
  const url = `http://127.0.0.1:${place.port}`;
  const headers = peer.headers?.(place) ?? {};
  const clock = (): CpuClock => new CpuClock(child.pid ?? 0);
  await untilServing(peer, { child, url, headers });
  return {
    name: `${peer.name} ${peer.version}`,
    clocks: { gateway: clock(), all: clock() },
    load: (order) => load({ url, keys: [PEER_KEY], headers, ...order }),
    stop: () => child.kill(),
  };
}

function startOnFirstCore(peer: Peer, place: Place): ChildProcess {
  const { file, args, env } = peer.command(place);
  const [command, ...rest] =
    availableParallelism() > 1 ? ['taskset', '-c', '0', file, ...args] : [file, ...args];
  const options = { cwd: place.folder, env: { ...process.env, ...env }, stdio: 'ignore' } as const;
  return spawn(command ?? file, rest, options);
}

async function untilServing(
  { name }: Peer,
  { child, url, headers }: { child: ChildProcess; url: string; headers: Record<string, string> },
): Promise<void> {
  const order = { url, keys: [PEER_KEY], headers, requestsMax: 1, connections: 1, seconds: 5 };
  for (const deadline = Date.now() + READY_MS; Date.now() < deadline; await delay(READY_POLL_MS)) {
    if (child.exitCode !== null) throw new Error(`${name} ended with ${child.exitCode}`);
    const { requests, refused } = await load(order);
    if (requests > sumOf(refused)) return;
  }
  throw new Error(`${name} answered no request within ${READY_MS} ms`);
}

/** Writes Markdown with a row for each contender, the medians with least and most. */
function tableOf(sets: ReadonlyMap<string, readonly Figure[]>): string {
  const names = [...new Set([...sets.values()].flat().map(({ name }) => name))];
  const cell = (figure: Figure | undefined): string => {
    if (!figure) return '';
    const [median, least, most] = [
      medianOf(figure.samples),
      Math.min(...figure.samples),
      Math.max(...figure.samples),
    ].map((value) => value.toFixed(value < 100 ? 1 : 0));
    return `${median} (${least}-${most}) ${figure.unit}`;
  };
  const rows = [...sets].map(([contender, figures]) => [
    contender,
    ...names.map((name) => cell(figures.find((figure) => figure.name === name))),
  ]);
  const lines = [['', ...names], ['---', ...names.map(() => '---')], ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |`).join('\n');
}

function described(peers: readonly Peer[]): string {
  return peers.map(({ name, version, does }) => `- ${name} ${version}: ${does}.`).join('\n');
}
