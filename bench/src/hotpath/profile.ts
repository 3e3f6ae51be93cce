import { readFileSync } from 'node:fs';

interface ProfileNode {
  id: number;
  callFrame: { functionName: string; url: string; lineNumber: number };
}
interface Profile {
  nodes: ProfileNode[];
  samples: number[];
  timeDeltas: number[];
}

const TOP = 10;

/** Reports where the CPU of a profile went: by stage (a package, a folder of ours, a part of Node), and the functions with the most time of their own. */
export function describeProfile(file: string, requests: number): string {
  const profile = JSON.parse(readFileSync(file, 'utf8')) as Profile;
  const byId = new Map(profile.nodes.map((node) => [node.id, node]));
  const stages = new Map<string, number>();
  const functions = new Map<string, number>();
  profile.samples.forEach((id, index) => {
    const node = byId.get(id);
    const micros = profile.timeDeltas[index] ?? 0;
    if (!node || node.callFrame.functionName === '(idle)') return;
    add(stages, stageOf(node), micros);
    const { functionName, url, lineNumber } = node.callFrame;
    add(functions, `${functionName || '(anonymous)'} ${shortUrl(url)}:${lineNumber + 1}`, micros);
  });
  const table = (title: string, sums: ReadonlyMap<string, number>, top: number): string =>
    [
      `| ${title} | us a request |`,
      '| --- | --- |',
      ...[...sums]
        .sort(([, a], [, b]) => b - a)
        .slice(0, top)
        .map(([name, micros]) => `| ${name} | ${(micros / requests).toFixed(1)} |`),
    ].join('\n');
  return `${table('Stage', stages, 40)}\n\n${table('Function', functions, 4 * TOP)}\n`;
}

function add(sums: Map<string, number>, name: string, micros: number): void {
  sums.set(name, (sums.get(name) ?? 0) + micros);
}

function stageOf({ callFrame: { functionName, url } }: ProfileNode): string {
  if (url.startsWith('node:internal/')) return url.replace('internal/', '').split('/', 2).join('/');
  if (url === '') return functionName.startsWith('(') ? functionName : 'native';
  const packages = url.split('/node_modules/');
  if (packages.length > 1) return (packages.at(-1) as string).split('/', 1)[0] as string;
  return shortUrl(url).split('/').slice(0, -1).join('/') || shortUrl(url);
}

function shortUrl(url: string): string {
  return url.replace(/^.*\/node_modules\//, '').replace(/^.*\/(apps|libs)\/([^/]+)\/dist\//, '$2/');
}
