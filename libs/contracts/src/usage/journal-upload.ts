import { z } from 'zod';

/** A node hands over finals that Redis cannot take any more at this path of the control plane, outside every public path. */
export const JOURNAL_PATH = '/internal/journal';
/** These headers name the sender and the time (Unix ms), and carry `proveUpload` over both and the body. */
export const JOURNAL_HEADERS = {
  node: 'x-tollgate-node',
  at: 'x-tollgate-at',
  proof: 'x-tollgate-proof',
} as const;
/** The control plane refuses larger bodies. */
export const JOURNAL_BODY_BYTES_MAX = 200 * 1024;
export const JOURNAL_FINALS_MAX = 500;

/** Finals from a node's journal. `payload` is the JSON text of a `UsageFinal`, as the outbox would have carried it. */
export const journalUploadSchema = z.strictObject({
  finals: z
    .array(z.strictObject({ rid: z.string().max(64), payload: z.string() }))
    .min(1)
    .max(JOURNAL_FINALS_MAX),
});
export type JournalUpload = z.infer<typeof journalUploadSchema>;

/** Request ids that are in PostgreSQL now, in whatever way; the node may forget them. */
export const journalReceiptSchema = z.object({ booked: z.array(z.string()) });
export type JournalReceipt = z.infer<typeof journalReceiptSchema>;
