import { load, pinToFirst, startHelper } from '../bench-process.ts';
import { CpuClock } from '../cpu.ts';
import type { LoadOrder } from '../load-order.ts';
import type { Scene } from './scene.ts';

type Kind = Partial<LoadOrder> & { name: string; seconds: number };

const KINDS: readonly Kind[] = [
  { name: 'JSON', seconds: 3 },
  { name: 'stream in one write', isStream: true, seconds: 3 },
  { name: '100 JSON a second', perSecond: 100, connections: 8, seconds: 6 },
];
const WARM_UP_SECONDS = 6;

/** The least that an exact proxy does (`least-proxy.ts`), bare proxy and node, one after the other in each round. */
export const floor: Scene = async ({ subjects, floor: { upstream, bare }, rounds }) => {
  for (const { installation, figures } of subjects) {
    const least = await startHelper('least-proxy.ts', [
      upstream.url,
      installation.tollgate.redisUrl,
    ]);
    pinToFirst(least.pid);
    const measured = [
      { who: 'bare proxy', pid: bare.pid, url: bare.url },
      { who: 'least exact proxy', pid: least.pid, url: least.url },
      { who: 'node', pid: installation.pidOf('node-1'), url: installation.nodeUrl },
    ];
    await load({ url: least.url, keys: ['none'], seconds: WARM_UP_SECONDS });
    for (let round = 0; round < rounds; round += 1)
      for (const kind of KINDS) {
        const micros: number[] = [];
        for (const { who, pid, url } of measured) {
          const clock = new CpuClock(pid);
          const { requests } = await load({ ...kind, url, keys: installation.keys });
          micros.push(clock.lap() / requests);
          figures.add(`${kind.name}: ${who}, CPU a request`, 'us', micros.at(-1) as number);
        }
        const [ofBare = 0, ofLeast = 0, ofNode = 0] = micros;
        figures.add(`${kind.name}: least exact proxy`, 'x bare', ofLeast / ofBare);
        figures.add(`${kind.name}: node`, 'x least exact proxy', ofNode / ofLeast);
      }
    least.stop();
    await installation.audit();
  }
};
