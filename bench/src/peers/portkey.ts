import { existsSync } from 'node:fs';
import path from 'node:path';
import { install, type Peer } from './peer.ts';

const VERSION = '1.15.2';
const START = 'node_modules/@portkey-ai/gateway/build/start-server.js';

export const portkey: Peer = {
  name: 'Portkey',
  version: VERSION,
  does: 'routes; no keys, no limits, no metering',
  install: (folder) => {
    if (existsSync(path.join(folder, START))) return;
    const quiet = ['--no-audit', '--no-fund'];
    install(
      'npm',
      ['install', '--prefix', '.', ...quiet, `@portkey-ai/gateway@${VERSION}`],
      folder,
    );
  },
  command: ({ folder, port }) => ({
    file: process.execPath,
    args: [path.join(folder, START), `--port=${port}`, '--headless'],
  }),
  headers: ({ upstreamUrl }) => ({
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${upstreamUrl}/v1`,
  }),
};
