import { readFileSync, renameSync, writeFileSync } from 'node:fs';
import path from 'node:path';

/** Is `.tollgate/start.json`, of mode 0600: all that one needs to use the running demo. URLs have no trailing slash and no path. */
export interface StartFile {
  baseUrl: string;
  adminUrl: string;
  proxyUrls: string[];
  admin: Credentials;
  user: Credentials;
  apiKey: string;
  chatModel: string;
  embeddingModel: string;
  upstreamUrl: string;
}

export interface Credentials {
  username: string;
  password: string;
}

export function readStartFile(stateFolder: string): StartFile | undefined {
  try {
    return JSON.parse(readFileSync(startFile(stateFolder), 'utf8')) as StartFile;
  } catch {
    return undefined;
  }
}

export function writeStartFile(stateFolder: string, content: StartFile): void {
  const file = startFile(stateFolder);
  writeFileSync(`${file}.new`, `${JSON.stringify(content, null, 2)}\n`, {
    mode: 0o600,
    flush: true,
  });
  renameSync(`${file}.new`, file);
}

function startFile(stateFolder: string): string {
  return path.join(stateFolder, 'start.json');
}
