import type { ControlPlaneMac } from '@tollgate/contracts';
import { z } from 'zod';
import type { PublishedSnapshot } from './snapshot-document.ts';

const count = z.number().int().positive();

/**
 * Shows that the control plane published a snapshot: a key of its own beside the snapshot.
 * `lineage` counts how often the versions started a new row, as when PostgreSQL was restored from a backup.
 */
export const snapshotSealSchema = z.strictObject({
  installation: z.uuid(),
  lineage: count,
  version: count,
  checksum: z.string().length(64),
  mac: z.string().max(200),
});
export type SnapshotSeal = z.infer<typeof snapshotSealSchema>;

/** Describes the snapshot that a node runs, as far as its successor is judged by it; it is kept on the node's disk. */
export const snapshotStandingSchema = z.object({
  installation: z.uuid(),
  lineage: count,
  version: count,
});
export type SnapshotStanding = z.infer<typeof snapshotStandingSchema>;

export function sealSnapshot(mac: ControlPlaneMac, claim: Omit<SnapshotSeal, 'mac'>): SnapshotSeal {
  return { ...claim, mac: mac.sign('snapshot-seal', signedParts(claim)) };
}

/** Returns whether the control plane made this seal. `sealFault` judges the document. */
export function isSealGenuine(mac: ControlPlaneMac, seal: SnapshotSeal): boolean {
  return mac.isSigned('snapshot-seal', signedParts(seal), seal.mac);
}

/** Returns the reason why a node must not apply a snapshot that it found with this seal; null if it may. */
export function sealFault(
  mac: ControlPlaneMac,
  { snapshot, seal, standing }: SealedSnapshot,
): string | null {
  if (!seal) return 'it carries no seal';
  if (seal.version !== snapshot.version || seal.checksum !== snapshot.checksum)
    return 'its seal is of another snapshot';
  if (!isSealGenuine(mac, seal)) return 'its seal is forged, or made with another ENCRYPTION_KEY';
  if (!standing) return null;
  if (seal.installation !== standing.installation)
    return `it is of installation ${seal.installation}, this node belongs to ${standing.installation}`;
  return isOlder(seal, standing)
    ? `it is older than version ${standing.version} (lineage ${standing.lineage}), which this node has run`
    : null;
}

export interface SealedSnapshot {
  snapshot: PublishedSnapshot;
  seal: SnapshotSeal | null;
  /** Is null on a node that never applied a sealed snapshot. */
  standing: SnapshotStanding | null;
}

type Place = Pick<SnapshotStanding, 'lineage' | 'version'>;

/** A lower version is newer only in a higher lineage. */
export function isOlder(one: Place, other: Place): boolean {
  return (
    one.lineage < other.lineage || (one.lineage === other.lineage && one.version < other.version)
  );
}

function signedParts({ installation, lineage, version, checksum }: Omit<SnapshotSeal, 'mac'>) {
  return [installation, lineage, version, checksum];
}
