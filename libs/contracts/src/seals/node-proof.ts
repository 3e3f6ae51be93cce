import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { NodeReport } from '../fleet.ts';

type ProvenReport = Omit<NodeReport, 'proof'>;

/** Returns the SHA-256 of a node or fleet credential in hex: `proxy_nodes.credential_hash` keeps it, and it is the key of every proof. */
export function hashCredential(credential: string): string {
  return createHash('sha256').update(credential).digest('hex');
}

/** Names a credential of one node in its desired state, without showing it: 64 bits of an HMAC. */
export function credentialMark(name: string, credentialHash: string): string {
  return createHmac('sha256', Buffer.from(credentialHash, 'hex'))
    .update(`credential of node ${name}`)
    .digest('hex')
    .slice(0, 16);
}

/** Computes `NodeReport.proof`, which shows that the sender holds the credential without sending it. It covers every field, so that an attacker who can only write Redis cannot alter one. */
export function proveReport(report: ProvenReport, credentialHash: string): string {
  const { proof: _, ...fields }: ProvenReport & { proof?: string } = report;
  return (
    createHmac('sha256', Buffer.from(credentialHash, 'hex'))
      // JSON keeps a field from running over into the next.
      .update(
        JSON.stringify(Object.entries(fields).sort(([one], [other]) => (one < other ? -1 : 1))),
      )
      .digest('hex')
  );
}

export function isReportProven(report: NodeReport, credentialHash: string): boolean {
  return isSame(report.proof, proveReport(report, credentialHash));
}

/** Holds what a node hands to a control plane as a whole. A proof of one purpose is none of another. */
interface Upload {
  node: string;
  atMs: number;
  body: string | Buffer;
  purpose?: 'journal' | 'incidents' | undefined;
}

/** Proves an upload with the same key, over who sends it, what for, when, and every byte of the body. */
export function proveUpload(
  { node, atMs, body, purpose = 'journal' }: Upload,
  credentialHash: string,
): string {
  return createHmac('sha256', Buffer.from(credentialHash, 'hex'))
    .update(JSON.stringify([purpose, node, atMs, createHash('sha256').update(body).digest('hex')]))
    .digest('hex');
}

export function isUploadProven(
  upload: Upload & { proof: string },
  credentialHash: string,
): boolean {
  return isSame(upload.proof, proveUpload(upload, credentialHash));
}

function isSame(proof: string, expected: string): boolean {
  const [given, wanted] = [Buffer.from(proof), Buffer.from(expected)];
  return given.length === wanted.length && timingSafeEqual(given, wanted);
}
