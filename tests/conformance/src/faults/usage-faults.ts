import { answerParts, head, SSE_HEADERS, usageOf } from './wire.ts';
import type { Fault } from './fault-scene.ts';
import { COUNTED, CUT_TO_LIMIT, LONG, right, says, WHOLE, withUsage } from './fault-parts.ts';

export const USAGES: readonly Fault[] = [
  {
    name: 'reports negative usage',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: -5 })),
    json: COUNTED,
    stream: COUNTED,
  },
  { name: 'reports no usage', act: withUsage(() => null), json: COUNTED, stream: COUNTED },
  {
    name: 'reports absurd usage',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 1e12 })),
    json: CUT_TO_LIMIT,
    stream: CUT_TO_LIMIT,
  },
  {
    name: 'reports usage in words',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 'five' })),
    json: COUNTED,
    stream: COUNTED,
  },
  {
    name: 'reports fractions',
    act: withUsage((speech) => usageOf(speech, { prompt: 7, output: 4.5 })),
    json: COUNTED,
    stream: COUNTED,
  },
  {
    name: 'repeats its usage',
    act: says((scene) => {
      const { begin, finish, end } = scene.parts;
      return scene.isStream && scene.speech === 'openai'
        ? head('200 OK', SSE_HEADERS) + begin + finish + end.replace(/^(data: .*\n\n)/, '$1$1$1')
        : right({
            ...scene,
            parts: {
              ...scene.parts,
              finish: finish.replace(/(event: message_delta[\s\S]*)$/, '$1$1'),
            },
          });
    }),
    json: WHOLE,
    stream: WHOLE,
  },
  {
    name: 'talks beyond the limit it was given',
    act: says((scene) =>
      right({
        ...scene,
        parts: answerParts(scene.speech, {
          text: LONG,
          usage: usageOf(scene.speech, { prompt: 7, output: 2_000 }),
        }),
      }),
    ),
    json: ['whole', 2_007],
    stream: ['whole', 2_007],
  },
];
