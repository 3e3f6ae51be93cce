import type { IncomingMessage } from 'node:http';
import { countTokensGently } from '@tollgate/metering';
import { parseCountTokens } from '@tollgate/protocols';
import type { RoomOfRequest } from '../http/body-room.ts';
import { readBody } from '../http/read-body.ts';
import { nextTurn } from '../next-turn.ts';
import type { Admitter } from '../pipeline/admit.ts';
import { authenticate } from '../pipeline/authenticate.ts';
import { modelNotFound } from '../pipeline/parse.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';

/** What a provider's template adds to each message, and to the prompt as a whole; a token or two off is within what its users expect. */
const TOKENS_PER_MESSAGE = 4;
const TOKENS_PER_PROMPT = 3;
/** An image of common size, as Anthropic's guide to vision counts it. */
const TOKENS_PER_IMAGE = 1_600;

/** The rest of a longer text is taken to be like its beginning: the answer is an estimate and free, and a whole 32 MB took 20 s of everybody's time. */
const COUNTED_CHARS_MAX = 2 ** 19;

/** `POST /v1/messages/count_tokens`: an estimate by our own tokenizer, free and without a place in the request limits (behaviour 33). */
export async function countTokensEndpoint(
  admitter: Admitter,
  {
    incoming,
    addressHex,
    index,
    bytesMax,
    room,
  }: {
    incoming: IncomingMessage;
    addressHex: string;
    index: RoutingIndex;
    bytesMax: number;
    room: RoomOfRequest;
  },
): Promise<{ input_tokens: number }> {
  // Before the body: a stranger must not make the node read and parse megabytes, nor learn of mistakes in them.
  const { accountId, subscribedModelIds } = await admitter.access(
    authenticate(incoming.headers),
    addressHex,
  );
  const { model: name, prompt } = parseCountTokens(
    await readBody(incoming, { bytesMax, take: room.takeFor(accountId) }),
  );
  const model = index.modelNamed(name);
  if (!model?.is_on_shelf || !subscribedModelIds.includes(model.id)) throw modelNotFound(name);
  const text = prompt.text();
  const counted = text.slice(0, COUNTED_CHARS_MAX);
  const textTokens =
    counted === ''
      ? 0
      : Math.round((await countTokensGently(counted, nextTurn)) * (text.length / counted.length));
  return {
    input_tokens:
      textTokens +
      prompt.messageCount * TOKENS_PER_MESSAGE +
      prompt.imageCount * TOKENS_PER_IMAGE +
      TOKENS_PER_PROMPT,
  };
}
