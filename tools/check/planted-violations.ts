import { execFileSync } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';

/** Fails when a rule of .dependency-cruiser.cjs does not report the violation planted for it: a rule that reports nothing protects nothing. */
interface Report {
  summary: { violations: { rule: { name: string } }[] };
}
const root = path.join(import.meta.dirname, '../..');
const config = createRequire(import.meta.url)(path.join(root, '.dependency-cruiser.cjs')) as { forbidden: { name: string }[] };
const reported = new Set(cruise().summary.violations.map((violation) => violation.rule.name));
const silent = config.forbidden.map((rule) => rule.name).filter((name) => !reported.has(name));
if (silent.length > 0) {
  process.stderr.write(`No violation reported for: ${silent.join(', ')}\n`);
  process.exitCode = 1;
}

/** Exits non-zero because it finds violations, which is the point. */
function cruise(): Report {
  const program = path.join(root, 'node_modules/.bin/depcruise');
  const args = ['tools/check/planted', '--config', '.dependency-cruiser.cjs', '--output-type', 'json'];
  try {
    return JSON.parse(execFileSync(program, args, { cwd: root, encoding: 'utf8' })) as Report;
  } catch (error) {
    return JSON.parse((error as { stdout: string }).stdout) as Report;
  }
}
