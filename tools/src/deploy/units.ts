import { spawnSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { ROOT } from '../checkout.ts';

const FOLDER = path.join(ROOT, 'deploy/systemd');
/** The units expect Node at this path; another machine has it elsewhere. */
const NODE = '/usr/bin/node';

export function hasSystemdAnalyze(): boolean {
  return spawnSync('systemd-analyze', ['--version']).status === 0;
}

/** Returns what systemd finds wrong with the units; it warns of unknown settings and ends with 0. */
export function unitProblems(): string[] {
  const work = mkdtempSync(path.join(tmpdir(), 'tollgate-units-'));
  try {
    const units = readdirSync(FOLDER).map((name) => {
      const file = path.join(work, name);
      const text = readFileSync(path.join(FOLDER, name), 'utf8');
      writeFileSync(file, text.replaceAll(NODE, process.execPath));
      return file;
    });
    const { stdout, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', ...units], {
      encoding: 'utf8',
    });
    return `${stdout}${stderr}`.split('\n').filter((line) => line.includes(work));
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}
