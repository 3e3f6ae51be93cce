import { spawnSync } from 'node:child_process';
import path from 'node:path';
import { build } from '../build.ts';
import { ROOT } from '../checkout.ts';

/**
 * Generates all committed files that come from the code: the API document, its typed client, the references in docs/, Grafana's boards. Each step
 * reads the output of the previous one.
 */
const STEPS: readonly { says: string; folder: string; run: readonly string[] }[] = [
  {
    says: 'libs/admin-client/openapi.json',
    folder: '.',
    run: ['apps/control-plane/dist/write-openapi.js', 'libs/admin-client/openapi.json'],
  },
  {
    says: 'libs/admin-client/src/__generated__',
    folder: 'libs/admin-client',
    run: [
      'node_modules/openapi-typescript/bin/cli.js',
      'openapi.json',
      '-o',
      'src/__generated__/admin-api.ts',
    ],
  },
  {
    says: 'libs/admin-client/src/__generated__/tables.ts',
    folder: '.',
    run: ['tools/check/write-tables.ts'],
  },
  {
    says: 'docs/configuration.md, docs/api-reference.md, docs/errors.md',
    folder: '.',
    run: ['tools/check/write-references.ts'],
  },
  { says: 'deploy/grafana', folder: '.', run: ['tools/check/write-boards.ts'] },
];

export async function generate(): Promise<number> {
  await build(['apps/control-plane']);
  for (const { says, folder, run } of STEPS) {
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', ...run],
      { cwd: path.join(ROOT, folder), encoding: 'utf8' },
    );
    if (status !== 0) throw new Error(`${says} could not be written:\n${stdout}${stderr}`);
    console.log(`wrote ${says}`);
  }
  return 0;
}
