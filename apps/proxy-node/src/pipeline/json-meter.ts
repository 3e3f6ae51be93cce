import type { StreamSink } from '@tollgate/protocols';
import { monotonicMs } from '../monotonic-ms.ts';
import { gatewayFailure, UpstreamFailure } from '../upstream/upstream-failure.ts';
import type { AnswerMeter, MeterContext, Metered } from './answer-meter.ts';
import type { Answer, Flight } from './forward.ts';

/** A whole JSON answer: read to its end, judged, then sent. Its hold covers its full bound, so there is nothing to count before. */
export class JsonMeter implements AnswerMeter {
  readonly #context: MeterContext;
  #flight: Flight | null = null;
  #isAnswered = false;
  #rejectBody: ((failure: UpstreamFailure) => void) | null = null;

  constructor(context: MeterContext) {
    this.#context = context;
    // Before the upstream answered, leaving costs nothing. Afterwards the answer is read all the same: it is there, and it brings the exact usage.
    context.reply.onGone(() => this.#isAnswered || this.#flight?.abort('the client left'));
  }

  begin(): StreamSink {
    return { output: () => undefined };
  }

  watch(flight: Flight): void {
    this.#flight = flight;
    if (this.#context.reply.isGone) flight.abort('the client left');
  }

  async read(answer: Answer): Promise<Metered> {
    this.#isAnswered = true;
    const { reply, createTally, receivedMonotonicMs } = this.#context;
    const firstTokenMs = monotonicMs() - receivedMonotonicMs;
    const reading = answer.exchange.readJson(await this.#body(answer));
    if (reading.kind === 'error') {
      const failure = new UpstreamFailure(reading.error, { evidence: 'stated' });
      answer.close(failure);
      throw failure;
    }
    answer.close(null);
    const tally = createTally();
    tally.output(reading.outputText);
    const counted = await tally.atEnd({ usage: reading.usage, isFinal: true });
    const outcome = reply.isGone ? 'client_closed' : 'completed';
    return {
      outcome,
      counted,
      firstTokenMs,
      status: reply.isGone ? reply.status : 200,
      sendEnd: () => reply.send(200, reading.body),
    };
  }

  fail(): void {
    this.#context.reply.cut();
  }

  cut(): void {
    this.#flight?.abort('the node stops');
    // An aborted call says nothing more to whoever reads its body.
    this.#rejectBody?.(gatewayFailure('overloaded', 'The node stops.', { evidence: 'given_up' }));
  }

  close(): void {
    this.#flight = null;
  }

  #body(answer: Answer): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      this.#rejectBody = (failure) => {
        answer.close(failure);
        reject(failure);
      };
      const chunks: Buffer[] = [];
      answer.call.consume({
        data: (chunk) => void chunks.push(chunk),
        end: () => resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)),
        failed: this.#rejectBody,
      });
    });
  }
}
