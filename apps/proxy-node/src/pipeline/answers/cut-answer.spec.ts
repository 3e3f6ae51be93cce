import { expect, test } from '@jest/globals';
import { deliveredOf, parseAsk, type Delivered } from '@tollgate/protocols';
import type { Candidate } from '../../snapshot/routing-index.ts';
import { gatewayFailure } from '../../upstream/upstream-failure.ts';
import { NOTHING_COUNTED } from './counted.ts';
import { CutAnswer, type Way } from './cut-answer.ts';

const ASK = parseAsk(
  'chat',
  Buffer.from(
    JSON.stringify({ model: 'm', stream: true, messages: [{ role: 'user', content: 'hi' }] }),
  ),
);
const CANDIDATE = {
  route: { upstream_model: 'real' },
  upstream: { protocol: 'openai' },
} as Candidate;

/** Asks for the end of an answer; returns how often tokens were taken, how often the meter was readied, and if there is a request. */
async function asking(
  content: string,
  { way, outputLimit = 500, left = true }: { way: Way; outputLimit?: number; left?: boolean },
): Promise<{ taken: number; readied: number; isAsked: boolean }> {
  let taken = 0;
  let readied = 0;
  const delivered = deliveredOf(ASK) as Delivered;
  const chunk = { id: 'c', choices: [{ index: 0, delta: { content } }] };
  delivered.keep(Buffer.from(`data: ${JSON.stringify(chunk)}\n\n`));
  const cut = new CutAnswer(gatewayFailure('server', 'broken').error, {
    delivered,
    counted: NOTHING_COUNTED,
    isRefused: false,
    resume: () => void (readied += 1),
    end: () => {
      throw new Error('nothing is given up');
    },
  });
  const takes = (): boolean => {
    taken += 1;
    return left;
  };
  const asked = { candidate: CANDIDATE, mayPrefill: true, rid: 'rid', way, outputLimit, takes };
  return { isAsked: (await cut.askOf(ASK, asked)) !== null, taken, readied };
}

const LONG = 'a word, '.repeat(3_000);

test.each<[string, string, Parameters<typeof asking>[1]]>([
  ['too long to be repeated', LONG, { way: 'again' }],
  ['longer than the limit', 'one two three four', { way: 'again', outputLimit: 2 }],
  ['without an anchor', 'a', { way: 'rest' }],
])('an answer that is %s takes no tokens of the hour', async (_why, text, of) => {
  expect(await asking(text, of)).toEqual({ isAsked: false, taken: 0, readied: 0 });
});

test.each<Way>(['again', 'rest'])('a request for the end (%s) takes them once', async (way) => {
  const text = 'Once upon a time there was a gate';
  expect(await asking(text, { way })).toEqual({ isAsked: true, taken: 1, readied: 1 });
  const usedUp = { isAsked: false, taken: 1, readied: 0 };
  expect(await asking(text, { way, left: false })).toEqual(usedUp);
});
