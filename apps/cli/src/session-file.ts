import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import path from 'node:path';
import { z } from 'zod';

const saved = z.object({ url: z.url(), token: z.string().min(1), username: z.string() });
export type SavedSession = z.output<typeof saved>;

type Environment = Readonly<Record<string, string | undefined>>;

/** Returns `$XDG_CONFIG_HOME/tollgate/session.json`: https://specifications.freedesktop.org/basedir-spec/latest/ */
export function sessionPath(environment: Environment): string {
  return path.join(
    environment['XDG_CONFIG_HOME'] || path.join(homedir(), '.config'),
    'tollgate',
    'session.json',
  );
}

/** Returns undefined when no session is stored, or the file has another format. */
export function readSession(environment: Environment): SavedSession | undefined {
  try {
    return saved.safeParse(JSON.parse(readFileSync(sessionPath(environment), 'utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Creates the file with mode 0600, because it contains a token. */
export function writeSession(environment: Environment, session: SavedSession): void {
  const file = sessionPath(environment);
  mkdirSync(path.dirname(file), { recursive: true, mode: 0o700 });
  const fresh = `${file}.${process.pid}`;
  writeFileSync(fresh, `${JSON.stringify(session, null, 2)}\n`, { mode: 0o600 });
  chmodSync(fresh, 0o600);
  renameSync(fresh, file);
}

export function forgetSession(environment: Environment): void {
  rmSync(sessionPath(environment), { force: true });
}
