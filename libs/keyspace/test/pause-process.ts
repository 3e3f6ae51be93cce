/** Nothing runs in this process for so long, and nothing is read. */
export function pauseProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** What was sent in this turn of the event loop is on its way to the server. */
export async function written(): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
}
