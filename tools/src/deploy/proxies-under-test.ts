import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { ROOT } from '../checkout.ts';
import {
  debianFolder,
  downloadDebianPackages,
  libraryFolders,
} from '../embedded/debian-packages.mjs';
import { envoyProgram } from './envoy-program.ts';

/** Names the folders of a package that is unpacked and not installed. */
const NGINX_FOLDERS = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi']
  .map((each) => `${each}_temp_path ${each};`)
  .concat('access_log off;')
  .join('\n');

interface Proxy {
  name: string;
  file: string;
  /** Names the program in the Debian package of this name; null for Envoy, which Debian does not have. */
  program: string | null;
  args: (config: string, folder: string) => string[];
  /** Matches the name of a caller on this machine; 127.0.0.1 unless given. */
  caller?: RegExp;
}

export const PROXIES: readonly Proxy[] = [
  {
    name: 'nginx',
    file: 'deploy/proxies/nginx.conf',
    program: 'usr/sbin/nginx',
    args: (config, folder) => [
      '-c',
      config,
      '-p',
      folder,
      '-e',
      'stderr',
      '-g',
      `daemon off; pid ${folder}/pid; user root;`,
    ],
  },
  {
    name: 'haproxy',
    file: 'deploy/proxies/haproxy.cfg',
    program: 'usr/sbin/haproxy',
    args: (config) => ['-db', '-f', config],
  },
  {
    name: 'caddy',
    file: 'deploy/caddy/Caddyfile',
    program: 'usr/bin/caddy',
    args: (config) => ['run', '--adapter', 'caddyfile', '--config', config],
  },
  {
    name: 'envoy',
    file: 'deploy/proxies/envoy.yaml',
    program: null,
    args: (config) => ['-c', config, '--concurrency', '1', '--disable-hot-restart', '-l', 'error'],
    // Envoy names a caller on its own machine by the address of a network card.
    caller: /^node \/v1\/who (?!203\.0\.113\.7)[0-9a-f.:]+$/,
  },
];

/** Starts a server that gets the path, the way to answer, and whom the proxy names as caller. */
export async function listening(
  handle: (path_: string, response: ServerResponse, forwardedFor: string) => void,
): Promise<Server> {
  const server = createServer((request, response) => {
    request.resume();
    request.on('end', () =>
      handle(
        request.url ?? '',
        response,
        [request.headers['x-forwarded-for'], request.headers.forwarded].filter(Boolean).join(' '),
      ),
    );
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return server;
}

interface Behind {
  nodes: readonly [Server, Server];
  controlPlane: Server;
}

/** Returns the sample with these addresses in place of its own. */
export function configured(
  { file }: Proxy,
  port: number,
  { nodes: [first, second], controlPlane }: Behind,
): string {
  const at = (server: Server): string => `127.0.0.1:${portOf(server)}`;
  return (
    readFileSync(path.join(ROOT, file), 'utf8')
      .replaceAll(/(?<=[\s{])node-1:8080/g, at(first))
      .replaceAll(/(?<=[\s{])node-2:8080/g, at(second))
      .replaceAll(/(?<=\s)control-plane(?:-1)?:8080/g, at(controlPlane))
      .replace('{$TOLLGATE_ADDRESS::8080}', `:${port}`)
      .replaceAll('{$PROXY_ADDRESSES}', [...new Set([at(first), at(second)])].join(' '))
      // Debian's Caddy is older: it has no health_fails, and another form of arguments.
      .replaceAll(/^\s*health_fails.*\n/gm, '')
      .replaceAll(/\{args\[(\d)\]\}/g, '{args.$1}')
      .replace(/^http \{/m, `http {\n${NGINX_FOLDERS}`)
      .replaceAll(/address: (?:node-\d|control-plane-1), port_value: 8080/g, (found) => {
        const nodes = found.includes('node-1') ? first : second;
        return `address: 127.0.0.1, port_value: ${portOf(found.includes('node') ? nodes : controlPlane)}`;
      })
      .replace('0.0.0.0, port_value: 8080', `127.0.0.1, port_value: ${port}`)
      .replace(/listen 8080/, `listen 127.0.0.1:${port}`)
      .replace(/bind :8080/, `bind 127.0.0.1:${port}`)
  );
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

/** Starts the real program of a reverse proxy. */
export async function started(
  { name, program, args }: Proxy,
  config: string,
  folder: string,
): Promise<ChildProcess> {
  const { file, libraries } =
    program === null ? { file: envoyProgram(), libraries: [] } : await debianProgram(name, program);
  return spawn(file, args(config, folder), {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: { ...process.env, HOME: folder, LD_LIBRARY_PATH: libraries.join(':') },
  });
}

async function debianProgram(
  name: string,
  program: string,
): Promise<{ file: string; libraries: string[] }> {
  const packages = { name, wanted: [name], known: [name] };
  const root = debianFolder(packages);
  if (!existsSync(path.join(root, program))) {
    const problem = await downloadDebianPackages(packages);
    if (problem !== undefined) throw new Error(`${name} could not be downloaded: ${problem}`);
  }
  return { file: path.join(root, program), libraries: libraryFolders(root) };
}

export async function ended(child: ChildProcess | undefined, folder: string): Promise<void> {
  if (child?.exitCode === null) {
    child.kill('SIGTERM');
    await once(child, 'exit');
  }
  rmSync(folder, { recursive: true, force: true });
}
