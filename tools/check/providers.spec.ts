import { expect, test } from '@jest/globals';
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '../..');
/** The demo upstream is a provider itself, the console's forms offer the choice by name, presets are data, and a family of models may have the name of its maker. */
const MAY_NAME_A_PROTOCOL =
  /^libs\/protocols\/src\/providers\/|^libs\/contracts\/src\/upstream-protocols\.ts$|^libs\/snapshot\/src\/provider-presets\.ts$|^libs\/metering\/src\/estimates\/|^apps\/(demo-upstream|console)\/|\/(testing|migrations|__generated__)\/|(\.spec|-under-test)\.ts$/;

/** Returns the lines that decide by the name of an upstream protocol. */
function decisionsIn(text: string): string[] {
  return text.split('\n').filter((line) => /['"`>](openai|anthropic)['"`]/.test(line));
}

test('only the folder of a provider, and its registration, name an upstream protocol', () => {
  const files = execFileSync(
    'git',
    ['ls-files', '--cached', '--others', '--exclude-standard', 'apps', 'libs'],
    { cwd: root, encoding: 'utf8' },
  )
    .split('\n')
    .filter(
      (file) => /^(apps|libs)\/[^/]+\/src\/.*\.tsx?$/.test(file) && existsSync(join(root, file)),
    )
    .filter((file) => !MAY_NAME_A_PROTOCOL.test(file));
  expect(files.length).toBeGreaterThan(300);
  const found = files.flatMap((file) =>
    decisionsIn(readFileSync(join(root, file), 'utf8')).map((line) => `${file}: ${line.trim()}`),
  );
  expect(found).toEqual([]);
  const planted = "const header = protocol === 'anthropic' ? key : bearer;\nconst other = 1;";
  expect(decisionsIn(planted)).toHaveLength(1);
});
