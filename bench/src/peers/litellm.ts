import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { install, PEER_KEY, type Peer } from './peer.ts';

const VERSION = '1.80.0';
const PROGRAM = 'venv/bin/litellm';
const MODELS = ['bench-whole', 'bench-events'];

export const litellm: Peer = {
  name: 'LiteLLM',
  version: VERSION,
  does: 'one master key; without its database: no budgets, no spend',
  install: (folder) => {
    if (existsSync(path.join(folder, PROGRAM))) return;
    install('python3', ['-m', 'venv', 'venv'], folder);
    install('venv/bin/pip', ['install', '--quiet', `litellm[proxy]==${VERSION}`], folder);
  },
  command: ({ folder, port, upstreamUrl }) => {
    const file = path.join(folder, 'config.json');
    const model_list = MODELS.map((model_name) => ({
      model_name,
      litellm_params: {
        model: `openai/${model_name}`,
        api_base: `${upstreamUrl}/v1`,
        api_key: 'none',
      },
    }));
    // JSON is YAML, which it reads.
    const general_settings = { master_key: PEER_KEY };
    writeFileSync(file, JSON.stringify({ model_list, general_settings }));
    return {
      file: path.join(folder, PROGRAM),
      args: ['--config', file, '--host', '127.0.0.1', '--port', String(port)],
      env: { LITELLM_LOCAL_MODEL_COST_MAP: 'True' },
    };
  },
};
