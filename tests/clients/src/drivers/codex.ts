import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import type { Errand } from '../client.ts';
import { run, type Finished } from './command-line.ts';

const TIMEOUT_MS = 60_000;

const configFor = (origin: string, model: string, extra: string): string => `
# guide: codex
model = "${model}"
model_provider = "tollgate"
web_search = "disabled"

[model_providers.tollgate]
name = "Tollgate"
base_url = "${origin}/v1"
env_key = "TOLLGATE_API_KEY"
wire_api = "responses"
# guide: end
${extra}
`;

/** Runs `codex exec` with a configuration of its own. `extra` is added to the provider's settings. */
export function codex(
  { origin, apiKey, model, prompt }: Errand,
  { folder, cacheFolder, extra = '' }: { folder: string; cacheFolder: string; extra?: string },
): Promise<Finished> {
  const home = path.join(folder, 'codex-home');
  mkdirSync(home);
  writeFileSync(path.join(home, 'config.toml'), configFor(origin, model, extra));
  return run({
    program: path.join(cacheFolder, 'node_modules/.bin/codex'),
    args: [
      'exec',
      '--skip-git-repo-check',
      '--json',
      '--dangerously-bypass-approvals-and-sandbox',
      prompt,
    ],
    env: { HOME: folder, CODEX_HOME: home, TOLLGATE_API_KEY: apiKey },
    cwd: folder,
    timeoutMs: TIMEOUT_MS,
  });
}

const event = z.looseObject({
  type: z.string(),
  item: z.looseObject({ type: z.string(), text: z.string().optional() }).optional(),
  usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }).optional(),
  message: z.string().optional(),
  error: z.looseObject({ message: z.string() }).optional(),
});
export type CodexEvent = z.infer<typeof event>;

export function readCodexEvents({ stdout }: Finished): CodexEvent[] {
  return stdout
    .split('\n')
    .filter((line) => line.startsWith('{'))
    .map((line) => event.parse(JSON.parse(line)));
}
