import path from 'node:path';
import { z } from 'zod';
import type { Errand } from '../client.ts';
import { run, type Finished } from './command-line.ts';

const TIMEOUT_MS = 60_000;

const settingsFor = ({
  origin,
  apiKey,
  model,
}: Pick<Errand, 'origin' | 'apiKey' | 'model'>): string => `
# guide: claude-code
export ANTHROPIC_BASE_URL=${origin}
export ANTHROPIC_AUTH_TOKEN=${apiKey}
export ANTHROPIC_MODEL=${model}
export ANTHROPIC_SMALL_FAST_MODEL=${model}
# guide: end
`;

function environmentOf(settings: string): Record<string, string> {
  return Object.fromEntries(
    [...settings.matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [
      name,
      value,
    ]),
  );
}

/** Runs `claude -p` in a folder without any settings. `cacheFolder` is where it was installed. */
export function claudeCode(
  { origin, apiKey, model, prompt }: Errand,
  { folder, cacheFolder }: { folder: string; cacheFolder: string },
): Promise<Finished> {
  return run({
    program: path.join(
      cacheFolder,
      `node_modules/@anthropic-ai/claude-code-${process.platform}-${process.arch}/claude`,
    ),
    args: ['-p', prompt, '--output-format', 'json', '--dangerously-skip-permissions'],
    env: {
      HOME: folder,
      ...environmentOf(settingsFor({ origin, apiKey, model })),
      // Or it refuses to skip permissions as root.
      IS_SANDBOX: '1',
      DISABLE_AUTOUPDATER: '1',
    },
    cwd: folder,
    timeoutMs: TIMEOUT_MS,
  });
}

const report = z.looseObject({
  result: z.string(),
  is_error: z.boolean(),
  num_turns: z.number(),
  usage: z.looseObject({ input_tokens: z.number(), output_tokens: z.number() }),
});

export function readClaudeReport({ stdout, stderr }: Finished): z.infer<typeof report> {
  if (stdout === '') throw new Error(`no report: ${stderr}`);
  return report.parse(JSON.parse(stdout));
}
