import { UpstreamFailure } from '../../upstream/upstream-failure.ts';
import type { Metered } from './answer-meter.ts';
import type { Flight } from '../sending/attempt.ts';
import { nothing } from './no-answer.ts';
import type { Tally } from './tally.ts';
import type { ClientReply } from '../../http/client-reply.ts';
import type { HoldHandle } from '../../usage/usage-recorder.ts';

/**
 * Returns the charge of a request whose client left and that brought no answer. What the upstream failed at costs nothing, as if the client had stayed. Where the
 * gateway ended it, the provider has the prompt and bills it, with what was generated unseen by then.
 */
export async function chargeOfLeft({
  flight,
  error,
  tally,
  reply,
  hold,
  unseenTokens,
}: {
  flight: Flight | null;
  error: unknown;
  tally: Tally;
  reply: ClientReply;
  hold: Pick<HoldHandle, 'room'>;
  unseenTokens: number;
}): Promise<Metered> {
  const free = nothing('client_closed', reply);
  const isEndedByUs = error instanceof UpstreamFailure && error.evidence === 'given_up';
  if (!isEndedByUs || !flight?.isSent()) return free;
  const counted = await tally.atEnd(
    { usage: null, isFinal: false },
    unseenTokens,
    (used) => hold.room(used) >= 0,
  );
  return { ...free, counted };
}
