import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import {
  createCustomer,
  createRoutedModel,
  startTollgate,
  subscribeWithKey,
} from '@tollgate/harness';
import { z } from 'zod';
import { installSchemathesis, runProgram } from './schemathesis.ts';

const USAGE = `npm run test:fuzz [-- --examples 10] [--seconds 900] [--seed 1] [--phases examples,coverage,fuzzing,stateful] [--only /admin-api/keys]
  Generates requests from the API document and judges every answer by it: no 5xx, documented statuses, types and headers,
  schemas kept, wrong input refused, right input accepted unless a stated rule refuses it, access required, nothing usable after it was deleted.`;
const settingsSchema = z.object({
  examples: z.coerce.number().int().positive().default(10),
  seconds: z.coerce.number().int().positive().default(900),
  seed: z.coerce.number().int().positive().default(1),
  phases: z.string().default('examples,coverage,fuzzing,stateful'),
  only: z.string().optional(),
});

const STATED_RULES = path.join(import.meta.dirname, 'stated_rules.py');

/** Names operations that end the run's own access, never end, or wait 10 s for every node that the run has made and no process serves. Each has specs of its own. */
const LEFT_OUT = [
  'Auth_logout',
  'Auth_password',
  'Events_open',
  'ProxyNodes_sync',
  'ProxyNodes_syncAll',
  'Sessions_end',
];

async function main(args: readonly string[]): Promise<number> {
  const settings = parse(args);
  if (settings === undefined) {
    console.error(USAGE);
    return 2;
  }
  const program = installSchemathesis();
  const tollgate = await startTollgate({ nodes: 1, env: { PAYMENTS: 'sandbox' } });
  const folder = mkdtempSync(path.join(tmpdir(), 'tollgate-fuzz-'));
  try {
    const model = await createRoutedModel(tollgate);
    const customer = await createCustomer(tollgate);
    await subscribeWithKey(customer, { modelIds: [model.id], tokens: 100_000 });
    const document = path.join(folder, 'openapi.json');
    const answer = await fetch(`${tollgate.adminUrl}/admin-api/openapi.json`, {
      headers: { authorization: `Bearer ${tollgate.admin.token}` },
    });
    writeFileSync(document, await answer.text());
    return await runProgram(program, programArguments(settings, tollgate, document), {
      cwd: folder,
      env: { SCHEMATHESIS_HOOKS: STATED_RULES, TOLLGATE_API_DOCUMENT: document },
    });
  } finally {
    await tollgate.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

function programArguments(
  { examples, seconds, seed, phases, only }: z.infer<typeof settingsSchema>,
  { adminUrl, admin }: Awaited<ReturnType<typeof startTollgate>>,
  document: string,
): string[] {
  return [
    'run',
    document,
    ...['--url', adminUrl],
    ...['--header', `Authorization: Bearer ${admin.token}`],
    ...['--phases', phases],
    ...['--checks', 'all'],
    ...['--seed', String(seed)],
    ...['--max-examples', String(examples)],
    ...['--max-time', String(seconds)],
    ...['--workers', '1'],
    // The report of a failure is complete, so that the request can be sent again; the installation and its keys end with the run.
    ...['--output-sanitize', 'false'],
    '--continue-on-failure',
    ...LEFT_OUT.flatMap((operation) => ['--exclude-operation-id', operation]),
    ...(only === undefined ? [] : ['--include-path', only]),
  ];
}

function parse(args: readonly string[]): z.infer<typeof settingsSchema> | undefined {
  try {
    const option = { type: 'string' } as const;
    const { values } = parseArgs({
      args: [...args],
      options: { examples: option, seconds: option, seed: option, phases: option, only: option },
    });
    return settingsSchema.safeParse(values).data;
  } catch {
    return undefined;
  }
}

process.exitCode = await main(process.argv.slice(2));
