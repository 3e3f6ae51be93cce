import { FAULTS } from './fault-table.ts';
import { startRawUpstream, type RawUpstream } from './raw-upstream.ts';
import { answerParts, type Speech } from './wire.ts';

export const SPEECHES: readonly Speech[] = ['openai', 'anthropic'];

export interface FaultyUpstream extends Pick<RawUpstream, 'close'> {
  /** Returns the base URL at which the fault of this index is met; one without an act is met where no server listens. */
  urlOf: (at: number, speech: Speech) => string;
}

/** Starts one upstream with every fault of the table, each in both protocols. */
export async function startFaultyUpstream(): Promise<FaultyUpstream> {
  const { origin, close } = await startRawUpstream((socket, { path, body }) => {
    const [, at = '', of] = path.split('/');
    const speech = of === 'openai' ? 'openai' : 'anthropic';
    const isStream = /"stream":\s*true/.test(body);
    FAULTS[Number(at)]?.act?.({ socket, speech, isStream, parts: answerParts(speech) });
  });
  const closed = await startRawUpstream(() => undefined);
  await closed.close();
  return {
    urlOf: (at, speech) => `${FAULTS[at]?.act ? origin : closed.origin}/${at}/${speech}/v1`,
    close,
  };
}
