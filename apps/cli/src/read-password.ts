import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { UsageError } from './failure.ts';

/** Reads a password from a terminal without echo, or from the first line of stdin with `fromStdin`. */
export async function readPassword({ fromStdin }: { fromStdin: boolean }): Promise<string> {
  if (!fromStdin && !process.stdin.isTTY)
    throw new UsageError('There is no terminal to ask for the password on; use --password-stdin.');
  if (!fromStdin) process.stderr.write('Password: ');
  const silence = new Writable({ write: (_chunk, _encoding, done) => done() });
  const lines = createInterface({ input: process.stdin, output: silence, terminal: !fromStdin });
  try {
    for await (const line of lines) return line;
    throw new UsageError('No password was given.');
  } finally {
    lines.close();
    if (!fromStdin) process.stderr.write('\n');
  }
}
