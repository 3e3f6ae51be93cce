/** Nothing runs in this process for so long, and nothing is read. */
export function pauseProcess(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);
}

/** Resolves when the commands of this turn of the event loop are on their way to the server. */
export async function written(): Promise<void> {
  await new Promise<void>((resolve) => void setImmediate(resolve));
}
