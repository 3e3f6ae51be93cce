import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { NodeReport } from './fleet.ts';

type ProvenReport = Omit<NodeReport, 'proof'>;

/** Every word of a report, in the order that is signed: somebody who can only write Redis must not be able to alter one of them. */
const PROVEN_FIELDS = [
  'name', 'worker', 'instance', 'url', 'state', 'version', 'checksum', 'applied_at', 'refused', 'started_at', 'reported_at', 'in_flight', 'unacknowledged', 'software',
] as const satisfies readonly (keyof ProvenReport)[];

/** SHA-256 of a node or fleet credential, hex: what `proxy_nodes.credential_hash` keeps, and the key of every proof. */
export function hashCredential(credential: string): string {
  return createHash('sha256').update(credential).digest('hex');
}

/** `NodeReport.proof`: shows that the sender holds the credential without sending it. */
export function proveReport(report: ProvenReport, credentialHash: string): string {
  return createHmac('sha256', Buffer.from(credentialHash, 'hex'))
    // As JSON, so that no field can run over into the next.
    .update(JSON.stringify(PROVEN_FIELDS.map((field) => report[field])))
    .digest('hex');
}

export function isReportProven(report: NodeReport, credentialHash: string): boolean {
  const expected = Buffer.from(proveReport(report, credentialHash));
  const given = Buffer.from(report.proof);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
