import { execFile } from 'node:child_process';
import path from 'node:path';

const PROGRAM = path.join(import.meta.dirname, '../../../apps/control-plane/dist/ops.js');

export interface OpsAnswer {
  status: number;
  out: string;
  err: string;
}

/** Runs the built `tollgate-ops` with this environment. */
export function runOps(
  environment: Readonly<Record<string, string>>,
  ...args: string[]
): Promise<OpsAnswer> {
  return new Promise((resolve) => {
    execFile(
      process.execPath,
      [PROGRAM, ...args],
      { env: { PATH: process.env.PATH, ...environment } },
      (error, out, err) => resolve({ status: Number(error?.code ?? 0), out, err }),
    );
  });
}
