import type { IncomingMessage } from 'node:http';
import { countTokensGently } from '@tollgate/metering/token-counter';
import { parseCountTokens } from '@tollgate/protocols';
import type { RoomOfRequest } from '../http/body-room.ts';
import { readBody } from '../http/read-body.ts';
import type { Admitter } from '../pipeline/admit.ts';
import { authenticate } from '../pipeline/authenticate.ts';
import { modelNotFound } from '../refusals.ts';
import type { CountingLane } from './counting-lane.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';

/** What a provider's template adds to each message, and to the prompt as a whole; a token or two off is within what its users expect. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_PROMPT = 3;
/** An image of common size, as Anthropic's guide to vision counts it. */
const TOKENS_PER_IMAGE = 1_600;

/** The rest of a longer text is taken to be like its beginning: the answer is an estimate and free, and a whole 32 MB took 20 s of everybody's time. */
const COUNTED_CHARS_MAX = 2 ** 19;

export interface CountRequest {
  incoming: IncomingMessage;
  addressHex: string;
  index: RoutingIndex;
  bytesMax: number;
  room: RoomOfRequest;
  lane: CountingLane;
}

/** `POST /v1/messages/count_tokens`: an estimate by our own tokenizer, free, in the window of inquiries (behaviour 33) and in the counting lane. */
export async function countTokensEndpoint(
  admitter: Admitter,
  { incoming, addressHex, index, bytesMax, room, lane }: CountRequest,
): Promise<{ input_tokens: number }> {
  // Before the body: a stranger must not make the node read and parse megabytes, nor learn of mistakes in them.
  const { accountId, subscribedModelIds } = await admitter.inquire(
    authenticate(incoming.headers),
    addressHex,
  );
  const body = await readBody(incoming, { bytesMax, take: room.takeFor(accountId) });
  return lane.run(accountId, async (pause) => {
    const { model: name, prompt } = parseCountTokens(body);
    const model = index.modelNamed(name);
    if (!model?.is_on_shelf || !subscribedModelIds.includes(model.id)) throw modelNotFound(name);
    await pause();
    const text = prompt.text();
    const chars = lane.grant(accountId, Math.min(text.length, COUNTED_CHARS_MAX));
    return {
      input_tokens:
        (await tokensLike(text, chars, pause)) +
        prompt.messageCount * TOKENS_PER_MESSAGE +
        prompt.imageCount * TOKENS_PER_IMAGE +
        TOKENS_PER_PROMPT,
    };
  });
}

/** Of the whole text, as if all of it were like its first `chars`. */
async function tokensLike(
  text: string,
  chars: number,
  pause: () => Promise<void>,
): Promise<number> {
  if (text === '') return 0;
  const counted = await countTokensGently(text.slice(0, chars), pause);
  return Math.round(counted * (text.length / chars));
}
