import { spawnSync } from 'node:child_process';

/** Says where a peer runs and where it sends requests. */
export interface Place {
  /** Its own: what was installed, its configuration and what it writes. */
  folder: string;
  port: number;
  /** Is the origin of the upstream. */
  upstreamUrl: string;
}

/** Is another gateway or proxy that installs from a package registry, with the least configuration that proxies a chat completion. */
export interface Peer {
  name: string;
  version: string;
  /** Holds what it does beside proxying, for the reader of the table. */
  does: string;
  /** Installs into the folder; repeated calls do nothing. Throws with the tool that is missing. */
  install: (folder: string) => void;
  /** Writes its configuration; answers the command that stays in the foreground. */
  command: (place: Place) => {
    file: string;
    args: readonly string[];
    env?: Record<string, string>;
  };
  /** Returns what its clients send beside the authorization. */
  headers?: (place: Place) => Record<string, string>;
}

/** Is the key that the clients of every peer send. */
export const PEER_KEY = 'sk-peer';

/** Runs the command; throws with what it printed. */
export function install(file: string, args: readonly string[], cwd: string): void {
  const { status, error, stderr } = spawnSync(file, args, { cwd, encoding: 'utf8' });
  if (error) throw new Error(`${file} is needed to install this peer: ${error.message}`);
  if (status !== 0) throw new Error(`${file} ${args.join(' ')} failed: ${stderr.slice(-500)}`);
}
