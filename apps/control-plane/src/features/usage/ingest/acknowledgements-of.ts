import type { Acknowledgement, RelayedEvent } from '@tollgate/contracts';
import { z } from 'zod';
import { nodeNameOf, payloadOf } from '../../proxy-nodes/relayed-payload.ts';

const sender = z.object({ node: z.string() });

/**
 * Returns the acknowledgements to send, by node worker (`<name>:<worker>`). It reads even poison events as far as possible; no node waits for events
 * without a sender.
 */
export function acknowledgementsOf(
  events: readonly RelayedEvent[],
): Map<string, Acknowledgement[]> {
  const byNode = new Map<string, Acknowledgement[]>();
  for (const event of events) {
    const node = senderOf(event);
    const seq = Number(event.seq);
    if (node === undefined || !Number.isSafeInteger(seq)) continue;
    const list = byNode.get(node);
    if (list) list.push({ rid: event.rid, seq });
    else byNode.set(node, [{ rid: event.rid, seq }]);
  }
  return byNode;
}

function senderOf(event: RelayedEvent): string | undefined {
  const { plain, value } = payloadOf(event);
  const node = (plain ?? sender.safeParse(value).data)?.node;
  return node !== undefined && nodeNameOf(node) !== undefined ? node : undefined;
}
