import { isSideReported } from '@tollgate/contracts';
import { InvalidRequest } from '../exchange.ts';
import type { Ask, Exchange, ExchangeRequest } from '../exchange.ts';
import { editPaths } from '../json/edit-paths.ts';
import { list, numberOf, records, text } from '../json/json-guard.ts';
import type { JsonRecord } from '../json/json-guard.ts';
import { applyPatches } from '../json/json-splice.ts';
import { EventStreamReader } from '../stream/event-stream-reader.ts';
import { readChatUsage } from '../answers/openai/chat-usage.ts';
import type { WholeAnswer } from '../answers/provider-answers.ts';
import { readJson } from '../answers/read-json.ts';
import { CompletionsStream } from './completions-stream.ts';
import { echoOf } from './echo.ts';
import { fieldEdits, streamUsageEdits } from './field-edits.ts';
import { withModel } from '../json/with-model.ts';

/** Carries completions to completions, the legacy endpoint: the request's and the answer's own bytes, but for the closed list of docs/translation.md. */
export function completionsExchange(request: ExchangeRequest): Exchange {
  const { ask, idSeed } = request;
  refuseEchoedTokens(ask.body);
  return {
    path: '/completions',
    requestBody: applyPatches(
      ask.raw,
      editPaths(ask.raw, ask.layout, [
        ...fieldEdits(request, 'max_tokens'),
        ...streamUsageEdits(ask),
      ]),
    ),
    requestHeaders: {},
    readJson: (body) =>
      readJson(body, { readWhole: (answer) => wholeCompletion(answer, ask) }, () =>
        withModel(body, ask.model),
      ),
    openStream: (sink) => new EventStreamReader(new CompletionsStream({ ask, idSeed, sink })),
  };
}

/** Refuses a stream that begins with a prompt whose text is not in the request: what of it is generated could not be distinguished. Throws `InvalidRequest`. */
export function refuseEchoedTokens(body: Ask['body']): void {
  if (body['stream'] === true && body['echo'] === true && hasTokens(body))
    throw new InvalidRequest('echo: a stream does not repeat a prompt of tokens; leave one out.', {
      param: 'echo',
      code: 'unsupported_parameter',
    });
}

function hasTokens(body: Ask['body']): boolean {
  return list(body['prompt']).some((item) => typeof item !== 'string');
}

function wholeCompletion(answer: JsonRecord, ask: Ask): WholeAnswer | null {
  if (!Array.isArray(answer['choices'])) return null;
  const usage = readChatUsage(answer['usage'], answer);
  const said = records(answer['choices']).map((choice, position) => {
    const words = text(choice['text']) ?? '';
    const echo = echoOf(ask, numberOf(choice['index'] ?? position));
    return words.startsWith(echo) ? words.slice(echo.length) : words;
  });
  // Tokens that are repeated as text cannot be distinguished from what was generated: then the report alone counts.
  const isEchoed = ask.body['echo'] === true && hasTokens(ask.body);
  return {
    usage,
    outputText: isEchoed && usage && isSideReported(usage, 'output') ? '' : said.join(''),
    calls: 0,
    callArguments: () => 0,
  };
}
