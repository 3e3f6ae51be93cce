import { decodeLine } from '../../../apps/proxy-node/src/journal/journal-line.ts';
import type { SimulatedDisk } from './disk.ts';
import type { Truth } from './truth.ts';

/** Returns requests whose finals the journals of a disk have. */
export function finalsOn(disk: SimulatedDisk): string[] {
  return journalsOf(disk).flatMap((bytes) =>
    bytes
      .toString('utf8')
      .split('\n')
      .flatMap((line) => finalOf(line) ?? []),
  );
}

/** Returns true also of a disk whose writes failed: what it did not take is kept in memory. */
export function hasFinal(disk: SimulatedDisk, rid: string): boolean {
  if (disk.hasFailed) return true;
  return journalsOf(disk).some((bytes) => {
    // Few lines name a request behind its final.
    for (let at = bytes.lastIndexOf(rid); at > 0; at = bytes.lastIndexOf(rid, at - 1)) {
      const from = bytes.lastIndexOf('\n', at) + 1;
      if (finalOf(bytes.toString('utf8', from, bytes.indexOf('\n', at))) === rid) return true;
    }
    return false;
  });
}

/** Excuses the requests of a process that has died whose finals only it knew: its disk had failed and took none of them. */
export function excuseUnwritten(truth: Truth, address: string, disk: SimulatedDisk): void {
  if (!disk.hasFailed) return;
  const written = new Set(finalsOn(disk));
  for (const [rid, request] of truth.requests)
    if (request.node === address && !written.has(rid) && !truth.isCharged(rid))
      request.excuse ??= 'failing disk';
}

function journalsOf(disk: SimulatedDisk): Buffer[] {
  return [...disk.files]
    .filter(([path]) => path.includes('.journal'))
    .map(([, { bytes }]) => bytes);
}

function finalOf(line: string): string | null {
  const decoded = decodeLine(line);
  return decoded?.t === 'F' ? decoded.rid : null;
}
