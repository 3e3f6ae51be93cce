import { Refusal, retryHeaders } from '../refusals.ts';

/** Bodies of the largest size a node holds at once. Reading and parsing one takes about three times its bytes. */
const LARGEST_BODIES = 16;
const RETRY_MS = 1_000;

/** Room for large request bodies, shared by all requests of a process: each is kept to its end, and many would take the process down. */
export class BodyRoom {
  readonly #bytesMax: number;
  #bytes = 0;

  constructor(bodyBytesMax: number) {
    this.#bytesMax = LARGEST_BODIES * bodyBytesMax;
  }

  /** One request's share. `take` throws Refusal when the room is full; `leave` gives everything back. */
  enter(): { take: (bytes: number) => void; leave: () => void } {
    let taken = 0;
    return {
      take: (bytes) => {
        if (this.#bytes + bytes > this.#bytesMax) throw full();
        this.#bytes += bytes;
        taken += bytes;
      },
      leave: () => {
        this.#bytes -= taken;
        taken = 0;
      },
    };
  }
}

function full(): Refusal {
  return new Refusal('not_serving', { detail: 'This node holds as many large requests as it can; try again shortly.', headers: { ...retryHeaders(RETRY_MS), connection: 'close' } });
}
