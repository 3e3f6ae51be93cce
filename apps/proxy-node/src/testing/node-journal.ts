import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Returns the final of a request that has ended from the journal in a node's DATA_DIR. */
export async function journalledFinal(dataDir: string, rid: string | null): Promise<unknown> {
  const line =
    (await journalText(dataDir))
      .split('\n')
      .find((each) => each.includes('"t":"F"') && each.includes(`"rid":"${rid}"`)) ?? '';
  const { final } = JSON.parse(line.slice(line.indexOf('{'), line.lastIndexOf('}') + 1)) as {
    final: unknown;
  };
  return final;
}

/** Returns all lines of the journals in a node's DATA_DIR. */
export async function journalText(dataDir: string): Promise<string> {
  const folder = join(dataDir, 'journals');
  // Nothing else there may be opened: closing lock.db would give the node's lock back.
  const names = (await readdir(folder, { recursive: true })).filter((name) =>
    name.endsWith('.journal'),
  );
  const texts = await Promise.all(
    names.map((name) => readFile(join(folder, name), 'utf8').catch(() => '')),
  );
  return texts.join('\n');
}
