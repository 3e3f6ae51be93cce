import { z } from 'zod';

/** A node uploads finals that Redis can no longer take to this path of the control plane, which is outside every public path. */
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

/** Holds finals from a node's journal. `payload` is the JSON text of a `UsageFinal`, as in the outbox. */
export const journalUploadSchema = z.strictObject({
  finals: z
    .array(z.strictObject({ rid: z.string().max(64), payload: z.string() }))
    .min(1)
    .max(JOURNAL_FINALS_MAX),
});
export type JournalUpload = z.infer<typeof journalUploadSchema>;

/** Lists the ids of requests that PostgreSQL has now, in any form; the node may remove them. */
export const journalReceiptSchema = z.object({ booked: z.array(z.string()) });
export type JournalReceipt = z.infer<typeof journalReceiptSchema>;
