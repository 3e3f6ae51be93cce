import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { NodeReport } from './fleet.ts';

type ProvenFields = Pick<NodeReport, 'name' | 'worker' | 'instance' | 'reported_at'>;

/** SHA-256 of a node or fleet credential, hex: what `proxy_nodes.credential_hash` keeps, and the key of every proof. */
export function hashCredential(credential: string): string {
  return createHash('sha256').update(credential).digest('hex');
}

/** `NodeReport.proof`: shows that the sender holds the credential without sending it. */
export function proveReport(report: ProvenFields, credentialHash: string): string {
  return createHmac('sha256', Buffer.from(credentialHash, 'hex'))
    .update(`${report.name}|${report.worker}|${report.instance}|${report.reported_at}`)
    .digest('hex');
}

export function isReportProven(report: ProvenFields & Pick<NodeReport, 'proof'>, credentialHash: string): boolean {
  const expected = Buffer.from(proveReport(report, credentialHash));
  const given = Buffer.from(report.proof);
  return given.length === expected.length && timingSafeEqual(given, expected);
}
