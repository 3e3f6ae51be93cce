import type { IncomingMessage } from 'node:http';
import { estimateFamily, estimatePrompt } from '@tollgate/metering';
import { countTokensGently } from '@tollgate/metering/token-counter';
import {
  parseCountTokensInTurns,
  promptParts,
  storedReferences,
  type CountAsk,
  type CountingProtocol,
  type PathCall,
} from '@tollgate/protocols';
import type { ClientReply } from '../http/client-reply.ts';
import type { QuotaOfRequest } from '../http/body-quota.ts';
import { readBody } from '../http/read-body.ts';
import type { Admitter } from '../pipeline/admission/admit.ts';
import { authenticate } from '../pipeline/request/authenticate.ts';
import { unanswered } from '../pipeline/named-stored.ts';
import { droppedHeaders, unknownHere } from '../pipeline/request/premiums.ts';
import { routesToFiles, routesToStored } from '../pipeline/request/stored-routes.ts';
import type { StoredReach } from '../upstream/stored-reach.ts';
import { modelNotFound } from '../refusals.ts';
import type { CountingLane } from './counting-lane.ts';
import type { CountRelay } from './count-relay.ts';
import type { RoutingIndex } from '../snapshot/routing-index.ts';

/** The rest of a longer text counts like its beginning: the answer is a free estimate, and counting a whole 32 MB took 20 s from all requests. */
const COUNTED_CHARS_MAX = 2 ** 19;

export interface CountRequest {
  protocol: CountingProtocol;
  /** Is set for a client of Gemini. */
  call?: PathCall;
  incoming: IncomingMessage;
  addressHex: string;
  rid: string;
  index: RoutingIndex;
  bytesMax: number;
  quota: QuotaOfRequest;
  lane: CountingLane;
  relay: CountRelay;
  reach: Pick<StoredReach, 'of'>;
  reply: ClientReply;
}

/**
 * Serves `POST /v1/messages/count_tokens` and `/v1/responses/input_tokens`, free and within the window of inquiries (behaviour 33). It returns the
 * count of the model's own upstream where there is one; otherwise an estimate of our tokenizer, in the counting lane, with the coefficients of the
 * model's family.
 */
export async function countTokensEndpoint(
  admitter: Admitter,
  request: CountRequest,
): Promise<object> {
  const { protocol, call, incoming, addressHex, rid, index, bytesMax, quota } = request;
  const { lane, relay, reach } = request;
  // The key is checked before the body is read, so that an unknown caller can neither make the node parse megabytes nor learn of mistakes in them.
  const access = await admitter.inquire(authenticate(incoming.headers), addressHex);
  const { accountId, subscribedModelIds } = access;
  const body = await readBody(incoming, { bytesMax, take: quota.takeFor(accountId) });
  const ask = await lane.run(accountId, async (pause) => {
    await pause();
    return parseCountTokensInTurns(protocol, body, { pause, call });
  });
  const model = index.modelNamed(ask.model);
  if (!model?.is_on_shelf || !subscribedModelIds.includes(model.id)) throw modelNotFound(ask.model);
  const ids = storedReferences(ask).map(({ id }) => id);
  const { open } = await reach.of(access, ids, index).catch(unanswered);
  const routes = routesToStored(ask, index.candidates(model.id, protocol), open);
  const candidates = routesToFiles(ask, routes).flat();
  const dropped = unknownHere(ask, [candidates]);
  request.reply.addHeaders(droppedHeaders(dropped));
  const counted = await relay.count(candidates, {
    accountId,
    rid,
    ask,
    dropped,
    openStored: open,
    clientHeaders: incoming.headers,
  });
  if (counted !== null) return ANSWERS[protocol](counted);
  const upstreamModel = candidates[0]?.route.upstream_model ?? model.name;
  return lane.run(accountId, async (pause) => {
    await pause();
    const tokens = await estimated(ask, upstreamModel, { accountId, lane, pause });
    return ANSWERS[protocol](tokens);
  });
}

const ANSWERS: Readonly<Record<CountingProtocol, (tokens: number) => object>> = {
  messages: (input_tokens) => ({ input_tokens }),
  responses: (input_tokens) => ({ object: 'response.input_tokens', input_tokens }),
  generate: (totalTokens) => ({ totalTokens }),
};

async function estimated(
  { protocol, body }: CountAsk,
  upstreamModel: string,
  { accountId, lane, pause }: { accountId: number; lane: CountingLane; pause: () => Promise<void> },
): Promise<number> {
  const { texts, tools, calls, ...rest } = promptParts(protocol, body);
  const pieces = [texts, tools, calls].map((piece) => piece.join('\n'));
  const chars = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const share = lane.grant(accountId, Math.min(chars, COUNTED_CHARS_MAX)) / Math.max(1, chars);
  const [textTokens, toolTokens, callTokens] = [
    await tokensLike(pieces[0], share, pause),
    await tokensLike(pieces[1], share, pause),
    await tokensLike(pieces[2], share, pause),
  ];
  return estimatePrompt(estimateFamily(upstreamModel), {
    ...rest,
    textTokens,
    toolTokens,
    callTokens,
    tools: tools.length,
    calls: calls.length,
  });
}

/** Estimates the tokens of the whole text from those of its first `share`. */
async function tokensLike(text = '', share: number, pause: () => Promise<void>): Promise<number> {
  if (text === '') return 0;
  const chars = Math.max(1, Math.floor(text.length * Math.min(1, share)));
  return Math.round((await countTokensGently(text.slice(0, chars), pause)) * (text.length / chars));
}
