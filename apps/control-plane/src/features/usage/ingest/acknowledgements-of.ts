import type { Acknowledgement, RelayedEvent } from '@tollgate/contracts';
import { InvalidKeyPart, parseNodeAddress } from '@tollgate/keyspace';
import { z } from 'zod';
import { payloadOf } from '../../proxy-nodes/relayed-payload.ts';

const sender = z.object({ node: z.string() });

/** The acknowledgements to send, by node worker (`<name>:<worker>`). Reads even poison events as far as possible; no node waits for those without a sender. */
export function acknowledgementsOf(
  events: readonly RelayedEvent[],
): Map<string, Acknowledgement[]> {
  const byNode = new Map<string, Acknowledgement[]>();
  for (const event of events) {
    const node = senderOf(event);
    const seq = Number(event.seq);
    if (node === undefined || !Number.isSafeInteger(seq)) continue;
    const list = byNode.get(node) ?? [];
    list.push({ rid: event.rid, seq });
    byNode.set(node, list);
  }
  return byNode;
}

function senderOf(event: RelayedEvent): string | undefined {
  try {
    const parsed = sender.safeParse(payloadOf(event).value);
    if (!parsed.success) return undefined;
    parseNodeAddress(parsed.data.node);
    return parsed.data.node;
  } catch (error) {
    if (error instanceof InvalidKeyPart) return undefined;
    throw error;
  }
}
